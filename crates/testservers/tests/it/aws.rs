//! The client of AWS, against a server of ours.

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use icefield_testservers::{S3Options, S3Server};

/// Starts a server with the usual options.
pub(crate) fn server() -> S3Server {
    S3Server::start(S3Options::default())
}

/// Returns the configuration of a client that tries each request once.
pub(crate) fn config(endpoint: &str) -> Builder {
    let http = aws_smithy_http_client::Builder::new().build_http();
    aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http)
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "testtest", None, None, "test"))
        .force_path_style(true)
        .timeout_config(TimeoutConfig::disabled())
        .retry_config(RetryConfig::disabled())
}

/// Returns a client that tries each request once.
pub(crate) fn client(server: &S3Server) -> Client {
    Client::from_conf(config(&server.endpoint()).build())
}

/// Writes an object with no condition and returns its tag.
pub(crate) async fn put(client: &Client, key: &str, bytes: &str) -> String {
    let body = bytes.to_owned().into_bytes().into();
    let put = client.put_object().bucket("bucket").key(key).body(body);
    let put = put.send().await.expect("an unconditional put works");
    put.e_tag().expect("a put returns a tag").to_owned()
}

/// Reads an object as text.
pub(crate) async fn get(client: &Client, key: &str) -> String {
    let got = client.get_object().bucket("bucket").key(key).send().await;
    let body = got.expect("the object is there").body.collect().await;
    let bytes = body.expect("the body is whole").into_bytes();
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

/// Returns status and code of a refusal.
pub(crate) fn refused<T: std::fmt::Debug, E: ProvideErrorMetadata>(
    result: Result<T, SdkError<E>>,
) -> (u16, String) {
    let error = result.expect_err("it is refused");
    let status = error.raw_response().map(|raw| raw.status().as_u16());
    let code = error.code().unwrap_or_default().to_owned();
    (status.unwrap_or_default(), code)
}

/// Shortens the comparison with [`refused`].
pub(crate) fn with(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

//! The clients of Google, against a server of ours.

use std::sync::Once;

use google_cloud_auth::credentials::anonymous;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_storage::client::{Storage, StorageControl};
use google_cloud_storage::model::Object;
use google_cloud_storage::read_resume_policy::NeverResume;
use icefield_testservers::{GcsOptions, GcsServer};

/// The bucket as these clients name it.
pub(crate) const BUCKET: &str = "projects/_/buckets/bucket";

/// Starts a server with the usual options.
pub(crate) fn server() -> GcsServer {
    GcsServer::start(GcsOptions::default())
}

fn install_tls() {
    static ONCE: Once = Once::new();
    // Even over plain HTTP the client wants to know which provider would do the encryption.
    ONCE.call_once(|| {
        let provider = rustls::crypto::ring::default_provider();
        let _already = provider.install_default();
    });
}

/// Returns a client for bytes that tries each request once.
pub(crate) async fn storage(server: &GcsServer) -> Storage {
    storage_at(&server.endpoint()).await
}

/// Like [`storage`], of another endpoint.
pub(crate) async fn storage_at(endpoint: &str) -> Storage {
    install_tls();
    let client = Storage::builder()
        .with_endpoint(endpoint)
        .with_credentials(anonymous::Builder::new().build())
        .with_retry_policy(NeverRetry)
        .with_read_resume_policy(NeverResume)
        .build()
        .await;
    client.expect("a client can be built")
}

/// Returns a client for all else that tries each request once.
pub(crate) async fn control(server: &GcsServer) -> StorageControl {
    control_at(&server.endpoint()).await
}

/// Like [`control`], of another endpoint.
pub(crate) async fn control_at(endpoint: &str) -> StorageControl {
    install_tls();
    let client = StorageControl::builder()
        .with_endpoint(endpoint)
        .with_credentials(anonymous::Builder::new().build())
        .with_retry_policy(NeverRetry)
        .build()
        .await;
    client.expect("a client can be built")
}

/// Writes an object with no condition.
pub(crate) async fn put(client: &Storage, key: &str, text: &str) -> Object {
    let put = client.write_object(BUCKET, key, text.to_owned());
    let put = put.send_buffered().await;
    put.expect("an unconditional write works")
}

/// Reads an object as text.
pub(crate) async fn get(client: &Storage, key: &str) -> String {
    let read = client.read_object(BUCKET, key).send().await;
    let mut read = read.expect("the object is there");
    let mut bytes = Vec::new();
    while let Some(piece) = read.next().await {
        bytes.extend_from_slice(&piece.expect("the body is whole"));
    }
    String::from_utf8(bytes).expect("it is text")
}

/// Returns the HTTP status of a refusal.
pub(crate) fn refused<T: std::fmt::Debug>(result: google_cloud_storage::Result<T>) -> u16 {
    let error = result.expect_err("it is refused");
    error.http_status_code().unwrap_or_default()
}

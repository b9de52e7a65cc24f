//! Stores behind a network: put and get through each backend, beside the bare client doing the same.
//!
//! The servers run in this process, on the loopback interface; both sides pay for them alike. They are asked in turns,
//! so that what else the machine does hits both.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::config::{BehaviorVersion, Credentials as AwsCredentials, Region};
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use criterion::Criterion;
use futures::StreamExt;
use google_cloud_auth::credentials::anonymous;
use icefield_benches::{Mode, Spread, elapsed, fact, fact_beside, medians, noise, run, runtime};
use icefield_storage::remote::RemoteSettings;
use icefield_storage::{Bytes, GetOptions, Key, PutMode, PutOptions, PutOutcome, Storage};
use icefield_storage_gcs::GcsBuilder;
use icefield_storage_object_store::HttpBuilder;
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::{FileServer, GcsOptions, GcsServer, S3Options, S3Server};
use object_store::ObjectStoreExt;
use tokio::runtime::Runtime;

/// Sizes of objects with their names, and how many rounds are measured.
const SIZES: [(&str, usize, usize); 3] = [
    ("4 KiB", 4 << 10, 2001),
    ("1 MiB", 1 << 20, 301),
    ("64 MiB", 64 << 20, 21),
];

/// A client as its makers hand it out.
#[async_trait]
trait Bare: Send + Sync {
    async fn put(&self, name: &str, bytes: Bytes);
    async fn get(&self, name: &str) -> Bytes;
}

struct BareS3 {
    client: aws_sdk_s3::Client,
    bucket: String,
}

#[async_trait]
impl Bare for BareS3 {
    async fn put(&self, name: &str, bytes: Bytes) {
        if bytes.len() as u64 >= RemoteSettings::default().multipart_threshold {
            return self.put_in_parts(name, bytes).await;
        }
        let put = self.client.put_object().bucket(&self.bucket).key(name);
        put.body(bytes.into()).send().await.expect("written");
    }

    async fn get(&self, name: &str) -> Bytes {
        let get = self.client.get_object().bucket(&self.bucket).key(name);
        let body = get.send().await.expect("there").body;
        body.collect().await.expect("read").into_bytes()
    }
}

impl BareS3 {
    /// As ours does: so many bytes to a part, so many parts at a time.
    async fn put_in_parts(&self, name: &str, bytes: Bytes) {
        let settings = RemoteSettings::default();
        let begin = self.client.create_multipart_upload();
        let begun = begin.bucket(&self.bucket).key(name).send().await;
        let begun = begun.expect("begun");
        let upload = begun.upload_id().expect("an upload has an id");
        let starts = (0..bytes.len()).step_by(settings.part_bytes as usize);
        let sent = starts.zip(1..).map(|(start, number)| {
            let end = (start + settings.part_bytes as usize).min(bytes.len());
            let part = self.client.upload_part().bucket(&self.bucket).key(name);
            let part = part.upload_id(upload).part_number(number);
            let part = part.body(bytes.slice(start..end).into());
            async move {
                let sent = part.send().await.expect("written");
                let done = CompletedPart::builder().part_number(number);
                done.set_e_tag(sent.e_tag).build()
            }
        });
        let sent = futures::stream::iter(sent).buffered(settings.parts_in_flight);
        let parts = CompletedMultipartUpload::builder().set_parts(Some(sent.collect().await));
        let complete = self.client.complete_multipart_upload();
        let complete = complete.bucket(&self.bucket).key(name).upload_id(upload);
        let complete = complete.multipart_upload(parts.build());
        complete.send().await.expect("written");
    }
}

struct BareGcs {
    client: google_cloud_storage::client::Storage,
    bucket: String,
}

#[async_trait]
impl Bare for BareGcs {
    async fn put(&self, name: &str, bytes: Bytes) {
        // As ours does: what is large in two requests, not in many that wait for each other.
        let large = bytes.len() >= 16 << 20;
        let write = self.client.write_object(&self.bucket, name, bytes);
        let written = match large {
            true => write.send_unbuffered().await,
            false => write.send_buffered().await,
        };
        written.expect("written");
    }

    async fn get(&self, name: &str) -> Bytes {
        let read = self.client.read_object(&self.bucket, name).send().await;
        let mut read = read.expect("there");
        let mut all = Vec::new();
        while let Some(part) = read.next().await {
            all.extend_from_slice(&part.expect("read"));
        }
        all.into()
    }
}

struct BareHttp(object_store::http::HttpStore);

#[async_trait]
impl Bare for BareHttp {
    async fn put(&self, _: &str, _: Bytes) {
        unreachable!("a web server is only read");
    }

    async fn get(&self, name: &str) -> Bytes {
        let found = self.0.get(&name.into()).await.expect("there");
        found.bytes().await.expect("read")
    }
}

fn key(name: &str) -> Key {
    Key::parse(name).expect("a key")
}

async fn put(storage: &dyn Storage, name: &str, bytes: Bytes) {
    let options = PutOptions::mode(PutMode::Overwrite);
    let outcome = storage.put(&key(name), bytes.into(), options).await;
    let outcome = outcome.expect("the server is there");
    assert!(matches!(outcome, PutOutcome::Written(_)), "{outcome:?}");
}

async fn get(storage: &dyn Storage, name: &str) -> Bytes {
    let object = storage.get(&key(name), GetOptions::default()).await;
    object.expect("there").bytes().await.expect("read")
}

/// Compares a backend with its client, and prints what its calls cost beside that of the client.
fn compare(
    runtime: &Runtime,
    mode: Mode,
    name: &str,
    (ours, bare): (&dyn Storage, &dyn Bare),
    writes: bool,
) {
    for (size_name, size, rounds) in SIZES {
        let rounds = mode.pick(rounds, 1);
        let bytes = noise(1, mode.pick(size, size.min(1 << 20)));
        if writes {
            let times = medians(
                rounds,
                [
                    &mut || elapsed(|| runtime.block_on(put(ours, size_name, bytes.clone()))),
                    &mut || elapsed(|| runtime.block_on(bare.put(size_name, bytes.clone()))),
                ],
            );
            tell(mode, &format!("{name} put of {size_name}"), times, size);
        }
        assert_eq!(runtime.block_on(get(ours, size_name)), bytes);
        assert_eq!(runtime.block_on(bare.get(size_name)), bytes);
        let times = medians(
            rounds,
            [
                &mut || elapsed(|| runtime.block_on(get(ours, size_name))),
                &mut || elapsed(|| runtime.block_on(bare.get(size_name))),
            ],
        );
        tell(mode, &format!("{name} get of {size_name}"), times, size);
    }
}

fn tell(mode: Mode, subject: &str, [ours, bare]: [Spread; 2], size: usize) {
    if mode == Mode::Test {
        return;
    }
    let target = match size {
        0..=4096 => "; target 50 µs more",
        _ => "; target 1.05",
    };
    fact_beside(subject, ("ours", ours), ("bare client", bare), target);
    if size <= 4096 {
        let more = |a: Duration, b: Duration| a.as_secs_f64() * 1e6 - b.as_secs_f64() * 1e6;
        let (median, best) = (more(ours.median, bare.median), more(ours.best, bare.best));
        fact(
            subject,
            format_args!("{median:.0} µs more than the bare client (best {best:.0})"),
        );
    }
}

fn s3(_: &mut Criterion, mode: Mode) {
    let (runtime, server) = (runtime(), S3Server::start(S3Options::default()));
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(server.endpoint())
        .region(Region::new("us-east-1"))
        .force_path_style(true)
        .credentials_provider(AwsCredentials::new(
            server.access_key(),
            server.secret_key(),
            None,
            None,
            "bench",
        ))
        .build();
    let bare = BareS3 {
        client: aws_sdk_s3::Client::from_conf(config),
        bucket: server.bucket().to_owned(),
    };
    let ours = S3Builder::new(server.bucket())
        .endpoint(server.endpoint())
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        .settings(RemoteSettings::default().trusting_conditions())
        .open()
        .expect("sound");
    compare(&runtime, mode, "S3", (&ours, &bare), true);
}

fn gcs(_: &mut Criterion, mode: Mode) {
    let (runtime, server) = (runtime(), GcsServer::start(GcsOptions::default()));
    let (ours, bare) = runtime.block_on(async {
        let client = google_cloud_storage::client::Storage::builder()
            .with_endpoint(server.endpoint())
            .with_credentials(anonymous::Builder::new().build());
        let bare = BareGcs {
            client: client.build().await.expect("sound"),
            bucket: server.bucket_resource(),
        };
        let ours = GcsBuilder::new(server.bucket())
            .endpoint(server.endpoint())
            .settings(RemoteSettings::default().trusting_conditions());
        (ours.open().await.expect("sound"), bare)
    });
    compare(&runtime, mode, "GCS", (&ours, &bare), true);
}

fn http(_: &mut Criterion, mode: Mode) {
    let (runtime, server) = (runtime(), FileServer::in_memory());
    for (name, size, _) in SIZES {
        let size = mode.pick(size, size.min(1 << 20));
        server.put(&name.replace(' ', "%20"), noise(1, size));
        server.put(name, noise(1, size));
    }
    let ours = HttpBuilder::new(server.endpoint());
    let parts = ours.clone().open().expect("sound");
    // The parts of a large object take turns on the two cores of client and server here: this shows what they cost.
    let settings = RemoteSettings::default().with_parallel_reads(0);
    let whole = ours.settings(settings).open().expect("sound");
    let plain = object_store::ClientOptions::new().with_allow_http(true);
    let bare = object_store::http::HttpBuilder::new()
        .with_url(server.endpoint())
        .with_client_options(plain);
    let bare = BareHttp(bare.build().expect("sound"));
    compare(&runtime, mode, "HTTP", (&parts, &bare), false);
    compare(
        &runtime,
        mode,
        "HTTP, in one request",
        (&whole, &bare),
        false,
    );
}

fn main() {
    // The bare clients want to be told; ours choose by themselves.
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
    run(&[s3, gcs, http]);
}

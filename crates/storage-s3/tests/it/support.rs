//! Helpers that these tests share.

use std::time::Duration;

use icefield_storage::remote::{RemoteSettings, RemoteStorage, RetrySettings};
use icefield_storage::{
    Bytes, Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, Version,
};
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::{S3Options, S3Server};

/// Attempts of one call in these tests.
pub(crate) const ATTEMPTS: u32 = 4;

pub(crate) fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

pub(crate) fn server() -> S3Server {
    S3Server::start(S3Options::default())
}

/// Impatient: pauses of a millisecond at most.
pub(crate) fn settings() -> RemoteSettings {
    let millisecond = Duration::from_millis(1);
    let retry = RetrySettings::default()
        .with_attempts(ATTEMPTS)
        .with_pauses(millisecond, millisecond)
        .with_rate(100_000, 100_000);
    RemoteSettings::default()
        .with_retry(retry)
        .with_multipart(6 << 20, 5 << 20)
        .trusting_conditions()
}

pub(crate) fn builder(server: &S3Server) -> S3Builder {
    at(server, server.endpoint())
}

/// As [`builder`], through another endpoint.
pub(crate) fn at(server: &S3Server, endpoint: String) -> S3Builder {
    S3Builder::new(server.bucket())
        .endpoint(endpoint)
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        .settings(settings())
}

pub(crate) fn open(server: &S3Server) -> RemoteStorage {
    builder(server).open().expect("the settings are sound")
}

pub(crate) async fn put(
    storage: &RemoteStorage,
    at: &str,
    bytes: impl Into<Bytes>,
    mode: PutMode,
) -> Result<PutOutcome, StorageError> {
    let bytes: Bytes = bytes.into();
    storage
        .put(&key(at), bytes.into(), PutOptions::mode(mode))
        .await
}

#[track_caller]
pub(crate) fn written(outcome: Result<PutOutcome, StorageError>) -> Version {
    match outcome {
        Ok(PutOutcome::Written(written)) => written.version,
        other => panic!("the write must be done, is {other:?}"),
    }
}

//! Helpers that these tests share.

use std::time::Duration;

use icefield_storage::remote::{RemoteSettings, RemoteStorage, RetrySettings};
use icefield_storage::{
    Bytes, Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, Version,
};
use icefield_storage_gcs::GcsBuilder;
use icefield_testservers::{Fault, GcsOptions, GcsServer, LoggedRequest, Rule, Verb, eventually};

/// Attempts of one call in these tests.
pub(crate) const ATTEMPTS: u32 = 4;

pub(crate) fn key(text: &str) -> Key {
    Key::parse(text).expect("a valid key")
}

pub(crate) fn server() -> GcsServer {
    GcsServer::start(GcsOptions::default())
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
        .trusting_conditions()
}

pub(crate) fn builder(server: &GcsServer) -> GcsBuilder {
    at(server, server.endpoint())
}

/// As [`builder`], through another endpoint.
pub(crate) fn at(server: &GcsServer, endpoint: String) -> GcsBuilder {
    GcsBuilder::new(server.bucket())
        .endpoint(endpoint)
        .settings(settings())
}

pub(crate) async fn open(server: &GcsServer) -> RemoteStorage {
    opened(builder(server)).await
}

pub(crate) async fn opened(builder: GcsBuilder) -> RemoteStorage {
    builder.open().await.expect("the settings are sound")
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

/// Breaks the next request of a verb.
pub(crate) fn next(server: &GcsServer, verb: Verb, fault: Fault) {
    server.switches().inject(Rule::new(fault).on(verb).times(1));
}

/// Returns the requests of a verb so far.
pub(crate) fn asked(server: &GcsServer, verb: Verb) -> Vec<LoggedRequest> {
    let requests = server.requests().into_iter();
    requests.filter(|request| request.verb == verb).collect()
}

/// Waits until every request that has arrived is dealt with, those of clients that went away among them.
pub(crate) async fn settled(server: &GcsServer) {
    let answered = || server.requests().iter().all(|it| it.status.is_some());
    eventually("every request has its answer", answered).await;
}

//! The facade on buckets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, mpsc};

use futures::StreamExt;
use icefield::storage::{Key, ListOptions, Prefix, PutMode, PutOutcome, StorageExt};
use icefield::{
    BranchName, ByteRange, CommitOutcome, ConnectS3, EditOutcome, Location, NodePath, Repository,
    RepositoryConfig, Schemes, VirtualAccess, WriteMode,
};
use icefield_storage_s3::Credentials;
use icefield_testservers::{S3Options, S3Server};

#[test]
fn synchronous_callers_reach_a_bucket() {
    let server = S3Server::start(S3Options::default());
    let key = Credentials::new(server.access_key(), server.secret_key());
    let connect = ConnectS3::with_credentials(key);
    let schemes = Schemes::none().with("s3", Arc::new(connect));
    let (bucket, endpoint) = (server.bucket(), server.endpoint());
    let location = Location::parse(&format!("s3://{bucket}/sea?endpoint={endpoint}")).unwrap();
    let (sender, receiver) = mpsc::channel();
    icefield::runtime().unwrap().spawn(async move {
        let storage = schemes.storage(&location).await.unwrap();
        let created = Repository::create(storage).await;
        sender.send(created.map(|_| ())).unwrap();
    });
    receiver.recv().unwrap().unwrap();
}

/// Text for another process, a log or a bug report has no key in it.
#[tokio::test]
async fn g104_neither_forks_nor_debug_output_carry_secrets() {
    let server = S3Server::start(S3Options::default());
    let secret = server.secret_key().to_owned();
    let key = Credentials::new(server.access_key(), server.secret_key());
    let connect = ConnectS3::with_credentials(key);
    let schemes = Schemes::none().with("s3", Arc::new(connect));
    let (bucket, endpoint) = (server.bucket(), server.endpoint());
    let location = Location::parse(&format!("s3://{bucket}/sea?endpoint={endpoint}")).unwrap();
    let storage = schemes.storage(&location).await.unwrap();
    let access = VirtualAccess::none()
        .grant_storage("s3://other/files", Arc::clone(&storage))
        .unwrap();
    let builder = Repository::builder(storage).virtual_access(access);
    let repository = builder.create().await.unwrap();
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let fork = session.fork().unwrap();
    let bytes = fork.to_bytes().await.unwrap();
    // Behind eight bytes that say what it is, and the version.
    let plain = zstd::decode_all(&bytes[9..]).unwrap();
    assert!(!plain.is_empty());
    let leaks = |text: &[u8]| text.windows(secret.len()).any(|it| it == secret.as_bytes());
    assert!(leaks(format!("x{secret}y").as_bytes()));
    assert!(!leaks(&plain) && !leaks(&bytes));
    for shown in [
        format!("{repository:?}"),
        format!("{session:?}"),
        format!("{fork:#?}"),
        format!("{schemes:?}"),
    ] {
        assert!(!leaks(shown.as_bytes()), "{shown}");
    }
}

/// Conditions of S3 compare a digest of the bytes.
#[tokio::test]
async fn a_late_move_of_a_branch_is_refused_after_the_branch_was_moved_away_and_back() {
    let server = S3Server::start(S3Options::default());
    let key = Credentials::new(server.access_key(), server.secret_key());
    let connect = ConnectS3::with_credentials(key);
    let schemes = Schemes::none().with("s3", Arc::new(connect));
    let (bucket, endpoint) = (server.bucket(), server.endpoint());
    let location = Location::parse(&format!("s3://{bucket}/sea?endpoint={endpoint}")).unwrap();
    let storage = schemes.storage(&location).await.unwrap();
    let repository = Repository::create(Arc::clone(&storage)).await.unwrap();
    let main = BranchName::main();
    let commit = async |message: &str| {
        let session = repository.write_session(main.clone()).await.unwrap();
        match session.commit(message).allow_empty().await.unwrap() {
            CommitOutcome::Committed(id) => id,
            other => panic!("{other:?}"),
        }
    };
    let reset = async |target| {
        let outcome = repository.reset_branch(&main, target, None).await.unwrap();
        assert!(matches!(outcome, EditOutcome::Done(_)), "{outcome:?}");
    };
    let (one, other) = (commit("one").await, commit("other").await);
    reset(one).await;
    let at = Key::parse("refs/branch.main/ref.json").unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (bytes, version) = storage.try_read(&at).await.unwrap().unwrap();
        assert!(!seen.contains(&bytes), "{bytes:?} came back");
        seen.push(bytes.clone());
        reset(other).await;
        reset(one).await;
        let late = storage.put(&at, bytes.into(), PutMode::Update(version).into());
        let late = late.await.unwrap();
        assert!(matches!(late, PutOutcome::Refused), "{late:?}");
        let tip = repository.ledger().resolve_branch(&main).await.unwrap();
        assert_eq!(tip.snapshot, one);
    }
    // Later writes work as before the reset.
    commit("two").await;
    let (bytes, _) = storage.try_read(&at).await.unwrap().unwrap();
    assert_eq!(bytes.len(), 35);
}

/// A request to a bucket takes long, however short it is.
#[tokio::test]
async fn small_chunks_share_objects_in_buckets_unless_a_setting_says_otherwise() {
    let server = S3Server::start(S3Options::default());
    let key = Credentials::new(server.access_key(), server.secret_key());
    let connect = ConnectS3::with_credentials(key);
    let schemes = Schemes::none().with("s3", Arc::new(connect));
    let (bucket, endpoint) = (server.bucket(), server.endpoint());
    for (name, threshold, objects) in [("packed", None, 1), ("apart", Some("0"), 20)] {
        let location = format!("s3://{bucket}/{name}?endpoint={endpoint}");
        let location = Location::parse(&location).unwrap();
        let storage = schemes.storage(&location).await.unwrap();
        let config = RepositoryConfig::default();
        let config = match threshold {
            Some(bytes) => config.with_setting("packed_chunk_threshold_bytes", bytes),
            None => Ok(config),
        };
        let builder = Repository::builder(Arc::clone(&storage)).config(config.unwrap());
        let repository = builder.create().await.unwrap();
        let session = repository.write_session(BranchName::main()).await.unwrap();
        let array = NodePath::parse("/a").unwrap();
        let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [20], "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
        let set = session.set_metadata(&array, document.into(), WriteMode::Overwrite);
        set.await.unwrap();
        for index in 0..20 {
            let bytes = vec![index as u8; 1000].into();
            let set = session
                .set_chunk(&array, &[index], bytes, WriteMode::Overwrite)
                .await;
            assert!(set.unwrap());
        }
        let committed = session.commit("chunks").await.unwrap();
        assert!(matches!(committed, CommitOutcome::Committed(_)));
        let options = ListOptions::prefix(Prefix::parse("chunks").unwrap());
        assert_eq!(
            storage.list_objects(options).count().await,
            objects,
            "{name}"
        );
        let session = Repository::open(storage).await.unwrap();
        let session = session.read_session(BranchName::main()).await.unwrap();
        for index in 0..20 {
            let chunk = session.chunk(&array, &[index], ByteRange::All).await;
            assert_eq!(chunk.unwrap().unwrap(), vec![index as u8; 1000]);
        }
    }
}

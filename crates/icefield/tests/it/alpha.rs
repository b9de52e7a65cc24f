//! Repositories of the alpha generation are read and imported wherever they are: every key that they have passes each
//! backend.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt;
use icefield::alpha::{AlphaChunk, AlphaRepository, AlphaVersion, Import};
use icefield::storage::{ListOptions, Prefix, Storage, StorageExt};
use icefield::{ErrorKind, MemoryStorage, NodePath, Repository, RevisionSpec};
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::{S3Options, S3Server};
use serde_json::Value;

const VECTORS: [&str; 4] = [
    "alpha-a",
    "alpha-b",
    "alpha-literal-messagepack",
    "alpha-literal-json",
];

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/vectors")
        .join(name)
}

/// All files below a folder, by their paths from there.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), std::fs::read(&path).unwrap());
        }
    }
    found
}

async fn load(name: &str, storage: &dyn Storage) -> Value {
    for (key, bytes) in files(&vector(name).join("repo")) {
        let key = icefield::storage::Key::parse(&key).unwrap();
        drop(
            storage
                .put(&key, bytes.into(), Default::default())
                .await
                .unwrap(),
        );
    }
    let expected = std::fs::read(vector(name).join("expected.json")).unwrap();
    serde_json::from_slice(&expected).unwrap()
}

/// Reads all that the refs of a vector lead to, and imports it.
async fn is_read_and_imported(name: &str, from: Arc<dyn Storage>, to: Arc<dyn Storage>) {
    let expected = load(name, &*from).await;
    let before: Vec<_> = from
        .list(ListOptions::default())
        .try_collect()
        .await
        .unwrap();
    for start in ["main", "dev", "v1"] {
        let repository = AlphaRepository::open(Arc::clone(&from)).await.unwrap();
        let spec = RevisionSpec::parse(start).unwrap();
        let snapshot = spec.resolve_alpha(&repository).await.unwrap();
        let told = &expected["snapshots"][snapshot.id.to_string()];
        assert_eq!(told["message"], snapshot.message, "{name}, {start}");
        let version = AlphaVersion::new(repository, snapshot);
        for node in version.snapshot().nodes() {
            let told = told["nodes"][node.path.as_str()]["chunks"]
                .as_object()
                .unwrap();
            if node.array.is_none() {
                assert!(told.is_empty());
                continue;
            }
            for chunk in version.chunks(&node.path).await.unwrap() {
                let index: Vec<String> = chunk.index.iter().map(ToString::to_string).collect();
                let key = [vec!["c".to_owned()], index].concat().join("/");
                let told = &told[&key];
                let read = version.chunk(&node.path, &chunk.index).await.unwrap();
                let (length, sum) = match read.unwrap() {
                    AlphaChunk::Bytes(bytes) => (bytes.len() as u64, Some(sha256(&bytes))),
                    AlphaChunk::Virtual { length, .. } => (length, None),
                };
                assert_eq!(told["length"], length, "{name}, {}, {key}", node.path);
                assert_eq!(
                    told["sha256"].as_str(),
                    sum.as_deref(),
                    "{name}, {}, {key}",
                    node.path
                );
            }
        }
    }
    let source = AlphaRepository::open(Arc::clone(&from)).await.unwrap();
    let (repository, report) = Import::new(source)
        .run(Repository::builder(to))
        .await
        .unwrap();
    assert_eq!(report.branches, 2, "{name}");
    let session = RevisionSpec::parse("tag:v1").unwrap();
    let id = session.resolve(&repository).await.unwrap();
    let session = repository.read_session(id).await.unwrap();
    assert!(!session.nodes(&NodePath::root()).unwrap().is_empty());
    let after: Vec<_> = from
        .list(ListOptions::default())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(before.len(), after.len(), "{name}: the source is as it was");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn in_memory() {
    for name in VECTORS {
        let (from, to) = (MemoryStorage::new(), MemoryStorage::new());
        is_read_and_imported(name, Arc::new(from), Arc::new(to)).await;
    }
}

#[tokio::test]
async fn on_s3() {
    for name in VECTORS {
        let server = S3Server::start(S3Options::default());
        let open = |prefix: &str| {
            let keys = Credentials::new(server.access_key(), server.secret_key());
            let builder = S3Builder::new(server.bucket()).endpoint(server.endpoint());
            Arc::new(
                builder
                    .prefix(Prefix::parse(prefix).unwrap())
                    .credentials(keys)
                    .open()
                    .unwrap(),
            )
        };
        is_read_and_imported(name, open("old"), open("new")).await;
    }
}

#[tokio::test]
async fn what_is_wrong_has_its_kind() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let kind = |error| icefield::Error::from(error).kind();
    let nothing = AlphaRepository::open(Arc::clone(&storage))
        .await
        .unwrap_err();
    assert_eq!(kind(nothing), ErrorKind::NotFound);
    load("alpha-b", &*storage).await;
    let repository = AlphaRepository::open(Arc::clone(&storage)).await.unwrap();
    let resolve = async |text: &str| {
        let spec = RevisionSpec::parse(text).unwrap();
        spec.resolve_alpha(&repository)
            .await
            .map(|it| it.id.to_string())
    };
    for text in [
        "nosuch",
        "branch:v1",
        "tag:main",
        "main~3",
        "main@2001-01-01T00:00:00Z",
        "000G40R40M30E209185GR38E1W",
        "snapshot:1CECHNKREP0F1RSTCMT0",
    ] {
        assert_eq!(
            resolve(text).await.unwrap_err().kind(),
            ErrorKind::NotFound,
            "{text}"
        );
    }
    assert_eq!(
        resolve("main~2").await.unwrap(),
        "0BM70M427GC37188AEZ7P8FVMR"
    );
    let tip = icefield::storage::Key::parse("s/YZB8QF212DQV4X0A54CA2RMMZ0.msgpack").unwrap();
    let whole = storage.try_read(&tip).await.unwrap();
    assert!(whole.is_some());
    drop(
        storage
            .put(&tip, vec![0x97].into(), Default::default())
            .await
            .unwrap(),
    );
    assert_eq!(
        resolve("main").await.unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    // As of every source of an import, that is no damage of the repository that is made.
    let to = Repository::builder(Arc::new(MemoryStorage::new()));
    let source = AlphaRepository::open(Arc::clone(&storage)).await.unwrap();
    let failed = Import::new(source).run(to).await.unwrap_err();
    assert_eq!(icefield::Error::from(failed).kind(), ErrorKind::Invalid);
}

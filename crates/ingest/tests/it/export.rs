//! Exporting: whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{After, Tree, array, exported, files, group, path, repository, run};
use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::{BranchName, Interrupt, NodePath, Session, WriteMode};
use icefield_ingest::nczarr::ReadOptions;
use icefield_ingest::{
    ArchiveFile, ArchiveSource, Destination, Dialect, Export, ExportError, ExportNode, Import,
    Limits, Progress, Spelling, StorageTree, TreeKey, TreePrefix, ZarrV3, ZipLayout, read_zip,
};
use icefield_storage::wrap::LatencyStorage;
use icefield_storage::{Key, Payload, Prefix, PutMode, Storage, StorageExt};
use icefield_storage_memory::MemoryStorage;
use serde_json::json;

async fn session() -> Session {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})))
        .json("x/zarr.json", &array(&[2], &[1], &["t"]))
        .file("x/c/0", [1])
        .file("x/c/1", vec![2; 1000]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    repository.write_session(BranchName::main()).await.unwrap()
}

#[tokio::test]
async fn a_new_or_an_empty_directory_is_filled() {
    let (session, place) = (session().await, Tree::new());
    let new = place.path().join("new");
    let report = Export::new(session.clone()).run(&new).await.unwrap();
    assert_eq!(
        (report.groups, report.arrays, report.chunks, report.bytes),
        (1, 1, 2, 1001)
    );
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    Export::new(session).run(&empty).await.unwrap();
    assert_eq!(files(&new), files(&empty));
    assert_eq!(files(&new).len(), 4);
}

async fn objects_below(storage: &Arc<dyn Storage>, prefix: &Prefix) -> u64 {
    storage.list_all(prefix).await.unwrap().len() as u64
}

#[tokio::test]
async fn interrupted_anywhere_nothing_that_looks_whole_is_left_and_a_second_export_is_whole() {
    let session = session().await;
    let whole = Tree::new();
    let export = Export::new(session.clone());
    let report = export.run(whole.path().join("new")).await.unwrap();
    // Writes are under way when the interrupt is raised.
    let storage = LatencyStorage::new(Arc::new(MemoryStorage::new()), Duration::from_millis(1));
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let (mut interrupted, mut left) = (0, 0);
    for calls in 0.. {
        let place = Tree::new();
        let prefix = Prefix::parse(&format!("at{calls}")).unwrap();
        let destinations = [
            Destination::Directory(place.path().join("new")),
            Destination::Zip {
                path: place.path().join("new.zip"),
                layout: ZipLayout::Flat,
            },
            Destination::Tree(StorageTree::new(Arc::clone(&storage), prefix.clone())),
        ];
        let mut raised = false;
        for destination in &destinations {
            let interrupt = Interrupt::new();
            let export = Export::new(session.clone()).interruptible(&interrupt);
            let export = export.progress(After::calls(calls, &interrupt));
            let ended = export.run_to(destination).await;
            raised |= interrupt.is_raised();
            match ended {
                Ok(done) => {
                    assert_eq!(done, report, "{calls}");
                    continue;
                }
                Err(ExportError::Partly {
                    source, written, ..
                }) => {
                    left += 1;
                    assert_eq!(objects_below(&storage, &prefix).await, written, "{calls}");
                    assert!(matches!(*source, ExportError::Interrupted(_)), "{source:?}");
                }
                Err(ExportError::Interrupted(_)) => {
                    assert_eq!(objects_below(&storage, &prefix).await, 0, "{calls}");
                }
                Err(error) => panic!("{calls}: {error:?}"),
            }
            interrupted += 1;
            if let Destination::Tree(_) = destination {
                continue;
            }
            assert_eq!(files(place.path()).len(), 0, "{calls}");
            let again = Export::new(session.clone()).run_to(destination).await;
            assert_eq!(again.unwrap(), report, "{calls}");
            fs::remove_dir_all(place.path()).unwrap();
            fs::create_dir(place.path()).unwrap();
        }
        if !raised {
            break;
        }
    }
    assert!(interrupted > 5 && left > 0, "{interrupted}, {left}");
}

#[tokio::test]
async fn nothing_that_is_there_is_touched() {
    let (session, place) = (session().await, Tree::new());
    place.file("full/x", "mine").file("file", "mine");
    for taken in ["full", "file"] {
        let error = Export::new(session.clone())
            .run(place.path().join(taken))
            .await
            .unwrap_err();
        assert!(
            matches!(error, ExportError::AlreadyExists { .. }),
            "{error}"
        );
    }
    let nowhere = place.path().join("no/such/place");
    let error = Export::new(session).run(nowhere).await.unwrap_err();
    assert!(matches!(error, ExportError::NoParent { .. }), "{error}");
    assert_eq!(files(place.path()).len(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn an_empty_directory_stays_the_one_it_is() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let (session, place) = (session().await, Tree::new());
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o710)).unwrap();
    let identity = || {
        let metadata = fs::metadata(&empty).unwrap();
        (metadata.ino(), metadata.mode())
    };
    let before = identity();
    // Also by another name.
    let link = place.path().join("link");
    symlink(&empty, &link).unwrap();
    Export::new(session).run(&link).await.unwrap();
    assert_eq!(identity(), before);
    assert_eq!(files(&empty).len(), 4);
    assert_eq!(
        fs::read_dir(&empty).unwrap().count(),
        2,
        "only zarr.json and x"
    );
}

#[tokio::test]
async fn an_export_into_an_empty_directory_that_fails_leaves_it_empty() {
    let (session, place) = (session().await, Tree::new());
    session
        .set_metadata(
            &path("/deep/zarr.json"),
            group(json!({})).to_string().into(),
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
    Export::new(session).run(place.path()).await.unwrap_err();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_name_may_be_as_long_as_names_can_be() {
    let (session, place) = (session().await, Tree::new());
    let new = place.path().join("n".repeat(255));
    Export::new(session).run(&new).await.unwrap();
    assert_eq!(files(&new).len(), 4);
}

#[tokio::test]
async fn the_repository_itself_is_no_destination() {
    let (session, place) = (session().await, Tree::new());
    let repository = place.path().join("r");
    fs::create_dir_all(repository.join("refs/empty")).unwrap();
    for inside in ["r/refs/x", "r/x", "r/refs/empty", "r/refs/../new"] {
        let error = Export::new(session.clone())
            .outside(&repository)
            .run(place.path().join(inside))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, ExportError::InsideRepository { repository: it, .. } if *it == repository),
            "{inside}: {error}"
        );
    }
    assert!(files(place.path()).is_empty());
    // A name that only begins with the same letters is another place.
    for beside in ["r2", "new"] {
        Export::new(session.clone())
            .outside(&repository)
            .run(place.path().join(beside))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn consolidated_metadata_stays_behind() {
    let session = session().await;
    let document = br#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"metadata": {"gone": {}}}, "attributes": {"a": 1.0}}"#;
    session
        .set_metadata(&path("/g"), document[..].into(), WriteMode::Overwrite)
        .await
        .unwrap();
    let place = Tree::new();
    Export::new(session).run(place.path()).await.unwrap();
    assert_eq!(
        files(place.path())["g/zarr.json"],
        br#"{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1.0}}"#
    );
}

#[tokio::test]
async fn progress_of_an_export_adds_up() {
    let tree = Tree::new();
    tree.json("x/zarr.json", &array(&[3], &[1], &["t"]))
        .file("x/c/0", [1])
        .file("x/c/2", [2]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let (events, place) = (Arc::new(Events::default()), Tree::new());
    Export::new(session)
        .progress(Arc::<Events>::clone(&events))
        .run(place.path())
        .await
        .unwrap();
    let mut found = std::mem::take(&mut *events.0.lock().unwrap());
    assert_eq!(found[0], "expected 3");
    assert_eq!(found.last().map(String::as_str), Some("finishing"));
    found.sort();
    assert_eq!(
        found,
        [
            "absent 1",
            "array /x",
            "chunk 1",
            "chunk 1",
            "expected 3",
            "finishing"
        ]
    );
}

#[tokio::test]
async fn an_export_that_fails_leaves_nothing_behind() {
    let (session, place) = (session().await, Tree::new());
    // A node with the name of the document cannot stand in a directory.
    session
        .set_metadata(
            &path("/deep/zarr.json"),
            group(json!({})).to_string().into(),
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
    let error = Export::new(session)
        .run(place.path().join("new"))
        .await
        .unwrap_err();
    assert!(matches!(error, ExportError::NodeName { .. }), "{error}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_empty_repository_has_nothing_to_export() {
    let session = repository()
        .await
        .read_session(BranchName::main())
        .await
        .unwrap();
    let place = Tree::new();
    let error = Export::new(session)
        .run(place.path().join("new"))
        .await
        .unwrap_err();
    assert!(matches!(error, ExportError::Empty), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_directory_gets_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let (session, place) = (session().await, Tree::new());
    let (new, plain) = (place.path().join("new"), place.path().join("plain"));
    Export::new(session).run(&new).await.unwrap();
    fs::create_dir(&plain).unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&new), mode(&plain));
}

#[derive(Default)]
struct Events(Mutex<Vec<String>>);

impl Events {
    fn note(&self, event: String) {
        self.0.lock().unwrap().push(event);
    }
}

impl Progress for Events {
    fn expected(&self, chunks: u64) {
        self.note(format!("expected {chunks}"));
    }

    fn array(&self, path: &NodePath) {
        self.note(format!("array {path}"));
    }

    fn chunk(&self, bytes: u64) {
        self.note(format!("chunk {bytes}"));
    }

    fn absent(&self, chunks: u64) {
        self.note(format!("absent {chunks}"));
    }

    fn finishing(&self) {
        self.note("finishing".to_owned());
    }
}

#[tokio::test]
async fn progress_is_told() {
    let tree = Tree::new();
    tree.json("x/zarr.json", &array(&[3], &[1], &["t"]))
        .file("x/c/0", [1])
        .file("x/c/2", [2]);
    let events = Arc::new(Events::default());
    let repository = repository().await;
    run(
        tree.import().progress(Arc::<Events>::clone(&events)),
        &repository,
    )
    .await;
    let mut found = std::mem::take(&mut *events.0.lock().unwrap());
    assert_eq!(found[0], "expected 3");
    assert_eq!(found.last().map(String::as_str), Some("finishing"));
    found.sort();
    assert_eq!(
        found,
        [
            "absent 1",
            "array /x",
            "chunk 1",
            "chunk 1",
            "expected 3",
            "finishing"
        ]
    );
}

async fn session_of(steps: u64, chunk: usize) -> Session {
    let tree = Tree::new();
    tree.json("x/zarr.json", &array(&[steps], &[1], &["t"]));
    for step in 0..steps {
        tree.file(&format!("x/c/{step}"), vec![step as u8; chunk]);
    }
    let repository = repository().await;
    run(tree.import(), &repository).await;
    repository.read_session(BranchName::main()).await.unwrap()
}

/// Imports a zip file into a new repository, and returns the files of an export of that.
async fn imported(zip: &Path, located: bool) -> BTreeMap<String, Vec<u8>> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let key = Key::parse("x.zip").unwrap();
    let payload = Payload::from(fs::read(zip).unwrap());
    let _ = storage
        .put(&key, payload, PutMode::Create.into())
        .await
        .unwrap();
    let file = ArchiveFile::open(storage, &key, "s3://b/x.zip")
        .await
        .unwrap();
    let archive = read_zip(file, located, ReadOptions::default())
        .await
        .unwrap();
    let repository = repository().await;
    let source = ArchiveSource::new("x.zip", archive);
    run(Import::new(Arc::new(source)), &repository).await;
    exported(&repository).await
}

fn zip(path: &Path, layout: ZipLayout) -> Destination {
    Destination::Zip {
        path: path.to_owned(),
        layout,
    }
}

#[tokio::test]
async fn a_zip_file_holds_what_a_directory_does() {
    let (session, place) = (session().await, Tree::new());
    let directory = place.path().join("d");
    let report = Export::new(session.clone()).run(&directory).await.unwrap();
    let top = ZipLayout::TopFolder(TreePrefix::parse("top/").unwrap());
    for layout in [ZipLayout::Flat, top] {
        let path = place.path().join("x.zip");
        let written = Export::new(session.clone())
            .run_to(&zip(&path, layout))
            .await
            .unwrap();
        assert_eq!(written, report);
        for located in [false, true] {
            let again = imported(&path, located).await;
            // Documents are written anew by an import of archives.
            let chunks = |files: BTreeMap<String, Vec<u8>>| {
                let chunks = files.into_iter().filter(|(key, _)| !key.ends_with(".json"));
                chunks.collect::<Vec<_>>()
            };
            assert_eq!(chunks(again), chunks(files(&directory)));
        }
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test]
async fn a_zip_file_is_there_whole_or_not_at_all() {
    let (session, place) = (session().await, Tree::new());
    place.file("file", "mine");
    fs::create_dir(place.path().join("empty")).unwrap();
    for taken in ["file", "empty"] {
        let error = Export::new(session.clone())
            .run_to(&zip(&place.path().join(taken), ZipLayout::Flat))
            .await
            .unwrap_err();
        assert!(
            matches!(error, ExportError::AlreadyExists { .. }),
            "{error}"
        );
    }
    let nowhere = zip(&place.path().join("no/such/x.zip"), ZipLayout::Flat);
    let error = Export::new(session.clone())
        .run_to(&nowhere)
        .await
        .unwrap_err();
    assert!(matches!(error, ExportError::NoParent { .. }), "{error}");
    let inside = zip(&place.path().join("empty/x.zip"), ZipLayout::Flat);
    let export = Export::new(session.clone()).outside(place.path().join("empty"));
    let error = export.run_to(&inside).await.unwrap_err();
    assert!(
        matches!(error, ExportError::InsideRepository { .. }),
        "{error}"
    );
    let export = Export::new(session).dialect(Arc::new(Watched::failing(1)));
    export.run_to(&inside).await.unwrap_err();
    assert_eq!(files(place.path()).len(), 1);
    assert_eq!(fs::read_dir(place.path().join("empty")).unwrap().count(), 0);
}

#[tokio::test]
async fn an_export_to_a_zip_file_holds_few_bytes_however_many_there_are() {
    const CHUNK: usize = 64 << 10;
    let (session, place) = (session_of(200, CHUNK).await, Tree::new());
    let watched = Watched::default();
    let path = place.path().join("x.zip");
    let limits = Limits::default().with_bytes(1 << 20);
    let report = Export::new(session)
        .limits(limits)
        .dialect(Arc::new(watched.clone()))
        .run_to(&zip(&path, ZipLayout::Flat))
        .await
        .unwrap();
    assert_eq!((report.chunks, report.bytes), (200, (200 * CHUNK) as u64));
    let most = watched.most.load(Ordering::SeqCst);
    assert!((CHUNK..=512 << 10).contains(&most), "{most} bytes at once");
    assert_eq!(watched.now.load(Ordering::SeqCst), 0);
    assert!(fs::metadata(path).unwrap().len() > 200 * CHUNK as u64);
}

#[tokio::test]
async fn a_bucket_gets_the_document_of_the_root_last() {
    let storage = Arc::new(MemoryStorage::new());
    let tree = || {
        StorageTree::new(
            Arc::clone(&storage) as _,
            Prefix::parse("some/place").unwrap(),
        )
    };
    let keys = async || {
        use icefield_zarr_fs::ReadTree;
        let entries: Vec<_> = tree().list(&TreePrefix::all()).try_collect().await.unwrap();
        let keys = entries.into_iter().map(|entry| entry.key.to_string());
        keys.collect::<Vec<_>>()
    };
    let session = session().await;
    let destination = Destination::Tree(tree());

    let failing = Export::new(session.clone()).dialect(Arc::new(Watched::failing(2)));
    let failing = failing.limits(Limits::default().with_chunks(1));
    let error = failing.run_to(&destination).await.unwrap_err();
    assert!(
        matches!(error, ExportError::Partly { written: 1, .. }),
        "{error}"
    );
    assert_eq!(keys().await, ["x/c/0"]);
    let export = Export::new(session);
    let error = export.run_to(&destination).await.unwrap_err();
    assert!(
        matches!(&error, ExportError::NotEmpty { key, .. } if key == "x/c/0"),
        "{error}"
    );
    let key = Key::parse("some/place/x/c/0").unwrap();
    use icefield_storage::{Deletion, StorageExt};
    let _ = storage.delete_one(Deletion::from(key)).await.unwrap();
    let report = export.run_to(&destination).await.unwrap();
    assert_eq!((report.groups, report.chunks), (1, 2));
    assert_eq!(keys().await, ["x/c/0", "x/c/1", "x/zarr.json", "zarr.json"]);
}

/// Zarr v3 that counts the bytes which it has handed out and callers have not dropped, and may fail at a chunk.
#[derive(Clone, Debug, Default)]
struct Watched {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    chunks: Arc<AtomicUsize>,
    fails_at: usize,
}

impl Watched {
    fn failing(at: usize) -> Self {
        Self {
            fails_at: at,
            ..Self::default()
        }
    }
}

impl Dialect for Watched {
    fn spell(&self, nodes: Arc<[ExportNode]>) -> Result<Arc<dyn Spelling>, ExportError> {
        ZarrV3.spell(nodes)?;
        Ok(Arc::new(self.clone()))
    }
}

impl Spelling for Watched {
    fn documents(&self, node: &ExportNode) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        ZarrV3.documents(node)
    }

    fn recoding(&self, _: &ExportNode) -> Option<u64> {
        Some(0)
    }

    fn chunks(
        &self,
        node: &ExportNode,
        index: &[u32],
        bytes: Bytes,
    ) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        if self.chunks.fetch_add(1, Ordering::SeqCst) + 1 == self.fails_at {
            return Err(ExportError::Unsupported {
                path: node.path.clone(),
                format: "a test",
                reason: "it was asked to fail".to_owned(),
            });
        }
        let now = self.now.fetch_add(bytes.len(), Ordering::SeqCst) + bytes.len();
        self.most.fetch_max(now, Ordering::SeqCst);
        let held = Bytes::from_owner(Held {
            bytes,
            now: Arc::clone(&self.now),
        });
        ZarrV3.chunks(node, index, held)
    }
}

/// Bytes that say when they are dropped.
struct Held {
    bytes: Bytes,
    now: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.now.fetch_sub(self.bytes.len(), Ordering::SeqCst);
    }
}

/// A shard may lack an inner chunk, which reads as the fill value. Format 2 has no shards, and xarray takes its fill value
/// for what is missing.
#[cfg(feature = "codecs")]
#[tokio::test]
async fn an_inner_chunk_that_a_shard_lacks_is_one_of_fill_values_in_format_2() {
    let codec = |name: &str| json!({"name": name, "configuration": {"endian": "little"}});
    let mut document = array(&[4], &[4], &["t"]);
    document["fill_value"] = json!(7);
    document["data_type"] = json!("int16");
    document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2], "codecs": [codec("bytes")], "index_codecs": [codec("bytes")],
    }}]);
    let index = [0, 4, u64::MAX, u64::MAX].map(u64::to_le_bytes).concat();
    let tree = Tree::new();
    tree.json("x/zarr.json", &document)
        .file("x/c/0", [&[1, 0, 2, 0][..], &index].concat());
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let place = Tree::new();
    let place = place.path().join("out");
    Export::new(session)
        .dialect(Arc::new(icefield_ingest::ZarrV2))
        .run(&place)
        .await
        .unwrap();
    let found = files(&place);
    let written: serde_json::Value = serde_json::from_slice(&found["x/.zarray"]).unwrap();
    assert_eq!(written["fill_value"], json!(null));
    assert_eq!(
        (&found["x/0"][..], &found["x/1"][..]),
        (&[1, 0, 2, 0][..], &[7, 0, 7, 0][..])
    );
}

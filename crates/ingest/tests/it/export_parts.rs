//! Exports in parts: what is there at the end is what one process writes, byte for byte.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use icefield_core::{BranchName, Session};
use icefield_ingest::{
    BegunExport, Destination, Dialect, Export, ExportError, NcZarr, StorageTree, ZarrV2, ZarrV3,
    ZipLayout,
};
use icefield_storage::{Clock, Prefix, Storage, StorageExt, SystemClock};
use icefield_storage_memory::MemoryStorage;
use serde_json::json;

use crate::common::{Tree, array, files, group, repository, run};

/// Two arrays, one of texts, of which some chunks were never written, and one without dimensions.
async fn session() -> Session {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({"title": "a test"})))
        .json("g/zarr.json", &group(json!({})))
        .json("g/x/zarr.json", &array(&[7, 5], &[2, 2], &["t", "y"]))
        .json("y/zarr.json", &array(&[5], &[5], &["y"]))
        .file("y/c/0", [0, 1, 2, 3, 4])
        .json("number/zarr.json", &array(&[], &[], &[]))
        .file("number/c", [9]);
    for (t, y) in (0..4).flat_map(|t| (0..3).map(move |y| (t, y))) {
        if (t, y) != (1, 1) {
            tree.file(&format!("g/x/c/{t}/{y}"), [t, y, t + y, 1]);
        }
    }
    let repository = repository().await;
    run(tree.import(), &repository).await;
    repository.write_session(BranchName::main()).await.unwrap()
}

fn dialects() -> [Arc<dyn Dialect>; 3] {
    [Arc::new(ZarrV3), Arc::new(ZarrV2), Arc::new(NcZarr)]
}

fn directory(path: &Path) -> Destination {
    Destination::Directory(path.to_owned())
}

/// Each part twice, the last one first.
async fn write_parts(
    export: &Export,
    begun: &BegunExport,
    destination: &Destination,
    of: u32,
) -> (u64, u64) {
    let (mut chunks, mut bytes) = (0, 0);
    for number in (0..of).rev() {
        let sent = BegunExport::from_bytes(&begun.to_bytes().unwrap()).unwrap();
        let again = export
            .run_part(&sent, destination, (number, of))
            .await
            .unwrap();
        let report = export
            .run_part(&sent, destination, (number, of))
            .await
            .unwrap();
        assert_eq!(report, again);
        assert_eq!((report.groups, report.arrays), (0, 0));
        chunks += report.chunks;
        bytes += report.bytes;
    }
    (chunks, bytes)
}

#[tokio::test]
async fn parts_come_to_what_one_process_writes() {
    let session = session().await;
    for dialect in dialects() {
        let place = Tree::new();
        let export = || Export::new(session.clone()).dialect(Arc::clone(&dialect));
        let whole = place.path().join("whole");
        let expected = export().run(&whole).await.unwrap();
        for of in [1, 2, 5, 40] {
            // A new directory, and one that exists.
            for exists in [false, true] {
                let at = place.path().join(format!("{of}-{exists}"));
                if exists {
                    fs::create_dir(&at).unwrap();
                }
                let destination = directory(&at);
                let begun = export().begin(&destination).await.unwrap();
                let (chunks, bytes) = write_parts(&export(), &begun, &destination, of).await;
                assert_eq!((chunks, bytes), (expected.chunks, expected.bytes), "{of}");
                assert_eq!(at.exists(), exists);
                let report = export().finish(&begun, &destination).await.unwrap();
                assert_eq!(
                    (report.groups, report.arrays),
                    (expected.groups, expected.arrays)
                );
                assert_eq!(files(&at), files(&whole), "{dialect:?} {of} {exists}");
            }
        }
        let names = fs::read_dir(place.path()).unwrap();
        // Nothing is left beside.
        assert_eq!(names.count(), 9);
    }
}

#[tokio::test]
async fn parts_of_a_tree_on_a_backend_end_with_the_document_of_the_root() {
    let session = session().await;
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let tree = |name: &str| {
        let prefix = Prefix::parse(name).unwrap();
        Destination::Tree(StorageTree::new(Arc::clone(&storage), prefix))
    };
    let export = || Export::new(session.clone());
    export().run_to(&tree("whole")).await.unwrap();
    let keys = async |name: &str| {
        let found = storage
            .list_all(&Prefix::parse(name).unwrap())
            .await
            .unwrap();
        let below = found
            .into_iter()
            .map(|entry| (entry.key.to_string().replacen(name, "", 1), entry.size));
        below.collect::<Vec<_>>()
    };
    let begun = export().begin(&tree("parts")).await.unwrap();
    write_parts(&export(), &begun, &tree("parts"), 3).await;
    assert!(
        keys("parts")
            .await
            .iter()
            .all(|(key, _)| !key.ends_with("zarr.json"))
    );
    export().finish(&begun, &tree("parts")).await.unwrap();
    assert_eq!(keys("parts").await, keys("whole").await);
    // One that is given up says what is left; another one does not begin there.
    let begun = export().begin(&tree("given up")).await.unwrap();
    export()
        .run_part(&begun, &tree("given up"), (0, 2))
        .await
        .unwrap();
    let left = export().abandon(begun, &tree("given up")).await.unwrap();
    assert_eq!(left, keys("given up").await.len() as u64);
    assert!(left > 0);
    let error = export().begin(&tree("given up")).await.unwrap_err();
    assert!(matches!(error, ExportError::NotEmpty { .. }), "{error}");
}

#[tokio::test]
async fn what_a_process_that_died_left_half_written_is_removed() {
    let (session, place) = (session().await, Tree::new());
    let export = || Export::new(session.clone());
    let whole = place.path().join("whole");
    export().run(&whole).await.unwrap();
    let at = place.path().join("parts");
    let begun = export().begin(&directory(&at)).await.unwrap();
    write_parts(&export(), &begun, &directory(&at), 2).await;
    let temporary = temporary(place.path());
    fs::write(temporary.join("g/x/c/.icefield-tmp-0123"), [1; 100]).unwrap();
    fs::write(temporary.join(".icefield-tmp-4567"), []).unwrap();
    // The clock of a file server may be ahead of this machine's.
    let ahead = fs::File::create(temporary.join("g/.icefield-tmp-89ab")).unwrap();
    let later = SystemClock.now() + std::time::Duration::from_secs(3600);
    ahead.set_modified(later).unwrap();
    export().finish(&begun, &directory(&at)).await.unwrap();
    assert_eq!(files(&at), files(&whole));
}

#[tokio::test]
async fn a_session_of_another_version_writes_no_part() {
    let (one, other, place) = (session().await, session().await, Tree::new());
    let at = place.path().join("parts");
    let begun = Export::new(one).begin(&directory(&at)).await.unwrap();
    let export = || Export::new(other.clone());
    let part = export().run_part(&begun, &directory(&at), (0, 2)).await;
    let part = part.unwrap_err();
    assert!(matches!(part, ExportError::Begun { .. }), "{part}");
    let end = export().finish(&begun, &directory(&at)).await.unwrap_err();
    assert!(matches!(end, ExportError::Begun { .. }), "{end}");
    assert!(!at.exists());
}

/// The only temporary directory of an export.
fn temporary(place: &Path) -> std::path::PathBuf {
    let names = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found: Vec<_> = names
        .filter(|path| path.extension().is_some_and(|it| it == "partial"))
        .collect();
    let [only] = &found[..] else {
        panic!("{found:?}");
    };
    only.clone()
}

#[tokio::test]
async fn an_export_that_is_given_up_leaves_nothing_and_late_parts_fail() {
    let (session, place) = (session().await, Tree::new());
    let export = || Export::new(session.clone());
    let at = place.path().join("parts");
    let begun = export().begin(&directory(&at)).await.unwrap();
    export()
        .run_part(&begun, &directory(&at), (0, 2))
        .await
        .unwrap();
    export()
        .abandon(begun.clone(), &directory(&at))
        .await
        .unwrap();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    // A part that is done late makes nothing anew.
    export()
        .run_part(&begun, &directory(&at), (1, 2))
        .await
        .unwrap_err();
    export().finish(&begun, &directory(&at)).await.unwrap_err();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    // Nor does the end if something is in the way.
    let begun = export().begin(&directory(&at)).await.unwrap();
    fs::create_dir(&at).unwrap();
    fs::write(at.join("mine"), [1]).unwrap();
    let error = export().finish(&begun, &directory(&at)).await.unwrap_err();
    assert!(
        matches!(error, ExportError::AlreadyExists { .. }),
        "{error}"
    );
    assert_eq!(
        files(place.path()).into_keys().collect::<Vec<_>>(),
        ["parts/mine"]
    );
}

#[tokio::test]
async fn what_cannot_be_begun_is_refused() {
    let (session, place) = (session().await, Tree::new());
    let export = || Export::new(session.clone());
    let zip = Destination::Zip {
        path: place.path().join("a.zip"),
        layout: ZipLayout::Flat,
    };
    let error = export().begin(&zip).await.unwrap_err();
    assert!(matches!(error, ExportError::OnePass { .. }), "{error}");
    let inside = place.path().join("repository");
    fs::create_dir(&inside).unwrap();
    let error = export()
        .outside(&inside)
        .begin(&directory(&inside.join("x")))
        .await;
    assert!(
        matches!(error, Err(ExportError::InsideRepository { .. })),
        "{error:?}"
    );
    // Bytes that say of another directory that it is to be removed.
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    let begun = export()
        .begin(&directory(&place.path().join("new")))
        .await
        .unwrap();
    let sent = String::from_utf8(begun.to_bytes().unwrap().to_vec()).unwrap();
    let temporary = temporary(place.path());
    let sent = sent.replace(temporary.to_str().unwrap(), other.to_str().unwrap());
    let forged = BegunExport::from_bytes(sent.as_bytes()).unwrap();
    let error = export()
        .abandon(forged, &directory(&other))
        .await
        .unwrap_err();
    assert!(matches!(error, ExportError::Begun { .. }), "{error}");
    assert!(other.exists());
    for wrong in [
        &b"{}"[..],
        b"",
        br#"{"version":9,"staged":null,"measured":{}}"#,
    ] {
        let error = BegunExport::from_bytes(wrong).unwrap_err();
        assert!(matches!(error, ExportError::Begun { .. }), "{error}");
    }
}

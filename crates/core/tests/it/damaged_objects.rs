//! Part D of the fault catalogue: objects that are missing, foreign or short.

use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::test_suite::Trial;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BranchName, ByteRange, FetchError, NodePath, RefsError, RepositoryError, Session, SessionError,
    Settings, SnapshotId, TagName,
};
use icefield_format::{DecodeLimits, FormatError, SpecVersion, layout};
use icefield_storage::Storage;
use icefield_storage::wrap::CountingStorage;
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::stores;

use crate::support::{chain, trial};

/// Two commits with chunks of both kinds, a branch at the older one, a tag at the newer one.
async fn repository(trial: &Trial) -> (MemoryStorage, [SnapshotId; 2]) {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let repository = trial.builder(&storage).create().await.expect("created");
    let native = pattern(1, 1000);
    let nodes = [("/a", array(&[4], &[1])), ("/b", array(&[], &[]))];
    let chunks: &[Chunk<'_>] = &[
        ("/a", &[0], b"inline"),
        ("/a", &[2], &native),
        ("/b", &[], &native),
    ];
    let one = commit_edits(&repository, "one", &nodes, chunks).await;
    let two = commit_edits(&repository, "two", &[], &[("/a", &[3], &pattern(2, 1000))]).await;
    done(repository.create_branch("dev", one).await);
    done(repository.create_tag("v1", two).await);
    (memory, [one, two])
}

/// Reads everything there is and returns every error, as a user sees it.
async fn errors(storage: &Arc<dyn Storage>, trial: &Trial, ids: [SnapshotId; 2]) -> Vec<String> {
    let repository = match trial.builder(storage).open().await {
        Ok(repository) => repository,
        Err(error) => return vec![chain(&error)],
    };
    let mut errors = Vec::new();
    let refs = repository.refs().await.expect("refs can be listed");
    for (name, tip) in &refs.branches {
        let Ok(tip) = tip else {
            panic!("{name} {tip:?}")
        };
        if let Err(error) = repository.ancestry(*tip).try_collect::<Vec<_>>().await {
            errors.push(chain(&error));
        }
        read_all(repository.read_session(name.clone()).await, &mut errors).await;
    }
    for (name, target) in &refs.tags {
        assert!(target.is_ok(), "{name} {target:?}");
        read_all(repository.read_session(name.clone()).await, &mut errors).await;
    }
    for id in ids {
        if let Err(error) = repository.transaction_log(id).await {
            errors.push(chain(&error));
        }
    }
    errors.sort_unstable();
    errors.dedup();
    errors
}

/// Reads all chunks that were ever written; not one may be absent.
async fn read_all(session: Result<Session, RepositoryError>, errors: &mut Vec<String>) {
    let session = match session {
        Ok(session) => session,
        Err(error) => return errors.push(chain(&error)),
    };
    let newest = session.branch().is_none_or(BranchName::is_main);
    let expected = [
        ("/a", vec![0]),
        ("/a", vec![2]),
        ("/b", vec![]),
        ("/a", vec![3]),
    ];
    for (at, index) in expected.iter().take(if newest { 4 } else { 3 }) {
        match session.chunk(&path(at), index, ByteRange::All).await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("chunk {index:?} of {at} is missing and was taken for fill value"),
            Err(error) => errors.push(chain(&error)),
        }
    }
    match session.chunks(&NodePath::parse("/a").expect("valid")) {
        Ok(chunks) => {
            if let Err(error) = chunks.try_collect::<Vec<_>>().await {
                errors.push(chain(&error));
            }
        }
        Err(error) => errors.push(chain(&error)),
    }
}

/// An object larger than any file that may be decoded is refused by its size: nothing of it is read.
#[tokio::test]
async fn an_oversized_file_is_refused_and_not_read() {
    let limits = DecodeLimits {
        max_decompressed: 256 << 10,
        ..DecodeLimits::default()
    };
    let most = limits.max_file();
    for spec in [SpecVersion::V1, SpecVersion::V2] {
        let trial = Trial::new("oversized", spec, |_| async { crate::support::memory() });
        let (memory, ids) = repository(&trial).await;
        let keys = stores::keys(&(Arc::new(memory.duplicate()) as Arc<dyn Storage>)).await;
        for folder in ["snapshots/", "manifests/", "transactions/"] {
            let inner: Arc<dyn Storage> = Arc::new(memory.duplicate());
            let last = layout::snapshot_key(ids[1]);
            for key in keys.iter().filter(|it| it.starts_with(folder)) {
                // One snapshot is enough, and the first one may be read to find the repository.
                if folder != "snapshots/" || *key == last {
                    stores::put(&inner, key, vec![0; most as usize + 1]).await;
                }
            }
            let counting = CountingStorage::new(inner);
            let storage: Arc<dyn Storage> = Arc::new(counting.clone());
            let settings = Settings::default().with_decode_limits(limits);
            let builder = trial.builder(&storage).settings(settings);
            let opened = builder.open().await.expect("opened");
            let error = match folder {
                "snapshots/" => chain(&opened.snapshot(ids[1]).await.expect_err("refused")),
                "transactions/" => {
                    let log = opened.transaction_log(ids[1]).await;
                    chain(&log.expect_err("refused"))
                }
                _ => {
                    let session = writer(&opened).await;
                    // A commit carries the refs of the manifest over.
                    write(&session, "/a", &[1], "inline").await;
                    chain(&session.commit("none").await.expect_err("refused"))
                }
            };
            assert!(error.contains(&most.to_string()), "{folder} {error}");
            if folder == "manifests/" {
                let session = read_main(&opened).await;
                let chunk = session.chunk(&path("/a"), &[2], ByteRange::All).await;
                let told = matches!(
                    &chunk,
                    Err(SessionError::Fetch(FetchError::Format(FormatError::TooLarge { limit, .. })))
                        if *limit == most
                );
                assert!(told, "{chunk:?}");
            }
            let read = counting.snapshot().of(folder.trim_end_matches('/'));
            assert!(read.bytes_read < most, "{folder} {read:?}");
        }
    }
}

#[tokio::test]
async fn d54_each_missing_object_is_named() {
    let trial = trial("d54");
    let (memory, ids) = repository(&trial).await;
    let whole: Arc<dyn Storage> = Arc::new(memory.duplicate());
    assert_eq!(errors(&whole, &trial, ids).await, [""; 0]);
    let keys = stores::keys(&whole).await;
    assert!(keys.len() > 12, "{keys:?}");
    for key in keys {
        let storage: Arc<dyn Storage> = Arc::new(memory.duplicate());
        stores::delete(&storage, &key).await;
        let errors = errors(&storage, &trial, ids).await;
        let (folder, id) = key.rsplit_once('/').expect("all have a folder");
        if key == "refs/branch.main/ref.json" {
            assert!(
                errors.len() == 1 && errors[0].contains("no repository"),
                "{errors:?}"
            );
            continue;
        }
        if folder.starts_with("refs") {
            // A ref that was deleted behind our back is simply not there.
            assert!(errors.is_empty(), "{key}: {errors:?}");
            continue;
        }
        assert!(!errors.is_empty(), "no read notices that {key} is missing");
        for error in &errors {
            assert!(error.contains(&key) && error.contains(id), "{key}: {error}");
            let word = match folder {
                "snapshots" => "snapshot",
                "manifests" => "manifest",
                "transactions" => "transaction log",
                _ => "the bytes of chunk [",
            };
            assert!(
                error.starts_with(word) && error.contains("missing"),
                "{key}: {error}"
            );
        }
        if folder == "chunks" {
            assert!(
                errors
                    .iter()
                    .all(|it| it.contains(" of /a ") || it.contains(" of /b "))
            );
        }
    }
}

#[tokio::test]
async fn d54_a_missing_chunk_is_named_with_array_and_coordinates() {
    let trial = trial("d54");
    let (memory, _) = repository(&trial).await;
    let storage: Arc<dyn Storage> = Arc::new(memory);
    for key in stores::keys_below(&storage, "chunks/").await {
        stores::delete(&storage, &key).await;
    }
    let session = read_main(&trial.open(&storage).await).await;
    for (at, index) in [("/a", vec![2]), ("/a", vec![3]), ("/b", vec![])] {
        for range in [ByteRange::All, ByteRange::Suffix { length: 1 }] {
            is!(
                session.chunk(&path(at), &index, range).await,
                Err(SessionError::ChunkMissing { path, index: found, key })
                    if path.as_str() == at && *found == index[..]
                        && key.as_str().starts_with("chunks/"),
            );
        }
        is!(session.chunk_location(&path(at), &index).await, Ok(Some(_)));
    }
    holds(&session, "/a", &[0], Some(b"inline")).await;
}

#[tokio::test]
async fn d54_a_commit_on_top_of_a_missing_manifest_is_refused() {
    let trial = trial("d54");
    let (memory, [_, two]) = repository(&trial).await;
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let repository = trial.open(&storage).await;
    let snapshot = repository.snapshot(two).await.expect("readable");
    let record = snapshot.node(&path("/a")).expect("it is there");
    let manifest = record.array().expect("an array").manifests().next();
    let id = manifest.expect("it has one").id();
    stores::delete(&storage, &format!("manifests/{id}")).await;
    let session = writer(&trial.open(&storage).await).await;
    write(&session, "/a", &[1], "x").await;
    is!(
        session.commit("three").await,
        Err(icefield_core::CommitError::Session(SessionError::Fetch(
            FetchError::Missing { what: "manifest", id: found, .. }
        ))) if found == id.to_string(),
    );
    assert_eq!(tip(&repository, "main").await, two);
    // Other arrays can still be written.
    is!(session.discard_changes(), Ok(()));
    write(&session, "/b", &[], "x").await;
    commit(&session, "three").await;
}

#[tokio::test]
async fn d53_an_object_under_another_ones_name_is_refused() {
    let trial = trial("d53");
    let (memory, [one, two]) = repository(&trial).await;
    for (folder, word) in [
        ("snapshots", "snapshot"),
        ("transactions", "transaction log"),
    ] {
        let storage: Arc<dyn Storage> = Arc::new(memory.duplicate());
        let other = stores::read(&storage, &format!("{folder}/{one}")).await;
        stores::put(&storage, &format!("{folder}/{two}"), other).await;
        let errors = errors(&storage, &trial, [one, two]).await;
        let expected = format!("{word} {two} states to be {word} {one}");
        assert!(
            !errors.is_empty() && errors.iter().all(|it| *it == expected),
            "{errors:?}"
        );
    }
}

#[tokio::test]
async fn d60_a_ref_to_a_missing_or_foreign_snapshot_leaves_the_others_usable() {
    let trial = trial("d60");
    let (memory, [_, two]) = repository(&trial).await;
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let (none, foreign) = (
        SnapshotId::from_bytes([7; 12]),
        SnapshotId::from_bytes([8; 12]),
    );
    let log = stores::read(&storage, &format!("transactions/{two}")).await;
    stores::put(&storage, &format!("snapshots/{foreign}"), log).await;
    for (name, id) in [("none", none), ("foreign", foreign)] {
        let file = format!("{{\"snapshot\":\"{id}\"}}");
        stores::put(
            &storage,
            &format!("refs/branch.{name}/ref.json"),
            file.clone(),
        )
        .await;
        stores::put(&storage, &format!("refs/tag.{name}/ref.json"), file).await;
    }
    let repository = trial.open(&storage).await;
    let refs = repository.refs().await.expect("refs can be listed");
    assert_eq!((refs.branches.len(), refs.tags.len()), (4, 3));
    for name in ["none", "foreign"] {
        let tag: TagName = name.parse().expect("valid");
        let errors = [
            repository.read_session(branch(name)).await.err(),
            repository.write_session(branch(name)).await.err(),
            repository.read_session(tag).await.err(),
        ];
        for error in errors {
            let error = chain(&error.expect("it cannot be read"));
            let id = if name == "none" { none } else { foreign };
            assert!(error.contains(&id.to_string()), "{error}");
        }
    }
    is!(
        repository.create_branch("more", none).await,
        Err(RepositoryError::Refs(RefsError::SnapshotNotFound(id))) if id == none,
    );
    for name in ["none", "foreign"] {
        let reset = repository.reset_branch(&branch(name), two, None).await;
        done(reset);
        done(repository.delete_branch(&branch(name)).await);
    }
    commit_edits(&repository, "three", &[], &[("/a", &[1], b"x")]).await;
}

#[tokio::test]
async fn d44_d45_empty_and_truncated_objects_are_named() {
    let trial = trial("d44");
    let (memory, ids) = repository(&trial).await;
    let storage: Arc<dyn Storage> = Arc::new(memory.duplicate());
    for key in stores::keys(&storage).await {
        if key.starts_with("chunks/") || key.starts_with("refs/") {
            continue;
        }
        let (_, id) = key.rsplit_once('/').expect("all have a folder");
        let bytes = stores::read(&storage, &key).await;
        for length in [0, 1, 38, 39, bytes.len() / 2, bytes.len() - 1] {
            let storage: Arc<dyn Storage> = Arc::new(memory.duplicate());
            stores::put(&storage, &key, bytes.slice(..length)).await;
            let errors = errors(&storage, &trial, ids).await;
            assert!(!errors.is_empty(), "{key} of {length} bytes is accepted");
            for error in errors {
                assert!(error.contains(id), "{key} of {length} bytes: {error}");
            }
        }
    }
}

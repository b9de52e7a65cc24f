//! Each object of each vector cut short, replaced, and removed: the import says which, and leaves nothing behind.

use std::sync::Arc;

use icefield_alpha::{AlphaError, AlphaRepository, ImportError, Rule};
use icefield_core::{Repository, RepositoryError, SnapshotId};
use icefield_storage::Storage;
use icefield_testkit::stores;

use crate::world::{VECTORS, import, load, memory, object};

/// Imports into a new place. A failure names the object, and the place shows nothing of it.
async fn fails(storage: &Arc<dyn Storage>, what: &str) -> AlphaError {
    let new = memory();
    let error = match import(storage, &new).await {
        Err(ImportError::Source(error)) => error,
        other => panic!("{what}: {other:?}"),
    };
    match Repository::open(Arc::clone(&new)).await {
        Err(RepositoryError::NotFound { .. }) => {}
        Ok(repository) => {
            let refs = repository.refs().await.unwrap();
            assert_eq!(refs.branches.len(), 1, "{what}");
            assert!(matches!(
                refs.branches.values().next(),
                Some(Ok(SnapshotId::INITIAL))
            ));
            assert!(refs.tags.is_empty(), "{what}");
        }
        Err(error) => panic!("{what}: {error:?}"),
    }
    error
}

/// The id in a key, without a suffix.
fn id_of(key: &str) -> &str {
    let name = key.rsplit('/').next().unwrap();
    name.split('.').next().unwrap()
}

#[tokio::test]
async fn every_object_that_is_cut_short_is_named() {
    for name in VECTORS {
        let (storage, _) = load(name).await;
        for key in stores::keys(&storage).await {
            if key.ends_with("README") {
                continue;
            }
            let whole = stores::read(&storage, &key).await;
            for keep in [0, 1, whole.len() / 2, whole.len() - 1] {
                let what = format!("{name}: {keep} bytes of {key}");
                stores::put(&storage, &key, whole.slice(..keep)).await;
                let error = fails(&storage, &what).await;
                // That the file of the initial snapshot is not readable shows only to those that look for its id.
                let text = error.to_string();
                let initial = text.contains("the initial snapshot") || key.contains("J02JZC4");
                assert!(text.contains(&key) || initial, "{what}: {text}");
            }
            stores::put(&storage, &key, whole).await;
        }
    }
}

#[tokio::test]
async fn every_object_that_is_missing_is_named_with_what_needs_it() {
    for name in VECTORS {
        let (storage, expected) = load(name).await;
        for key in stores::keys(&storage).await {
            // A ref that is gone is a ref that was never made, but for the files of a branch before others.
            let newest = |it: &serde_json::Value| it["file"] == key.as_str();
            let tip = object(&expected["branches"]).values().any(newest);
            if tip
                || key.ends_with("README")
                || key.starts_with("r/tag:")
                || key.matches('/').count() == 1 && key.starts_with("r/")
            {
                continue;
            }
            let whole = stores::read(&storage, &key).await;
            stores::delete(&storage, &key).await;
            let what = format!("{name} without {key}");
            let error = fails(&storage, &what).await;
            let text = error.to_string();
            match &error {
                AlphaError::Missing {
                    key: missing,
                    needed_by,
                } => {
                    let initial = missing.contains("the initial snapshot");
                    assert!(missing.contains(id_of(&key)) || initial, "{what}: {text}");
                    assert!(!needed_by.is_empty());
                }
                AlphaError::Damaged { rule, .. } if matches!(**rule, Rule::BranchGap { .. }) => {
                    assert!(key.starts_with("r/"), "{what}: {text}");
                }
                other => panic!("{what}: {other:?}"),
            }
            stores::put(&storage, &key, whole).await;
        }
    }
}

#[tokio::test]
async fn a_snapshot_under_the_name_of_another_is_found() {
    for name in VECTORS {
        let (storage, _) = load(name).await;
        let keys = stores::keys_below(&storage, "s/").await;
        for key in &keys {
            let whole = stores::read(&storage, key).await;
            for other in keys.iter().filter(|other| *other != key) {
                let bytes = stores::read(&storage, other).await;
                stores::put(&storage, key, bytes).await;
                fails(&storage, &format!("{name}: {other} as {key}")).await;
            }
            stores::put(&storage, key, whole).await;
        }
    }
}

#[tokio::test]
async fn other_kinds_of_objects_in_the_place_of_one_are_named() {
    for name in VECTORS {
        let (storage, _) = load(name).await;
        for key in stores::keys(&storage).await {
            if key.starts_with("c/") || key.ends_with("README") {
                continue;
            }
            let whole = stores::read(&storage, &key).await;
            for other in ["r", "s", "m", "c"]
                .into_iter()
                .filter(|it| !key.starts_with(it))
            {
                let from = stores::keys_below(&storage, &format!("{other}/")).await;
                let from = from.iter().rfind(|it| !it.ends_with("README")).unwrap();
                let bytes = stores::read(&storage, from).await;
                stores::put(&storage, &key, bytes).await;
                let what = format!("{name}: {from} as {key}");
                let text = fails(&storage, &what).await.to_string();
                assert!(
                    text.contains(&key) || text.contains("the initial snapshot"),
                    "{what}: {text}"
                );
            }
            stores::put(&storage, &key, whole).await;
        }
    }
}

#[tokio::test]
async fn the_files_of_a_branch_must_be_a_chain() {
    let (storage, _) = load("alpha-literal-messagepack").await;
    // The tip of main points to that of dev, whose parent is older.
    let dev = stores::read(&storage, "r/dev/ZZZZZZZY.json").await;
    stores::put(&storage, "r/main/ZZZZZZZW.json", dev).await;
    let error = fails(&storage, "a chain").await;
    let AlphaError::Damaged { key, rule } = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(**rule, Rule::BranchChain { .. }), "{error:?}");
    assert_eq!(key, "r/main/ZZZZZZZW.json");
}

#[tokio::test]
async fn without_main_there_is_no_repository() {
    let (storage, _) = load("alpha-b").await;
    for key in stores::keys_below(&storage, "r/branch:main/").await {
        stores::delete(&storage, &key).await;
    }
    let opened = AlphaRepository::open(storage).await;
    assert!(matches!(opened, Err(AlphaError::NotFound { .. })));
}

#[tokio::test]
async fn what_today_has_no_place_for_is_named_before_anything_is_written() {
    let (storage, _) = load("alpha-literal-json").await;
    for (folder, from, to, said) in [
        (
            "m/",
            "s3://bucket/dir/file.nc",
            "ftp://bucket/dir/file.nc",
            "no place of a virtual chunk",
        ),
        (
            "m/",
            "s3://bucket/dir/file.nc",
            "s3://bucket/file.nc?v=1",
            "no place of a virtual chunk",
        ),
        (
            "m/",
            "s3://bucket/dir/file.nc",
            "file:///file.nc",
            "lies in no folder",
        ),
        (
            "m/",
            "[3, [300, 0]]",
            "[3, [300]]",
            "chunk [300] of /wide has 1 coordinates, not 2",
        ),
        ("s/", "\"Slash\"", "\"Dot\"", "the chunk key encoding of"),
        (
            "s/",
            "\"shape\"",
            "\"later\": 1, \"shape\"",
            "unknown field `later`",
        ),
        (
            "m/",
            "\"offset\"",
            "\"later\": 1, \"offset\"",
            "unknown field `later`",
        ),
        (
            "r/",
            "\"snapshot\"",
            "\"later\": 1, \"snapshot\"",
            "unknown field `later`",
        ),
    ] {
        let before = stores::dump(&storage).await;
        for key in stores::keys_below(&storage, folder).await {
            let bytes = stores::read(&storage, &key).await;
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            stores::put(&storage, &key, text.replace(from, to)).await;
        }
        assert_ne!(stores::dump(&storage).await, before, "{from}");
        let new = memory();
        let error = import(&storage, &new).await.unwrap_err().to_string();
        assert!(error.starts_with(folder) && error.contains(said), "{error}");
        assert!(stores::keys(&new).await.is_empty());
        for (key, bytes) in before {
            stores::put(&storage, &key, bytes).await;
        }
    }
    stores::put(
        &storage,
        "r/-x.json",
        stores::read(&storage, "r/v1.json").await,
    )
    .await;
    let name = import(&storage, &memory()).await;
    // Whatever today's rules say of that name, it is one or the other.
    if let Err(error) = name {
        assert!(
            error
                .to_string()
                .starts_with("r/-x.json cannot be taken over"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn what_lies_among_the_refs_and_is_none_is_named() {
    for (vector, strays) in [
        (
            "alpha-literal-json",
            ["r/a/b/ZZZZZZZZ.json", "r/wip#1/ref.json", "r/x"],
        ),
        (
            "alpha-a",
            [
                "r/branch:a/b/ZZZZZZZZZZZZT.json",
                "r/branch:wip/ref.json",
                "r/v1.json",
            ],
        ),
    ] {
        let (storage, _) = load(vector).await;
        let (_, before) = import(&storage, &memory()).await.unwrap();
        for stray in strays {
            stores::put(&storage, stray, "{}").await;
        }
        stores::put(&storage, "r/.DS_Store", "x").await;
        let (_, report) = import(&storage, &memory()).await.unwrap();
        let mut expected: Vec<&str> = before.strays.iter().map(String::as_str).collect();
        expected.extend(strays);
        expected.sort_unstable();
        assert_eq!(report.strays, expected, "{vector}");
    }
}

#[tokio::test]
async fn chunks_outside_the_grid_are_left_out_and_counted() {
    let (storage, _) = load("alpha-literal-json").await;
    for key in stores::keys_below(&storage, "m/").await {
        let bytes = stores::read(&storage, &key).await;
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        stores::put(
            &storage,
            &key,
            text.replace("[3, [300, 0]]", "[3, [400, 0]]"),
        )
        .await;
    }
    let (_, report) = import(&storage, &memory()).await.unwrap();
    // Of the first commit, and of the one on dev.
    assert_eq!(report.hidden_chunks, 2);
    assert_eq!(report.virtual_chunks, 1);
}

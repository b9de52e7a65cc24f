//! Cases 67 and 68: the root is not left.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icefield_storage::{
    CopyOptions, GetOptions, Key, ObjectClass, PutMode, SeededEntropy, Storage, StorageError,
    StorageExt,
};
use rustix::fs::CWD;
use tempfile::TempDir;

use super::kit::{Speak, both_ways, is_not_an_object, key, open, run, temporary};
use crate::{Fsync, LocalStorage};

#[test]
fn e67_no_key_leaves_the_root() {
    for bad in [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a/./b",
        "a//b",
        "a\0b",
        "",
        "..",
    ] {
        assert!(Key::parse(bad).is_err(), "{bad:?}");
    }
    // These are ordinary names here.
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        for store in both_ways(&root) {
            for at in [
                "c:\\x",
                "..\\x",
                "%2e%2e/x",
                "CON",
                "a:stream",
                "...",
                "x\ny",
                "nul/aux.h",
            ] {
                store.write(at, at, PutMode::Overwrite).await;
                assert_eq!(store.text(at).await.as_deref(), Some(at));
            }
        }
        let beside: Vec<_> = std::fs::read_dir(outer.path()).expect("read").collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
    });
}

#[test]
fn e67_the_hidden_directory_is_out_of_reach() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        store.write("a", "x", PutMode::Create).await;
        for at in [
            ".icefield-local/locks/0",
            ".icefield-local",
            ".Icefield-Local/tmp/x",
        ] {
            let put = store
                .try_put(at, "x", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            assert!(
                matches!(put, Err(StorageError::Unsupported { .. })),
                "{put:?}"
            );
            let put = store
                .try_put(at, "x", PutMode::Create, ObjectClass::Chunk)
                .await;
            assert!(
                matches!(put, Err(StorageError::Unsupported { .. })),
                "{put:?}"
            );
            let copy = store
                .copy(&key("a"), &key(at), CopyOptions::default())
                .await;
            assert!(
                matches!(copy, Err(StorageError::Unsupported { .. })),
                "{copy:?}"
            );
            let deleted = store.delete_one(key(at).into()).await;
            assert!(
                matches!(deleted, Err(StorageError::Unsupported { .. })),
                "{deleted:?}"
            );
            assert!(
                store
                    .head(&key(at))
                    .await
                    .expect_err("hidden")
                    .is_not_found()
            );
        }
        // Only this name.
        for at in ["x/.icefield-local2", ".icefield-local2", ".icefield"] {
            store.write(at, "x", PutMode::Create).await;
        }
    });
}

#[test]
fn e67_the_hidden_directory_of_a_store_further_down_is_out_of_reach() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let (outer, inner) = (open(dir.path()), open(&dir.path().join("repo")));
        inner.write("a", "x", PutMode::Create).await;
        outer.write("repo/b", "x", PutMode::Create).await;
        assert_eq!(outer.keys().await, ["repo/a", "repo/b"]);
        for at in ["repo/.icefield-local/locks/0", "repo/.Icefield-local/tmp/x"] {
            let put = outer
                .try_put(at, "x", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            super::kit::unsupported(put);
            super::kit::unsupported(outer.delete_one(key(at).into()).await);
            assert_eq!(outer.text(at).await, None);
        }
    });
}

#[test]
fn e68_symbolic_links_inside_the_root_are_refused() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        let secret = outer.path().join("secret");
        std::fs::create_dir_all(secret.join("below")).expect("made");
        std::fs::write(secret.join("file"), "secret").expect("written");
        for store in both_ways(&root) {
            store.write("a/b", "x", PutMode::Overwrite).await;
            for (link, target) in [
                ("file-link", "../secret/file"),
                ("dir-link", "../secret"),
                ("inner-link", "a"),
                ("dangling", "nowhere"),
                ("absolute", "/etc/passwd"),
                ("a/loop", "loop"),
            ] {
                let _ = std::fs::remove_file(root.join(link));
                symlink(target, root.join(link)).expect("linked");
            }
            let link = "a symbolic link";
            for at in [
                "file-link",
                "dir-link",
                "dir-link/file",
                "dir-link/below/x",
                "inner-link",
                "inner-link/b",
                "dangling",
                "dangling/x",
                "absolute",
                "a/loop",
                "a/loop/x",
            ] {
                is_not_an_object(store.get(&key(at), GetOptions::default()).await, link);
                is_not_an_object(store.head(&key(at)).await, link);
                for (mode, class) in [
                    (PutMode::Overwrite, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Chunk),
                ] {
                    is_not_an_object(store.try_put(at, "x", mode, class).await, link);
                }
                is_not_an_object(store.delete_one(key(at).into()).await, link);
                let copy = store
                    .copy(&key("a/b"), &key(at), CopyOptions::default())
                    .await;
                is_not_an_object(copy, link);
                let copy = store
                    .copy(&key(at), &key("c"), CopyOptions::default())
                    .await;
                is_not_an_object(copy, link);
            }
            assert_eq!(store.keys().await, ["a/b"]);
        }
        assert_eq!(
            std::fs::read(secret.join("file")).expect("there"),
            b"secret"
        );
        assert_eq!(std::fs::read_dir(&secret).expect("read").count(), 2);
    });
}

#[test]
fn e68_the_root_may_be_a_symbolic_link() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        std::fs::create_dir(outer.path().join("real")).expect("made");
        symlink("real", outer.path().join("link")).expect("linked");
        let store = LocalStorage::open(outer.path().join("link")).expect("opened");
        store.write("a/b", "x", PutMode::Create).await;
        assert!(outer.path().join("real/a/b").is_file());
        // Resolved once: pointing the link elsewhere later moves nothing.
        std::fs::remove_file(outer.path().join("link")).expect("removed");
        symlink("/", outer.path().join("link")).expect("linked");
        assert_eq!(store.text("a/b").await.as_deref(), Some("x"));
    });
}

/// While another thread swaps a directory and a link to the outside, nothing is ever read or written outside.
#[test]
fn e68_a_link_swapped_in_at_any_moment_leads_nowhere() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        let outside = outer.path().join("outside");
        std::fs::create_dir_all(&outside).expect("made");
        std::fs::write(outside.join("file"), "outside").expect("written");
        for store in both_ways(&root) {
            store.write("d/file", "inside", PutMode::Overwrite).await;
            let over = Arc::new(AtomicBool::new(false));
            let swapping = {
                let (root, outside, over) = (root.clone(), outside.clone(), Arc::clone(&over));
                std::thread::spawn(move || {
                    symlink(&outside, root.join("link")).expect("linked");
                    let (d, link) = (root.join("d"), root.join("link"));
                    while !over.load(Ordering::Relaxed) {
                        let exchange = rustix::fs::RenameFlags::EXCHANGE;
                        rustix::fs::renameat_with(CWD, &d, CWD, &link, exchange).expect("swapped");
                    }
                    std::fs::remove_file(&link)
                        .or_else(|_| std::fs::remove_file(&d))
                        .expect("removed");
                    if link.exists() {
                        std::fs::rename(&link, &d).expect("back in place");
                    }
                })
            };
            let (mut seen, mut blocked) = (0, 0);
            for i in 0.. {
                if i >= 2000 && seen > 0 && blocked > 0 {
                    break;
                }
                assert!(i < 1_000_000, "{seen} reads, {blocked} blocked");
                match store.get(&key("d/file"), GetOptions::default()).await {
                    Ok(object) => {
                        assert_eq!(object.bytes().await.expect("read"), "inside");
                        seen += 1;
                    }
                    Err(StorageError::NotAnObject { .. }) => blocked += 1,
                    Err(error) => panic!("{error:?}"),
                }
                let (at, mode, class) = match i % 3 {
                    0 => (format!("d/c{i}"), PutMode::Create, ObjectClass::Chunk),
                    1 => (format!("d/m{i}"), PutMode::Create, ObjectClass::Metadata),
                    _ => (
                        "d/new".to_owned(),
                        PutMode::Overwrite,
                        ObjectClass::Metadata,
                    ),
                };
                let _ = store.try_put(&at, "inside", mode, class).await;
                let _ = store.delete_one(key("d/outside").into()).await;
            }
            over.store(true, Ordering::Relaxed);
            swapping.join().expect("swapped to the end");
            let names: Vec<_> = std::fs::read_dir(&outside)
                .expect("read")
                .map(|entry| entry.expect("read").file_name())
                .collect();
            assert_eq!(names, ["file"], "something was written outside");
        }
        assert_eq!(
            std::fs::read(outside.join("file")).expect("there"),
            b"outside"
        );
    });
}

#[test]
fn e68_a_planted_temporary_name_is_not_followed() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        std::fs::write(outer.path().join("victim"), "victim").expect("written");
        let builder = || LocalStorage::builder(&root).fsync(Fsync::None);
        // The attacker knows every name that will be drawn.
        let seeded = || Arc::new(SeededEntropy::new(7));
        let store = builder().entropy(seeded()).open().expect("opened");
        store.0.abilities().expect("probed");
        let next = {
            let twin = builder().entropy(seeded()).open().expect("opened");
            twin.0.random_name();
            twin.0.random_name()
        };
        symlink(
            "../../../victim",
            root.join(".icefield-local/tmp").join(&next),
        )
        .expect("linked");
        store.write("a", "x", PutMode::Overwrite).await;
        assert_eq!(
            std::fs::read(outer.path().join("victim")).expect("there"),
            b"victim"
        );
        assert_eq!(
            temporary(&root),
            [next],
            "the name was taken, so another was drawn"
        );
    });
}

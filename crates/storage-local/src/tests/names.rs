//! Case 70: file systems that take two names for one.

use icefield_storage::{CopyOptions, ObjectClass, Prefix, PutMode, Storage, StorageExt};

use super::kit::{Rig, Speak, key, run, unsupported};
use crate::sys::habits::Habits;

#[test]
fn e70_a_key_that_differs_in_case_only_is_refused_where_case_is_ignored() {
    run(async {
        let rig = Rig::new(Habits {
            ignores_case: true,
            ..Habits::default()
        });
        let main = "refs/branch.main/ref.json";
        let shouted = "refs/branch.Main/ref.json";
        rig.store.write(main, "1", PutMode::Create).await;
        for (at, mode, class) in [
            (shouted, PutMode::Create, ObjectClass::Metadata),
            (shouted, PutMode::Overwrite, ObjectClass::Metadata),
            (shouted, PutMode::Create, ObjectClass::Chunk),
            (
                "refs/branch.main/REF.json",
                PutMode::Overwrite,
                ObjectClass::Metadata,
            ),
            ("Refs/other", PutMode::Create, ObjectClass::Metadata),
        ] {
            let message = unsupported(rig.store.try_put(at, "2", mode, class).await);
            assert!(message.contains("ignores case"), "{message}");
        }
        let copy = rig
            .store
            .copy(&key(main), &key(shouted), CopyOptions::default())
            .await;
        unsupported(copy);
        // Neither read nor deleted by the other name, also by a handle that has never written.
        for store in [rig.store.clone(), rig.again()] {
            assert_eq!(store.text(shouted).await, None);
            assert_eq!(store.text("refs/branch.main/REF.json").await, None);
            assert_eq!(store.text(main).await.as_deref(), Some("1"));
        }
        let _ = rig
            .store
            .delete_one(key(shouted).into())
            .await
            .expect("nothing to delete");
        assert_eq!(rig.store.text(main).await.as_deref(), Some("1"));
        // Nor listed by it.
        for (prefix, count) in [("refs", 1), ("Refs", 0), ("refs/branch.Main", 0)] {
            for store in [rig.store.clone(), rig.again()] {
                let prefix = Prefix::parse(prefix).expect("valid");
                let listed = store.list_all(&prefix).await.expect("listed");
                assert_eq!(listed.len(), count, "{prefix:?}");
            }
        }
        // Another name in a directory of many is no collision.
        for i in 0..20 {
            rig.store.chunk(&format!("chunks/C{i}"), "x").await;
        }
        rig.store.write(main, "2", PutMode::Overwrite).await;
        assert_eq!(rig.store.keys().await.len(), 21);
    });
}

#[test]
fn e70_letters_outside_ascii_are_refused_where_names_are_normalised() {
    run(async {
        let rig = Rig::new(Habits {
            normalises: true,
            ..Habits::default()
        });
        for at in ["\u{e9}", "e\u{301}", "a/\u{e9}/b"] {
            let put = rig
                .store
                .try_put(at, "1", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            unsupported(put);
        }
        // As the format encodes such a name in a directory.
        rig.store
            .write("refs/branch.%C3%A9/ref.json", "1", PutMode::Create)
            .await;
    });
}

#[test]
fn e70_both_are_keys_where_names_are_kept_apart() {
    run(async {
        let rig = Rig::new(Habits::default());
        for at in ["main", "Main", "\u{e9}", "e\u{301}"] {
            rig.store.write(at, at, PutMode::Create).await;
        }
        for at in ["main", "Main", "\u{e9}", "e\u{301}"] {
            assert_eq!(rig.store.text(at).await.as_deref(), Some(at));
        }
    });
}

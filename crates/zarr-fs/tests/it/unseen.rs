//! Directories that no reader looks into before they are complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use icefield_storage::{Entropy, SystemEntropy};
use icefield_zarr_fs::{DirectoryTree, TreeError, WriteTree};

use crate::world::{get, key, list, names, set, world};

/// Counts the names of temporary files.
#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Entropy for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.fetch_add(1, Ordering::Relaxed);
        SystemEntropy.fill(bytes);
    }

    fn derive(&self) -> Arc<dyn Entropy> {
        SystemEntropy.derive()
    }
}

#[tokio::test]
async fn values_are_written_in_their_places() {
    for (unseen, temporaries) in [(true, [1, 2]), (false, [5, 6])] {
        let world = world();
        let counted = Arc::new(Counted::default());
        let made = || counted.0.load(Ordering::Relaxed);
        let tree = DirectoryTree::builder(world.base())
            .unseen(unseen)
            .entropy(Arc::clone(&counted) as Arc<dyn Entropy>)
            .open()
            .unwrap();
        for name in ["zarr.json", "a/zarr.json", "a/c/0/0", "a/c/0/1"] {
            set(&tree, name, "v").await;
        }
        assert!(
            tree.set_if_not_exists(&key("b/v"), "w".into())
                .await
                .unwrap()
        );
        assert_eq!(made(), temporaries[0], "unseen: {unseen}");
        // A value that is there is replaced as everywhere.
        assert!(
            !tree
                .set_if_not_exists(&key("b/v"), "x".into())
                .await
                .unwrap()
        );
        set(&tree, "a/c/0/0", "new").await;
        assert_eq!(made(), temporaries[1], "unseen: {unseen}");
        assert_eq!(get(&tree, "a/c/0/0").await.as_deref(), Some(&b"new"[..]));
        assert_eq!(get(&tree, "b/v").await.as_deref(), Some(&b"w"[..]));
        let all = ["a/c/0/0", "a/c/0/1", "a/zarr.json", "b/v", "zarr.json"];
        assert_eq!(list(&tree, "").await, all);
        assert_eq!(names(world.base()).len(), all.len() + 4);
    }
}

#[tokio::test]
async fn what_is_refused_elsewhere_is_refused() {
    let world = world();
    let tree = DirectoryTree::builder(world.base())
        .unseen(true)
        .ignores_case(true)
        .called("the export")
        .open()
        .unwrap();
    set(&tree, "a/b", "v").await;
    let refused = async |name: &str| tree.set(&key(name), "v".into()).await.unwrap_err();
    let below = refused("a/b/c").await;
    assert!(matches!(below, TreeError::BelowAValue { .. }), "{below}");
    assert!(below.to_string().contains("in the export"), "{below}");
    let above = refused("a").await;
    assert!(matches!(above, TreeError::AboveKeys { .. }), "{above}");
    std::os::unix::fs::symlink("b", world.base().join("a/link")).unwrap();
    let link = refused("a/link").await;
    assert!(matches!(link, TreeError::Link { .. }), "{link}");
    // An empty directory makes room.
    std::fs::create_dir(world.base().join("empty")).unwrap();
    set(&tree, "empty", "v").await;
    let case = refused("A/c").await;
    assert!(matches!(case, TreeError::CaseCollision { .. }), "{case}");
}

/// Says when it is dropped.
struct Guard(Arc<AtomicU64>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn what_is_kept_goes_with_the_last_handle() {
    let world = world();
    let dropped = Arc::new(AtomicU64::new(0));
    let gone = || dropped.load(Ordering::Relaxed);
    let builder = DirectoryTree::builder(world.base());
    let tree = builder.keep(Guard(Arc::clone(&dropped))).open().unwrap();
    let other = tree.clone();
    let listed = other.raw_entries(&"".parse().unwrap(), |_| true);
    drop((tree, other));
    assert_eq!(gone(), 0, "a list is still under way");
    drop(listed);
    assert_eq!(gone(), 1);
}

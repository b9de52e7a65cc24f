//! The suite, unchanged, once per backend.

use std::sync::Arc;

use icefield::storage::Storage;
use icefield::{Fsync, LocalStorage};

use crate::suite::scratch::folder;

/// Directories that live as long as the process.
pub(crate) mod scratch {
    use std::path::PathBuf;
    use std::sync::Mutex;

    use tempfile::TempDir;

    static FOLDERS: Mutex<Vec<TempDir>> = Mutex::new(Vec::new());

    /// Returns a new empty directory.
    pub(crate) fn folder() -> PathBuf {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("writable");
        let path = folder.path().to_owned();
        FOLDERS.lock().expect("no panic while pushing").push(folder);
        path
    }
}

/// Returns an empty store in a new directory.
pub(crate) fn local(fsync: Fsync) -> Arc<dyn Storage> {
    let storage = LocalStorage::builder(folder()).fsync(fsync).open();
    Arc::new(storage.expect("a new directory opens"))
}

mod memory {
    use super::*;

    async fn fresh(_case: &'static str) -> Arc<dyn Storage> {
        Arc::new(icefield::MemoryStorage::new())
    }

    icefield_core::session_tests! { fresh }
}

mod local_disk {
    use super::*;

    async fn fresh(_case: &'static str) -> Arc<dyn Storage> {
        local(Fsync::Commit)
    }

    icefield_core::session_tests! { fresh }
}

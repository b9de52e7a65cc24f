//! The conformance suite, on a directory of its own for each case.

use std::path::Path;
use std::sync::Arc;

use icefield_storage::Storage;
use icefield_storage_local::{Fsync, LocalStorage};

/// Opens an empty directory that the next run removes.
fn open(case: &str, fsync: Fsync) -> Arc<dyn Storage> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("storage-local-conformance")
        .join(format!("{fsync:?}"))
        .join(case);
    let _ = std::fs::remove_dir_all(&directory);
    let store = LocalStorage::builder(directory).fsync(fsync).open();
    Arc::new(store.expect("opened"))
}

mod without_fsync {
    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        open(case, Fsync::None)
    }

    icefield_storage::conformance_tests! { fresh }
}

mod with_fsync_on_commit {
    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        open(case, Fsync::Commit)
    }

    icefield_storage::conformance_tests! { fresh }
}

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

mod s3 {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use icefield_storage_s3::{Credentials, S3Builder};
    use icefield_testservers::{S3Options, S3Server};

    use super::*;

    /// A bucket of its own for each store that a case asks for.
    async fn fresh(_case: &'static str) -> Arc<dyn Storage> {
        static SERVER: OnceLock<S3Server> = OnceLock::new();
        static BUCKETS: AtomicUsize = AtomicUsize::new(0);
        let server = SERVER.get_or_init(|| S3Server::start(S3Options::default()));
        let bucket = format!("bucket-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
        server.world().create_bucket(&bucket);
        let storage = S3Builder::new(bucket)
            .endpoint(server.endpoint())
            .credentials(Credentials::new(server.access_key(), server.secret_key()))
            .open();
        Arc::new(storage.expect("the settings are sound"))
    }

    icefield_core::session_tests! { fresh }
}

mod gcs {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use icefield_storage_gcs::GcsBuilder;
    use icefield_testservers::{GcsOptions, GcsServer};

    use super::*;

    /// A bucket of its own for each store that a case asks for.
    async fn fresh(_case: &'static str) -> Arc<dyn Storage> {
        static SERVER: OnceLock<GcsServer> = OnceLock::new();
        static BUCKETS: AtomicUsize = AtomicUsize::new(0);
        let server = SERVER.get_or_init(|| GcsServer::start(GcsOptions::default()));
        let bucket = format!("bucket-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
        server.world().create_bucket(&bucket);
        let storage = GcsBuilder::new(bucket)
            .endpoint(server.endpoint())
            .anonymous()
            .open()
            .await;
        Arc::new(storage.expect("the settings are sound"))
    }

    icefield_core::session_tests! { fresh }
}

//! The promises of a storage, kept over a server in this process.

use std::sync::{Arc, OnceLock};

use icefield_storage::Storage;
use icefield_storage_gcs::GcsStorage;
use icefield_testservers::{GcsOptions, GcsServer};

/// One server for all cases.
fn server() -> &'static GcsServer {
    static SERVER: OnceLock<GcsServer> = OnceLock::new();
    SERVER.get_or_init(|| GcsServer::start(GcsOptions::default()))
}

/// Returns a bucket of its own: below a prefix, the longest key would be too long.
async fn fresh(case: &str) -> Arc<dyn Storage> {
    let server = server();
    server.world().create_bucket(case);
    let storage = GcsStorage::builder(case)
        .endpoint(server.endpoint())
        .open()
        .await;
    Arc::new(storage.expect("opened"))
}

icefield_storage::conformance_tests! { fresh }

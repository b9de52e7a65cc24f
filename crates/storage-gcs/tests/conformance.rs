//! The promises of a storage, kept over a server in this process.

use std::sync::{Arc, OnceLock};

use icefield_storage::Storage;
use icefield_storage_gcs::GcsStorage;
use icefield_testservers::{GcsOptions, GcsServer};

#[path = "conformance/fake_gcs_server.rs"]
mod fake_gcs_server;

/// One server for all cases.
fn server() -> &'static GcsServer {
    static SERVER: OnceLock<GcsServer> = OnceLock::new();
    SERVER.get_or_init(|| GcsServer::start(GcsOptions::default()))
}

mod whole {
    use super::*;

    /// Returns a bucket of its own: below a prefix, the longest key would be too long.
    async fn fresh(case: &str) -> Arc<dyn Storage> {
        let bucket = format!("whole-{case}");
        server().world().create_bucket(&bucket);
        let storage = GcsStorage::builder(bucket)
            .endpoint(server().endpoint())
            .open()
            .await;
        Arc::new(storage.expect("opened"))
    }

    icefield_storage::conformance_tests! { fresh }
}

mod below_a_prefix_in_parts {
    use icefield_storage::Prefix;
    use icefield_storage::conformance::Effort;
    use icefield_storage::remote::RemoteSettings;

    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        let bucket = format!("parts-{case}");
        server().world().create_bucket(&bucket);
        let storage = GcsStorage::builder(bucket)
            .endpoint(server().endpoint())
            .prefix(Prefix::parse("a %20/ß").expect("a prefix"))
            .settings(
                RemoteSettings::default()
                    .with_multipart(1 << 20, 1 << 18)
                    .with_parallel_reads(1 << 20),
            )
            .open()
            .await;
        Arc::new(storage.expect("opened"))
    }

    icefield_storage::conformance_tests! {
        fresh,
        effort = Effort::slow(),
        // Google takes names of 1024 bytes, of which the prefix is a part.
        except = [long_keys_are_ordinary],
    }
}

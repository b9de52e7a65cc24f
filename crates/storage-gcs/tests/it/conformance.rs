//! The promises of a storage, kept over a server in this process.

use std::sync::{Arc, OnceLock};

use icefield_storage::conformance::Subject;
use icefield_storage::{Key, Storage};
use icefield_storage_gcs::GcsBuilder;
use icefield_testservers::world::Draft;
use icefield_testservers::{GcsOptions, GcsServer};

/// One server for all cases.
fn server() -> &'static GcsServer {
    static SERVER: OnceLock<GcsServer> = OnceLock::new();
    SERVER.get_or_init(|| GcsServer::start(GcsOptions::default()))
}

/// Returns a store below `prefix` of a bucket, with a way to put any text there as a name.
fn planting(storage: impl Storage, bucket: String, prefix: &'static str) -> Subject {
    Subject::with_plant(Arc::new(storage), move |name| {
        let name = String::from_utf8(name);
        // A key would be an object.
        let name = name.ok().filter(|name| Key::parse(name).is_err());
        let planted = name.map(|name| {
            let name = format!("{prefix}{name}");
            server().world().put(&bucket, &name, Draft::new(""))
        });
        std::future::ready(planted.is_some())
    })
}

mod whole {
    use super::*;

    /// Returns a bucket of its own: below a prefix, the longest key would be too long.
    async fn fresh(case: &str) -> Subject {
        let bucket = format!("whole-{case}");
        server().world().create_bucket(&bucket);
        let storage = GcsBuilder::new(&*bucket)
            .endpoint(server().endpoint())
            .open()
            .await;
        planting(storage.expect("opened"), bucket, "")
    }

    icefield_storage::conformance_tests! { fresh }
}

mod below_a_prefix_in_parts {
    use icefield_storage::Prefix;
    use icefield_storage::conformance::Effort;
    use icefield_storage::remote::RemoteSettings;

    use super::*;

    async fn fresh(case: &str) -> Subject {
        let bucket = format!("parts-{case}");
        server().world().create_bucket(&bucket);
        let storage = GcsBuilder::new(&*bucket)
            .endpoint(server().endpoint())
            .prefix(Prefix::parse("a %20/ß").expect("a prefix"))
            .settings(
                RemoteSettings::default()
                    .with_multipart(1 << 20, 1 << 18)
                    .with_parallel_reads(1 << 20),
            )
            .open()
            .await;
        planting(storage.expect("opened"), bucket, "a %20/ß/")
    }

    icefield_storage::conformance_tests! {
        fresh,
        effort = Effort::slow(),
        // Google takes names of 1024 bytes, of which the prefix is a part.
        except = [long_keys_are_ordinary],
    }
}

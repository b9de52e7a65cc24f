//! The promises of a storage, kept by the adapter over the in-memory store of `object_store`.

use std::sync::Arc;

use icefield_storage::{Prefix, Storage};
use icefield_storage_object_store::AdapterOptions;
use object_store::memory::InMemory;

/// Two ways to see one store.
fn options() -> AdapterOptions {
    AdapterOptions::default().with(|options| {
        options.exact_versions = true;
        options.durable = false;
        options.put_bytes = 64 << 20;
    })
}

mod whole {
    use super::*;

    async fn fresh(_case: &str) -> Arc<dyn Storage> {
        let store = Arc::new(InMemory::new());
        Arc::new(options().open(store))
    }

    icefield_storage::conformance_tests! { fresh }
}

mod below_a_prefix_in_pages_and_parts {
    use icefield_storage::remote::RemoteSettings;

    use super::*;

    async fn fresh(_case: &str) -> Arc<dyn Storage> {
        let store = Arc::new(InMemory::new());
        let options = options().with(|options| {
            options.prefix = Prefix::parse("some where/%20").expect("a prefix");
            options.ordered_lists = true;
            options.delete_keys = 256;
            options.settings = RemoteSettings::default()
                .with_multipart(1 << 20, 1 << 18)
                .with_parallel_reads(1 << 20);
        });
        Arc::new(options.open(store))
    }

    icefield_storage::conformance_tests! { fresh }
}

/// Against a server: Azurite, or an account of one's own.
#[cfg(feature = "azure")]
mod azure {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    use icefield_storage::conformance::Effort;
    use icefield_storage_object_store::AzureBuilder;

    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        static CASES: AtomicU64 = AtomicU64::new(0);
        let set = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        let case = CASES.fetch_add(1, Ordering::Relaxed).to_string() + "-" + case;
        #[expect(
            clippy::disallowed_methods,
            reason = "a fresh prefix on a server that outlives the test"
        )]
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let run = now.expect("after 1970").as_nanos();
        let prefix = Prefix::parse(&format!("{run}-{}/{case}", std::process::id()));
        let account = set("TEST_AZURE_ACCOUNT");
        let storage = AzureBuilder::new(account, set("TEST_AZURE_CONTAINER"))
            .endpoint(set("TEST_AZURE_ENDPOINT"))
            .access_key(set("TEST_AZURE_KEY"))
            .prefix(prefix.expect("a prefix"))
            .open();
        Arc::new(storage.expect("opened"))
    }

    icefield_storage::conformance_tests! {
        fresh,
        skip_unless_env = "TEST_AZURE_ENDPOINT",
        effort = Effort::slow(),
        // One of its keys has a backslash, which Azure takes for a slash.
        except = [odd_characters_come_back_verbatim],
    }
}

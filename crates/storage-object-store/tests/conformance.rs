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

/// Against a server that others wrote: Azurite, which `cargo xtask test` starts, or an account of one's own.
#[cfg(feature = "azure")]
mod azurite {
    use icefield_storage::conformance::Effort;
    use icefield_storage_object_store::AzureBuilder;
    use icefield_testservers::Outside;
    use icefield_testservers::outside::{AZURE, fresh_prefix};

    use super::*;

    async fn fresh(case: &str) -> Arc<dyn Storage> {
        let account = Outside::azure();
        let storage = AzureBuilder::new(account.account, account.bucket)
            .endpoint(account.endpoint)
            .access_key(account.secret)
            .prefix(Prefix::parse(&fresh_prefix(case)).expect("a prefix"))
            .open();
        Arc::new(storage.expect("opened"))
    }

    fn effort() -> Effort {
        Effort {
            racers: 32,
            rounds: 10,
            ..Effort::slow()
        }
    }

    icefield_storage::conformance_tests! {
        fresh,
        skip_unless_env = AZURE,
        effort = effort(),
        // One of its keys has a backslash, which Azure takes for a slash.
        except = [odd_characters_come_back_verbatim],
    }
}

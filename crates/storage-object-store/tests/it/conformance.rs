//! The promises of a storage, kept by the adapter over the in-memory store of `object_store`.

use std::sync::Arc;

use icefield_storage::conformance::Subject;
use icefield_storage::{Key, Prefix, Storage};
use icefield_storage_object_store::AdapterOptions;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

/// Two ways to see one store.
fn options() -> AdapterOptions {
    AdapterOptions::default().with(|options| {
        options.exact_versions = true;
        options.durable = false;
        options.put_bytes = 64 << 20;
    })
}

/// Returns the storage of `options` on `store`, with a way to put names there that are paths of the crate, and no keys.
fn planting(options: AdapterOptions, store: Arc<InMemory>) -> Subject {
    let prefix = options.prefix.clone();
    let storage: Arc<dyn Storage> =
        Arc::new(options.open(Arc::clone(&store) as Arc<dyn ObjectStore>));
    Subject::with_plant(storage, move |name| {
        let (store, prefix) = (Arc::clone(&store), prefix.clone());
        async move {
            let name = String::from_utf8(name).ok();
            let Some(name) = name.filter(|name| Key::parse(name).is_err()) else {
                return false;
            };
            let name = match prefix.is_all() {
                true => name,
                false => format!("{prefix}/{name}"),
            };
            // The crate makes another name of `a/`, and none of `a//x`.
            let path = Path::parse(&name).ok();
            let Some(path) = path.filter(|path| path.as_ref() == name) else {
                return false;
            };
            store.put(&path, "".into()).await.is_ok()
        }
    })
}

mod whole {
    use super::*;

    async fn fresh(_case: &str) -> Subject {
        planting(options(), Arc::new(InMemory::new()))
    }

    icefield_storage::conformance_tests! { fresh }
}

mod below_a_prefix_in_pages_and_parts {
    use icefield_storage::remote::RemoteSettings;

    use super::*;

    async fn fresh(_case: &str) -> Subject {
        let options = options().with(|options| {
            options.prefix = Prefix::parse("some where/%20").expect("a prefix");
            options.ordered_lists = true;
            options.delete_keys = 256;
            options.settings = RemoteSettings::default()
                .with_multipart(1 << 20, 1 << 18)
                .with_parallel_reads(1 << 20);
        });
        planting(options, Arc::new(InMemory::new()))
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
            racers: 16,
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

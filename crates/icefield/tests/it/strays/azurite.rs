//! On Azurite, where the environment names it; `cargo xtask test` starts it.

use icefield::storage::StorageError;
use icefield::{Location, Schemes};
use icefield_testservers::Outside;
use icefield_testservers::outside::{AZURE, fresh_prefix, is_there};

use super::*;

/// Two connections to one place: a connection belongs to the runtime that made it.
async fn storage(prefix: &str) -> Arc<dyn Storage> {
    let server = Outside::azure();
    let (account, container, endpoint) = (server.account, server.bucket, server.endpoint);
    let url = format!("az://{account}/{container}/{prefix}?endpoint={endpoint}");
    let location = Location::parse(&url).expect("a location");
    let storage = Schemes::standard().storage(&location).await;
    storage.expect("the settings are sound")
}

/// The server's clock cannot be moved, so that what is kept is not shown to be garbage otherwise.
#[test]
fn nothing_is_deleted_there_beside_what_is_not_understood() {
    if !is_there(
        AZURE,
        "nothing_is_deleted_there_beside_what_is_not_understood",
    ) {
        return;
    }
    let prefix = fresh_prefix("strays");
    let beside = tokio::runtime::Runtime::new().expect("a runtime");
    let beside = Arc::new(beside);
    // A runtime cannot end inside of another one: this is its last handle.
    let _last = Arc::clone(&beside);
    let planted = beside.block_on(storage(&prefix));
    let (uprooted, beside_too) = (Arc::clone(&planted), Arc::clone(&beside));
    let named = |name: &[u8]| {
        std::str::from_utf8(name)
            .ok()
            .and_then(|it| Key::parse(it).ok())
    };
    let plant = move |name: &[u8], thing: Thing| match (named(name), thing) {
        (Some(key), Object(bytes)) => {
            let put = planted.put(&key, bytes.into(), Default::default());
            match elsewhere(&beside, put) {
                Ok(outcome) => {
                    drop(outcome);
                    true
                }
                // Control characters are in no key of this backend.
                Err(StorageError::Unsupported { .. }) => false,
                Err(error) => panic!("{key}: {error:?}"),
            }
        }
        _ => false,
    };
    let uproot = move |name: &[u8]| {
        let key = named(name).expect("it was planted");
        drop(elsewhere(&beside_too, uprooted.delete_one(key.into())).expect("deleted"));
    };
    run(async {
        let place = Place {
            storage: storage(&prefix).await,
            age: Box::new(|_| {}),
        };
        let bench = Bench::new("Azure", place, Box::new(plant), Box::new(uproot)).await;
        let refused = bench.refusals().await;
        assert!(refused >= 35, "{refused}");
    });
}

/// The output of work on another runtime, from inside of one.
fn elsewhere<T: Send>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T> + Send,
) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| runtime.block_on(work));
        thread.join().expect("no panic")
    })
}

//! A second opinion: the promises of the contract on a server that others wrote. `cargo xtask test` starts
//! SeaweedFS for it; the variables may name another one.

use std::sync::Arc;

use icefield_storage::conformance::Effort;
use icefield_storage::remote::RemoteSettings;
use icefield_storage::{Prefix, Storage};
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::Outside;
use icefield_testservers::outside::{S3, fresh_prefix};

async fn fresh(case: &str) -> Arc<dyn Storage> {
    let server = Outside::s3();
    let storage = S3Builder::new(server.bucket)
        .endpoint(server.endpoint)
        .credentials(Credentials::new(server.account, server.secret))
        .prefix(Prefix::parse(&fresh_prefix(case)).expect("a prefix"))
        .settings(
            RemoteSettings::default()
                .with_multipart(6 << 20, 5 << 20)
                .with_parallel_reads(2 << 20)
                // It keeps objects in directories and lists those by name: `a/b` comes before `a-b`.
                .sorting_lists(10_000),
        )
        .open();
    Arc::new(storage.expect("the settings are sound"))
}

/// It lets writers of one key wait for each other by asking again and again: more rounds take minutes.
fn effort() -> Effort {
    Effort {
        racers: 16,
        ..Effort::slow()
    }
}

icefield_storage::conformance_tests! {
    fresh,
    skip_unless_env = S3,
    effort = effort(),
    except = [
        // Two ends of uploads in parts do not exclude each other there.
        racing_large_creates_have_one_winner,
        // Below a prefix, the longest key is too long for any S3.
        long_keys_are_ordinary,
        // It makes a slash of a backslash.
        odd_characters_come_back_verbatim,
    ],
}

//! Tests of maintenance on the in-memory store, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// Makes tests of functions that take a spec version, for each version.
macro_rules! versions {
    ($($test:ident),* $(,)?) => {
        mod on_v1 {
            $(#[tokio::test]
            async fn $test() {
                super::$test(icefield_format::SpecVersion::V1).await;
            })*
        }

        mod on_v2 {
            $(#[tokio::test]
            async fn $test() {
                super::$test(icefield_format::SpecVersion::V2).await;
            })*
        }
    };
}

mod bundles;
mod check;
mod collect;
mod copies;
mod downgrade;
mod expire;
mod interrupted;
mod packs;
mod serial;
mod source;
mod tasks;
mod turns;
mod usage;
mod world;

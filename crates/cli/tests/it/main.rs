//! The program as a user meets it: run in a directory of its own, judged by its output and its exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// Makes tests of functions that take a spec version as it is written on the command line, for each version.
macro_rules! versions {
    ($($test:ident),* $(,)?) => {
        mod on_v1 {
            $(#[test]
            fn $test() {
                super::$test("1");
            })*
        }

        mod on_v2 {
            $(#[test]
            fn $test() {
                super::$test("2");
            })*
        }
    };
}

mod alpha;
mod alpha_look;
mod append;
mod archives;
mod bad_archives;
mod bad_input;
mod collections;
mod collections_in_buckets;
mod commands;
mod damage;
mod disk_cache;
mod doctor;
mod exit_codes;
mod grants;
mod history;
mod import;
mod interrupted;
mod logging;
mod machine_keys;
mod memory;
mod nemo;
mod netcdf;
mod netcdf_exports;
mod offset_stores;
mod pages;
mod plot;
mod races;
mod readme;
mod rechunk;
mod serve;
mod terminal;
mod web_server;
mod windows;
mod windows_elements;
mod windows_retention;
mod windows_words;
mod world;
mod zips;

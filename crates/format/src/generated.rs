//! Code made from `schemas/*.fbs` by `cargo xtask codegen`. Never edited by hand.

#[allow(
    clippy::all,
    clippy::unwrap_used,
    clippy::use_self,
    dead_code,
    deprecated,
    elided_lifetimes_in_paths,
    mismatched_lifetime_syntaxes,
    missing_debug_implementations,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    unreachable_pub,
    unsafe_code,
    unused_imports,
    reason = "written by the flatbuffers compiler, which has a style of its own"
)]
mod all;

pub(crate) use all::*;

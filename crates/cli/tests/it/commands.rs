//! What every command prints, as text and as JSON.

mod copy;
mod general;
mod history;
mod inspect;
mod look;
mod refs;
mod rewrite_manifests;

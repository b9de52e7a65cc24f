//! The output of every command, as text and as JSON.

mod config;
mod copies;
mod copy;
mod downgrade;
mod du;
mod expire;
mod fsck;
mod fsck_repairs;
mod fsck_v2;
mod gc;
mod general;
mod history;
mod inspect;
mod look;
mod refs;
mod repack;
mod rewrite_manifests;
mod strays;
mod upgrade;

//! Servers that speak real protocols, in the process of a test, on loopback, over objects in memory.
//!
//! - [`S3Server`] speaks S3 with signatures, [`World`] holds the objects, and the test looks into it.
//! - [`GcsServer`] speaks the two interfaces of GCS, over the same kind of world.
//! - [`Switches`] make a running server fail in chosen ways, for chosen requests.
//! - [`FileServer`] shows plain files, from a directory or from memory.
//! - [`FaultProxy`] breaks requests and answers on the wire, in front of any server.
//! - [`Outside`] is a server that others wrote, where the environment names one.
//!
//! A server has threads of its own and stops when it is dropped. Time comes from the clock of its
//! [`World`], so a test moves it and never sleeps. Everything here panics where it cannot do what it was
//! asked to: that is a broken test.

mod answer;
mod body;
pub mod files;
mod front;
mod gate;
pub mod gcs;
mod host;
mod log;
pub mod outside;
pub mod proxy;
mod range;
pub mod s3;
pub mod switches;
mod wait;
pub mod world;

pub use answer::Answer;
pub use files::FileServer;
pub use gate::Gate;
pub use gcs::{GcsOptions, GcsServer};
pub use log::LoggedRequest;
pub use outside::Outside;
pub use proxy::{FaultProxy, ProxiedRequest, ProxyFault, ProxyRule};
pub use s3::{S3Options, S3Server};
pub use switches::{Behaviour, Fault, Injected, LifecycleRule, Rule, Switches, Verb};
pub use wait::eventually;
pub use world::World;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

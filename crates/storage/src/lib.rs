//! The storage contract: keys and bytes, with conditional writes that have exactly one winner.
//!
//! A [`Storage`] holds objects under [`Key`]s. It knows nothing of snapshots or chunks; it promises few
//! things and promises them exactly, because a commit hangs on them:
//!
//! - **Whole objects.** A reader sees the old object or the new one, never a part or a mix.
//! - **Conditions.** [`PutMode::Create`] and [`PutMode::Update`] have exactly one winner among any number
//!   of processes. A store that cannot promise this says so in its [`Capabilities`].
//! - **Three outcomes.** A write is [done](PutOutcome::Written), [refused](PutOutcome::Refused) or
//!   [unknown](PutOutcome::Unknown). An `Err` means that nothing happened.
//! - **Order.** [`Storage::list`] yields keys in byte order on every backend.
//!
//! Backends are crates of their own (`icefield-storage-memory`, `icefield-storage-local`, …) and prove
//! themselves with the `conformance` suite. Wrappers in [`wrap`] each do one thing and stack.

mod advice;
mod capabilities;
mod clock;
mod contract;
mod error;
mod ext;
mod key;
mod options;
mod per_process;
mod planted;
pub mod remote;
mod unreadable;
mod version;
pub mod wrap;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use bytes::Bytes;

pub use advice::{Advice, Topic, Weight};
pub use capabilities::{Capabilities, KeyForm};
pub use clock::{Clock, Entropy, ManualClock, SeededEntropy, SystemClock, SystemEntropy};
pub use contract::Storage;
pub use error::{BoxError, DIRECTORY_MARKER, StorageError, with_causes};
pub use ext::{Compared, Listed, StorageExt};
pub use key::{Key, KeyError, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, Prefix};
pub use options::{
    Body, CopyOptions, DeleteOutcome, Deletion, GetOptions, GetRange, ListOptions, Object,
    ObjectClass, ObjectMeta, Payload, PutMode, PutOptions, PutOutcome, Written,
};
pub use per_process::PerProcess;
#[doc(hidden)]
pub use planted::{PlantedBug, planted};
pub use unreadable::UnreadableName;
pub use version::{Condition, Version};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

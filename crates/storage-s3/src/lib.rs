//! Amazon S3 and the servers that speak its protocol, as a [`Storage`](icefield_storage::Storage).
//!
//! ```no_run
//! use icefield_storage_s3::{Credentials, S3Builder};
//!
//! # fn main() -> Result<(), icefield_storage::StorageError> {
//! let storage = S3Builder::new("ocean")
//!     .region("eu-central-1")
//!     .credentials(Credentials::new("AK…", "SK…"))
//!     .open()?;
//! # Ok(())
//! # }
//! ```
//!
//! One request is the business of this crate; trying again, reading back and everything else that makes a
//! `Storage` of requests is [`RemoteStorage`](icefield_storage::remote::RemoteStorage).
//!
//! **Versions** are ETags, followed by the id of the write for objects that this project wrote. An ETag of S3 is
//! a digest: the store itself cannot tell bytes that came back from bytes that never went, so that
//! [`exact_versions`](icefield_storage::Capabilities::exact_versions) is false.

#[cfg(feature = "aws-config")]
mod ambient;
mod bucket;
mod builder;
mod credentials;
mod deletes;
mod environment;
mod fault;
mod lifecycle;
mod lists;
mod objects;
mod reads;
mod uploads;
mod version;
mod writes;

#[cfg(feature = "aws-config")]
pub use ambient::Ambient;
pub use builder::{Checksum, Preset, S3Builder};
pub use credentials::{CredentialSource, Credentials};
pub use environment::Environment;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

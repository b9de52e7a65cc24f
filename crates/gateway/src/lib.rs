//! Every version of an icefield repository as plain Zarr over HTTP.
//!
//! A [`Gateway`] answers requests from repositories, without a socket; a [`Server`] gives it one. Clients that know nothing of
//! icefield read any version: the ref is the first segment of the path.
//!
//! | path | serves |
//! |---|---|
//! | `/REF/a/zarr.json`, `/REF/a/c/0/0` | Zarr v3, every group with consolidated metadata |
//! | `/-/v2/REF/…` | the same in Zarr v2, as far as that has words for it |
//! | `/-/raw/REF/…` | Zarr v3 as it is stored |
//! | `/-/resolve/REF` | the snapshot that a ref means now |
//! | `/-/repo/…` | the repository's own files, if the settings say so |
//! | `/-/api/…`, `/-/explore/` | history, trees, differences as JSON, and a page that shows them |
//! | `/-/metrics`, `/-/health`, `/-/ready` | for operators |
//!
//! ```
//! use icefield_gateway::{Gateway, Served, Settings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let repository = icefield::create("memory:").await?;
//! let served = Served { name: "ocean".into(), location: "memory:".into(), repository };
//! let gateway = Gateway::new(vec![served], Settings::default())?;
//! let request = http::Request::get("/-/health").header("host", "localhost").body(())?;
//! let response = gateway.respond(&request.into_parts().0, &gateway.local_caller()).await;
//! assert_eq!(response.status(), 200);
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! - **A failure never looks like absence.** 404 is for what the version does not have; a chunk that exists and cannot be read
//!   is an error to every client, also to those that take any status for a missing chunk.
//! - **One version each.** `X-Icefield-Snapshot` says which snapshot a response is of; a path with a snapshot's id always gives
//!   the same bytes.
//! - **Tags and lengths without reading.** `HEAD`, 304 and 404 read no chunk; a chunk whose manifest is known takes one read.
//! - **Read-only**, and bounded: connections, reads, bytes in memory, headers, time.
//!
//! # Features
//! - `otlp`: traces of requests for a collector of OpenTelemetry (`Traces`, `Server::traces`). Not among the defaults.

mod admission;
mod api;
mod body;
mod conditions;
mod connection;
mod data;
mod decoration;
mod documents;
mod explore;
mod failure;
mod gateway;
mod guard;
mod listing;
mod members;
mod metrics;
mod mount;
mod object;
mod observation;
mod ranges;
mod repository_files;
mod responses;
mod route;
mod s3;
mod server;
mod settings;
mod shards;
mod state;
mod steps;
mod storage_meter;
mod target;
#[cfg(feature = "otlp")]
mod traces;
mod transfer;
mod v2;
mod v2_tree;
mod v3;
mod versions;

pub use admission::Caller;
pub use body::{Body, BodyError};
pub use gateway::{Gateway, GatewayError};
pub use mount::Served;
pub use server::{AccessLog, Server};
pub use settings::{Access, Limits, Origins, Settings};
pub use storage_meter::StorageMeter;
#[cfg(feature = "otlp")]
pub use traces::{TraceReport, Traces, TracesError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

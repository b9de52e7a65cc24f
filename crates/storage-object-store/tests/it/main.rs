//! The adapter for stores of the crate `object_store`, with those that the crate brings and with servers in this process.

#[cfg(feature = "azure")]
mod azure;
mod conformance;
mod faults;
#[cfg(feature = "http")]
mod http;

//! The suite of `core`: sessions, commits and refs on every backend of this crate, and every crash of its
//! scenarios on the local disk; and what the facade itself adds.

#[cfg(all(feature = "alpha", feature = "memory", feature = "s3"))]
mod alpha;
#[cfg(all(
    feature = "hdf5",
    feature = "local",
    feature = "memory",
    feature = "zarrs"
))]
mod archives;
#[cfg(feature = "s3")]
mod bad_places;
#[cfg(feature = "s3")]
mod buckets;
#[cfg(feature = "maintenance")]
mod carried;
#[cfg(feature = "maintenance")]
mod collection;
mod contention;
mod costs;
mod crash;
mod open;
#[cfg(all(feature = "s3", feature = "http"))]
mod redirect;
mod second_opinion;
#[cfg(feature = "maintenance")]
mod strays;
mod suite;
#[cfg(feature = "http")]
mod web_server;

//! Grants of access to virtual chunks, in the words of a user.
//!
//! ```text
//! s3://archive/2015?region=eu-west-1                what lies below that prefix, unsigned
//! s3://archive/2015?credentials                     … signed with the keys that the environment has
//! az://container/x?account=name                     containers of Azure need their account
//! file:///data                                      a folder of this machine by its URL,
//! /data, archive/2015                               … or by its path, which needs no encoding
//! https://host/data                                 public servers
//! http://localhost:8000/data?private                … and those of this machine and the network around it
//! https://host/data?headers                         … and the headers that the repository's configuration says
//! ```

mod bucket;
mod granted;
mod identity;
mod prefix;
mod web;

use std::sync::Arc;

use icefield_core::VirtualAccess;

use crate::Error;

pub use bucket::GrantedBucket;
pub use identity::Identity;

use prefix::GrantedPrefix;

/// Grants a repository access to what lies below a prefix, such as `s3://archive/2015?region=eu-west-1`. Text without a
/// scheme is the path of a folder of this machine, links resolved, and takes no options. The repository's configuration may
/// supply settings of the location that the grant omits, except the endpoint and, for Azure with credentials, the account: the
/// grant alone decides where requests go.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) if it is no location of virtual chunks, has an option that is none, or is the path
/// of a folder that does not exist.
pub fn grant(access: VirtualAccess, text: &str) -> Result<VirtualAccess, Error> {
    let place = GrantedPrefix::parse(text, None)?;
    place.add_to(access)
}

/// Grants a repository access to what lies below a prefix, as [`grant`] does, with credentials that the caller supplies:
/// `identity` opens the buckets. The option `credentials`, which asks for those of the environment, does not exist here.
///
/// # Errors
/// As [`grant`].
pub fn grant_as(
    access: VirtualAccess,
    text: &str,
    identity: Arc<dyn Identity>,
) -> Result<VirtualAccess, Error> {
    let place = GrantedPrefix::parse(text, Some(identity))?;
    place.add_to(access)
}

#[cfg(test)]
mod tests;

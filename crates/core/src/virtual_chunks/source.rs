//! A foreign object that chunks lie in, and what tells that it is still the same.

use std::borrow::Cow;

use icefield_format::{Checksum, LocationRule, SpecVersion, VirtualLocation};

use super::verbatim;

/// The evidence that a foreign object has not changed since the reference was made. Reads compare it with the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VirtualChecksum {
    /// The ETag of the object, verbatim as the store gave it.
    ETag(String),
    /// The time in seconds since 1970 after which the object must not have been written. 0 means no evidence.
    LastModified(u32),
}

impl VirtualChecksum {
    pub(crate) fn as_format(&self) -> Checksum<'_> {
        match self {
            Self::ETag(tag) => Checksum::ETag(tag),
            Self::LastModified(seconds) => Checksum::LastModified(*seconds),
        }
    }
}

/// A foreign object that chunks lie in, and the evidence that it has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualSource {
    pub(super) location: VirtualLocation,
    /// How version 2 spells it, if it is of a repository of that version.
    pub(super) verbatim: Option<String>,
    pub(super) checksum: Option<VirtualChecksum>,
}

impl VirtualSource {
    /// Returns the object at a location, which is a URL. In repositories of version 2, locations may be spelt in other
    /// ways, which [`Repository::virtual_source`](crate::Repository::virtual_source) reads.
    ///
    /// # Errors
    /// The rule that the location breaks.
    pub fn new(location: &str) -> Result<Self, LocationRule> {
        Ok(Self {
            location: VirtualLocation::parse_new(location)?,
            verbatim: None,
            checksum: None,
        })
    }

    /// The location as files of a version have it.
    pub(crate) fn spelt(&self, version: SpecVersion) -> Cow<'_, str> {
        match (version, &self.verbatim) {
            (SpecVersion::V1, _) => self.location.as_str().into(),
            (_, Some(verbatim)) => verbatim.into(),
            (_, None) => verbatim::of_encoded(&self.location).into(),
        }
    }

    /// Returns the object with evidence that reads check: a chunk of an object that has changed is an error, and never
    /// the wrong bytes.
    #[must_use]
    pub fn with_checksum(mut self, checksum: VirtualChecksum) -> Self {
        // That time says nothing, in the format.
        self.checksum = Some(checksum).filter(|it| *it != VirtualChecksum::LastModified(0));
        self
    }

    /// Returns the normalised location. A location that names its container is given with the container's prefix in
    /// place of the name.
    pub fn location(&self) -> &VirtualLocation {
        &self.location
    }

    /// Returns the evidence that the object has not changed, if there is some.
    pub fn checksum(&self) -> Option<&VirtualChecksum> {
        self.checksum.as_ref()
    }
}

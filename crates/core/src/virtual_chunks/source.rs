//! A foreign object that chunks lie in, and what tells that it is still the same.

use std::borrow::Cow;

use icefield_format::{Checksum, LocationRule, SpecVersion, VirtualLocation};

use super::verbatim;

/// The evidence that a foreign object has not changed since the reference was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VirtualChecksum {
    /// Its ETag, verbatim.
    ETag(String),
    /// The time in Unix seconds after which it must not have been written; not 0, which says nothing.
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

/// A foreign object that chunks lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualSource {
    pub(super) location: VirtualLocation,
    /// How version 2 spells it, if it is of a repository of that version.
    pub(super) verbatim: Option<String>,
    pub(super) checksum: Option<VirtualChecksum>,
}

impl VirtualSource {
    /// Returns the object at a location, which is a URL, whatever becomes of it later. In repositories of version 2, locations
    /// may be spelt in other ways, which [`Repository::virtual_source`](crate::Repository::virtual_source) reads.
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

    /// Returns the object with what tells that it is still the same: reads check it.
    #[must_use]
    pub fn with_checksum(mut self, checksum: VirtualChecksum) -> Self {
        // That time says nothing, in the format.
        self.checksum = Some(checksum).filter(|it| *it != VirtualChecksum::LastModified(0));
        self
    }

    /// Returns the location, normalised; of one that names its container, where that lies now.
    pub fn location(&self) -> &VirtualLocation {
        &self.location
    }

    /// Returns what tells that it is still the same.
    pub fn checksum(&self) -> Option<&VirtualChecksum> {
        self.checksum.as_ref()
    }
}

//! The containers of a configuration, ready to be asked.

use std::borrow::Cow;
use std::sync::Arc;

use icefield_format::config::VirtualChunkContainer;
use icefield_format::{RepositoryConfig, SpecVersion, VirtualLocation, container_prefixes};

use super::{VirtualChunkError, VirtualSource, verbatim};

/// Containers by their prefixes, the longest first. One whose prefix is none contains nothing.
#[derive(Debug)]
pub struct Containers {
    all: Vec<(VirtualLocation, Arc<VirtualChunkContainer>)>,
    /// Of the repository, whose locations are read by it.
    version: SpecVersion,
}

impl Containers {
    /// Returns the containers of a configuration, for a repository of a version.
    pub fn of(config: &RepositoryConfig, version: SpecVersion) -> Self {
        let mut all = Vec::new();
        for container in config.containers() {
            let shared = Arc::new(container.clone());
            let prefixes = container_prefixes(&container.url_prefix).into_iter();
            all.extend(prefixes.map(|prefix| (prefix, Arc::clone(&shared))));
        }
        all.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.depth()));
        Self { all, version }
    }

    pub(super) fn version(&self) -> SpecVersion {
        self.version
    }

    /// Returns where a location leads.
    ///
    /// # Errors
    /// The rule that it breaks; [`VirtualChunkError::NeedsSpecVersion2`] and [`VirtualChunkError::NoContainerNamed`] of
    /// one that names its container.
    pub fn resolve(&self, location: &str) -> Result<VirtualLocation, VirtualChunkError> {
        match self.version {
            SpecVersion::V1 if verbatim::is_relative(location) => {
                Err(VirtualChunkError::NeedsSpecVersion2)
            }
            SpecVersion::V1 => {
                VirtualLocation::parse(location).map_err(VirtualChunkError::Location)
            }
            _ => verbatim::parse(location, self),
        }
    }

    /// Reads the location of a foreign object as [`Repository::virtual_source`](crate::Repository::virtual_source) does, with these
    /// containers.
    ///
    /// # Errors
    /// As that.
    pub fn source(&self, location: &str) -> Result<VirtualSource, VirtualChunkError> {
        VirtualSource::of(location, self)
    }

    /// Returns a location as files have it, with the prefix of its container in place of the name, if it has one; itself if no
    /// container has that name.
    pub(crate) fn absolute<'a>(&self, location: &'a str) -> Cow<'a, str> {
        if !verbatim::is_relative(location) {
            return location.into();
        }
        match self.resolve(location) {
            Ok(found) => verbatim::of_encoded(&found).into(),
            Err(_) => location.into(),
        }
    }

    /// Returns the container that a location lies in: of several, that with the longest prefix.
    pub fn find(&self, location: &VirtualLocation) -> Option<&Arc<VirtualChunkContainer>> {
        let mut all = self.all.iter();
        let found = all.find(|(prefix, _)| location.below(prefix).is_some());
        found.map(|(_, container)| container)
    }

    /// Returns the container of a name.
    pub(super) fn named(&self, name: &str) -> Option<&VirtualChunkContainer> {
        let mut all = self.all.iter().map(|(_, container)| &**container);
        all.find(|container| container.name.as_deref() == Some(name))
    }
}

//! The containers of a configuration, ready to be asked.

use std::borrow::Cow;
use std::sync::Arc;

use icefield_format::config::VirtualChunkContainer;
use icefield_format::{
    LocationRule, RepositoryConfig, SpecVersion, VirtualLocation, container_prefixes, location_of,
};

use super::{VirtualChunkError, VirtualSource, verbatim};

/// The containers of a repository's configuration, by prefix. Among those that cover a location, the one with the
/// longest prefix applies. A container with an invalid prefix covers nothing.
#[derive(Debug)]
pub struct Containers {
    all: Vec<(VirtualLocation, Arc<VirtualChunkContainer>)>,
    /// Of the repository, whose locations are read by it.
    version: SpecVersion,
}

impl Containers {
    /// Returns the containers of a configuration, for a repository of a version of the format.
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

    /// Returns the URL that a location leads to.
    ///
    /// # Errors
    /// The rule that the location breaks; [`VirtualChunkError::NeedsSpecVersion2`] and
    /// [`VirtualChunkError::NoContainerNamed`] for a location that names its container.
    pub fn resolve(&self, location: &str) -> Result<VirtualLocation, VirtualChunkError> {
        match self.version {
            SpecVersion::V1 if verbatim::is_relative(location) => {
                Err(VirtualChunkError::NeedsSpecVersion2)
            }
            SpecVersion::V1 => {
                VirtualLocation::parse(location).map_err(VirtualChunkError::Location)
            }
            _ => self.resolve_verbatim(location),
        }
    }

    /// Returns where a location of version 2 leads.
    fn resolve_verbatim(&self, location: &str) -> Result<VirtualLocation, VirtualChunkError> {
        let Some(rest) = verbatim::in_container(location) else {
            return verbatim::absolute(location).map_err(VirtualChunkError::Location);
        };
        let (name, rest) = rest
            .split_once('/')
            .ok_or(VirtualChunkError::Location(LocationRule::NoPath))?;
        let container = self.named(name);
        let container = container.ok_or_else(|| VirtualChunkError::NoContainerNamed {
            name: name.to_owned(),
        })?;
        let prefix = container_prefixes(&container.url_prefix).into_iter().next();
        let prefix = prefix.ok_or(VirtualChunkError::NoContainer)?;
        let key = match prefix.path() {
            "" => rest.to_owned(),
            _ => format!("{}/{rest}", prefix.decoded_path().trim_end_matches('/')),
        };
        location_of(prefix.scheme(), prefix.host(), &key).map_err(VirtualChunkError::Location)
    }

    /// Reads the location of a foreign object as [`Repository::virtual_source`](crate::Repository::virtual_source) does, with these
    /// containers.
    ///
    /// # Errors
    /// As that.
    pub fn source(&self, location: &str) -> Result<VirtualSource, VirtualChunkError> {
        if self.version == SpecVersion::V1 {
            self.resolve(location)?;
            return VirtualSource::new(location).map_err(VirtualChunkError::Location);
        }
        let text = verbatim::stored(location);
        let location = self.resolve(&text)?;
        let verbatim = match location.service() {
            "file" if !verbatim::is_relative(&text) => location.to_string(),
            _ => text,
        };
        Ok(VirtualSource {
            location,
            verbatim: Some(verbatim),
            checksum: None,
        })
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

    /// Returns the container that covers a location: of several, the one with the longest prefix.
    pub fn find(&self, location: &VirtualLocation) -> Option<&Arc<VirtualChunkContainer>> {
        let mut all = self.all.iter();
        let found = all.find(|(prefix, _)| location.below(prefix).is_some());
        found.map(|(_, container)| container)
    }

    /// Returns the container of a name.
    fn named(&self, name: &str) -> Option<&VirtualChunkContainer> {
        let mut all = self.all.iter().map(|(_, container)| &**container);
        all.find(|container| container.name.as_deref() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use icefield_format::config::VirtualStore;

    use super::*;

    fn containers() -> Containers {
        let container = |name: &str, url_prefix: &str| VirtualChunkContainer {
            name: Some(name.to_owned()),
            url_prefix: url_prefix.to_owned(),
            store: VirtualStore::InMemory,
            unknown: Default::default(),
        };
        let all = [
            container("archive", "s3://bucket/a b/"),
            container("whole", "gs://other/"),
            container("disk", "file:///data/"),
        ];
        let config = RepositoryConfig {
            virtual_chunk_containers: Some(all.into_iter().collect()),
            ..RepositoryConfig::default()
        };
        Containers::of(&config, SpecVersion::V2)
    }

    #[test]
    fn locations_are_keys_as_they_are() {
        let containers = containers();
        for (text, key) in [
            ("s3://bucket/x/a b.nc", "x/a b.nc"),
            ("S3://bucket/100%.nc", "100%.nc"),
            ("s3://bucket/a%20b?c#d", "a%20b?c#d"),
            ("vcc://archive/é.nc", "a b/é.nc"),
            ("vcc://whole/x/y", "x/y"),
            ("vcc://disk/a b", "data/a b"),
            ("file:///data/a%20b", "data/a b"),
        ] {
            let location = containers.resolve(text).expect(text);
            assert_eq!(location.decoded_path(), key, "{text}");
        }
    }

    #[test]
    fn what_leads_elsewhere_or_nowhere_is_refused() {
        let containers = containers();
        for text in [
            "s3://bucket",
            "s3:///key",
            "s3://bucket/a/../b",
            "s3://bucket/a//b",
            "vcc://archive",
            "vcc://archive/../x",
            "vcc://unknown/x",
            "nonsense",
            "ftp://a/b",
        ] {
            assert!(containers.resolve(text).is_err(), "{text}");
        }
    }
}

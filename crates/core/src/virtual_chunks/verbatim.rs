//! Locations as repositories of version 2 have them: keys of objects as they are, with nothing encoded, and places in a
//! container by its name.
//!
//! ```text
//! s3://archive/a b.nc       the object `a b.nc` (in version 1: a%20b.nc)
//! vcc://archive/a b.nc      the same, of the container whose name is `archive`, wherever that lies
//! file:///data/a%20b.nc     a URL, as in version 1
//! ```

use icefield_format::{
    ChunkRef, LocationRule, SpecVersion, VirtualLocation, container_prefixes, location_of,
};

use super::{Containers, VirtualChunkError};

/// What locations begin with that name their container.
const RELATIVE: &str = "vcc://";

/// Whether a location names its container.
pub(super) fn is_relative(location: &str) -> bool {
    let scheme = location.get(..RELATIVE.len());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(RELATIVE))
}

/// Reads a location of version 2.
///
/// # Errors
/// The rule that it breaks; [`VirtualChunkError::NoContainerNamed`].
pub(super) fn parse(
    location: &str,
    containers: &Containers,
) -> Result<VirtualLocation, VirtualChunkError> {
    if !is_relative(location) {
        return absolute(location).map_err(VirtualChunkError::Location);
    }
    let (name, rest) = location[RELATIVE.len()..]
        .split_once('/')
        .ok_or(VirtualChunkError::Location(LocationRule::NoPath))?;
    let container = containers.named(name);
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

fn absolute(location: &str) -> Result<VirtualLocation, LocationRule> {
    let (scheme, rest) = location
        .split_once("://")
        .ok_or(LocationRule::NotAbsolute)?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" {
        return VirtualLocation::parse(location);
    }
    let (host, key) = rest.split_once('/').ok_or(LocationRule::NoPath)?;
    location_of(&scheme, host, key)
}

/// Returns a location of version 2 as it is stored: the scheme in lower case, and no empty segments behind the name of a
/// container.
pub(super) fn stored(location: &str) -> String {
    let Some((scheme, rest)) = location.split_once("://") else {
        return location.to_owned();
    };
    let scheme = scheme.to_ascii_lowercase();
    match is_relative(location) {
        true => {
            let kept: Vec<_> = rest.split('/').filter(|it| !it.is_empty()).collect();
            format!("{scheme}://{}", kept.join("/"))
        }
        false => format!("{scheme}://{rest}"),
    }
}

/// Returns how version 2 has a location of version 1.
pub(super) fn of_encoded(location: &VirtualLocation) -> String {
    match location.service() {
        "file" => location.to_string(),
        _ => {
            let (scheme, host) = (location.scheme(), location.host());
            format!("{scheme}://{host}/{}", location.decoded_path())
        }
    }
}

/// Returns a reference of a manifest of one version as a repository of another version has it: one that was upgraded has
/// manifests of version 1, whose locations are encoded.
pub(crate) fn carried<'a>(
    chunk: ChunkRef<'a>,
    from: SpecVersion,
    to: SpecVersion,
    text: &'a mut String,
) -> ChunkRef<'a> {
    match chunk {
        ChunkRef::Virtual {
            location,
            offset,
            length,
            checksum,
        } if from < to && location.contains('%') => {
            *text = match VirtualLocation::parse(location) {
                Ok(location) => of_encoded(&location),
                Err(_) => location.to_owned(),
            };
            ChunkRef::Virtual {
                location: text,
                offset,
                length,
                checksum,
            }
        }
        chunk => chunk,
    }
}

#[cfg(test)]
mod tests {
    use icefield_format::RepositoryConfig;
    use icefield_format::config::{VirtualChunkContainer, VirtualStore};

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
            let location = parse(text, &containers).expect(text);
            assert_eq!(location.decoded_path(), key, "{text}");
        }
        assert_eq!(stored("S3://b/%"), "s3://b/%");
        assert_eq!(stored("vcc://a//b///c"), "vcc://a/b/c");
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
            assert!(parse(text, &containers).is_err(), "{text}");
        }
    }

    #[test]
    fn locations_of_manifests_of_version_1_are_decoded() {
        let chunk = |location| ChunkRef::Virtual {
            location,
            offset: 0,
            length: 1,
            checksum: None,
        };
        let (one, two) = (SpecVersion::V1, SpecVersion::V2);
        for (from, to, stored, is) in [
            (one, two, "s3://b/a%20b", "s3://b/a b"),
            (one, one, "s3://b/a%20b", "s3://b/a%20b"),
            (two, two, "s3://b/a%20b", "s3://b/a%20b"),
            (one, two, "file:///a%20b", "file:///a%20b"),
        ] {
            let mut text = String::new();
            assert_eq!(carried(chunk(stored), from, to, &mut text), chunk(is));
        }
    }
}

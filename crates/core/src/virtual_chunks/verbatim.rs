//! Locations as repositories of version 2 have them: keys of objects as they are, with nothing encoded, and places in a
//! container by its name.
//!
//! ```text
//! s3://archive/a b.nc       the object `a b.nc` (in version 1: a%20b.nc)
//! vcc://archive/a b.nc      the same, of the container whose name is `archive`, wherever that lies
//! file:///data/a%20b.nc     a URL, as in version 1
//! ```

use icefield_format::{ChunkRef, LocationRule, SpecVersion, VirtualLocation, location_of};

/// The start of locations that name their container.
const RELATIVE: &str = "vcc://";

/// Returns the name of a container and the rest of a location that begins with it; `None` for other locations.
pub(super) fn in_container(location: &str) -> Option<&str> {
    let (scheme, rest) = location.split_at_checked(RELATIVE.len())?;
    scheme.eq_ignore_ascii_case(RELATIVE).then_some(rest)
}

/// Whether a location names its container.
pub(super) fn is_relative(location: &str) -> bool {
    in_container(location).is_some()
}

/// Reads a location that does not name its container.
pub(super) fn absolute(location: &str) -> Result<VirtualLocation, LocationRule> {
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
    use super::*;

    #[test]
    fn locations_are_stored_in_one_spelling() {
        assert_eq!(stored("S3://b/%"), "s3://b/%");
        assert_eq!(stored("vcc://a//b///c"), "vcc://a/b/c");
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

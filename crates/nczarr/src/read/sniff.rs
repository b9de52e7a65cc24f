//! Which generation a tree is of, and what its writer was.

use super::tree::{Documents, ReadOptions};
use crate::Generation;
use crate::generation::PROPERTIES;

/// The first version that stores big-endian numbers as their `dtype` says.
const CORRECT: (u64, u64, u64) = (4, 9, 3);

/// Returns the generation, by the root's documents; of more marks than one, the newest counts, except that objects of
/// their own are the first generation's alone.
pub(super) fn generation(documents: &Documents) -> Generation {
    let has = |key: &str, member: &str| {
        let document = documents.get(key);
        document.is_some_and(|document| document.get(member).is_some())
    };
    if documents.contains_key(".nczarr") {
        return Generation::G0;
    }
    let marks = [
        (".zattrs", Generation::G3),
        (".zgroup", Generation::G2),
        (".zgroup", Generation::G1),
    ];
    let marked = marks
        .iter()
        .find(|(key, generation)| has(key, generation.names().superblock));
    marked.map_or(Generation::Pure, |(_, generation)| *generation)
}

/// Returns whether the writer may have stored little-endian numbers where it says big-endian.
pub(super) fn may_swap(documents: &Documents, options: ReadOptions) -> bool {
    let properties = documents
        .get(".zattrs")
        .and_then(|document| document.get(PROPERTIES)?.as_str());
    match properties.map(version) {
        Some(Some(version)) => version < CORRECT,
        // It has no version. The early generations ended before that one; of others, only a caller that asks for it knows better.
        Some(None) | None => {
            let generation = generation(documents);
            let is_early = !matches!(generation, Generation::Pure | Generation::G3);
            is_early || options.has_legacy_endian
        }
    }
}

/// The version of netCDF-C in `version=2,netcdf=4.9.1,nczarr=2.0.0`; of a development version, the one it leads to.
fn version(properties: &str) -> Option<(u64, u64, u64)> {
    let mut fields = properties.split(',');
    let text = fields.find_map(|field| field.trim().strip_prefix("netcdf="))?;
    let number = |part: &str| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part.get(..digits)?.parse::<u64>().ok()
    };
    let mut parts = text.split('.');
    let major = number(parts.next()?)?;
    let minor = number(parts.next()?)?;
    Some((major, minor, parts.next().and_then(number).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(
            version("version=2,netcdf=4.10.1,nczarr=2.0.0"),
            Some((4, 10, 1))
        );
        assert_eq!(
            version("version=2,netcdf=4.9.4-development"),
            Some((4, 9, 4))
        );
        assert_eq!(version("version=2,hdf5=1.14"), None);
        assert!(version("netcdf=4.9.1").is_some_and(|it| it < CORRECT));
        assert!(version("netcdf=4.10.0").is_some_and(|it| it > CORRECT));
    }
}

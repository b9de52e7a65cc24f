//! Names, attributes and codecs of the arrays of a GRIB file.

use serde_json::{Map, Value, json};

/// The level at which fields are compressed.
pub(super) const LEVEL: i32 = 3;
/// The name of what describes a projection.
pub(super) const MAPPING: &str = "crs";

pub(super) fn attributes<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub(super) fn little_endian() -> Value {
    json!({ "name": "bytes", "configuration": { "endian": "little" } })
}

pub(super) fn zstd_codec() -> Value {
    json!({ "name": "zstd", "configuration": { "level": LEVEL, "checksum": false } })
}

/// A name of the grid with this position: each but the first one has names of its own.
pub(super) fn of_grid(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        number => format!("{name}_{}", number + 1),
    }
}

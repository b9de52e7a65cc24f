//! Which reader of format 2 an array is written for, and how codecs and types of format 3 are read.

use serde_json::{Map, Value};

/// The reader that arrays are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Any reader of format 2.
    Any,
    /// netCDF-C: of the filters those that it brings along, of the types those of netCDF.
    NetCdf,
}

/// Returns a field of the configuration of a codec or a type.
pub(super) fn configured<'a>(extension: &'a Value, field: &str) -> Option<&'a Value> {
    extension.get("configuration")?.get(field)
}

/// Returns the name of a codec or a type, which may stand alone.
pub(super) fn name_of(extension: &Value) -> &str {
    let name = extension
        .as_str()
        .or_else(|| extension.get("name")?.as_str());
    name.unwrap_or_default()
}

/// Returns the configuration of a codec, to change it.
pub(super) fn configuration(extension: &Value) -> Map<String, Value> {
    let found = extension.get("configuration").and_then(Value::as_object);
    found.cloned().unwrap_or_default()
}

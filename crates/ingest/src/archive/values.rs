//! Values of attributes and fill values, in the JSON that readers of Zarr v3 expect.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use icefield_core::NodePath;
use serde_json::Value;

/// Attributes of HDF5 and netCDF that only link scales and arrays to each other, or say which program wrote the file.
#[cfg(any(feature = "dmrpp", feature = "hdf5"))]
pub(crate) const BOOKKEEPING: [&str; 6] = [
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_NCProperties",
    "_nc3_strict",
];

/// Returns a number; the three that JSON lacks as the texts that Zarr v3 has for them.
pub(crate) fn number(value: f64) -> Value {
    match serde_json::Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None => not_finite(value).into(),
    }
}

/// Reads a whole number of so many bits, up to 64, which may be written with a fraction of zero; `None` if it is none of them.
#[cfg(any(feature = "dmrpp", feature = "geotiff"))]
pub(crate) fn whole_number(text: &str, is_signed: bool, bits: u32) -> Option<Value> {
    // Beyond this a float has no whole numbers of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let text = text.trim();
    let whole = match text.parse::<i128>() {
        Ok(whole) => whole,
        Err(_) => {
            let float = text.parse::<f64>().ok()?;
            (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i128)?
        }
    };
    let range = match is_signed {
        true => -(1_i128 << (bits - 1))..1_i128 << (bits - 1),
        false => 0..1_i128 << bits,
    };
    match (range.contains(&whole), i64::try_from(whole)) {
        (false, _) => None,
        (true, Ok(whole)) => Some(whole.into()),
        (true, Err(_)) => u64::try_from(whole).ok().map(Value::from),
    }
}

/// Returns what Zarr v3 calls a number that is not finite.
pub(crate) fn not_finite(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

/// Returns bytes as text.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the bytes that a text stands for; `None` if it is no base64.
pub(crate) fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Returns the attribute `_FillValue` of an array of floating-point numbers: xarray takes it from a Zarr v3
/// document as base64 of a little-endian `float64`, of every width of array.
pub(crate) fn float_fill_attribute(value: f64) -> Value {
    base64_text(&value.to_le_bytes()).into()
}

/// Returns the text of an element of UTF-32, little-endian, in UTF-8.
#[cfg(feature = "codecs")]
pub(crate) fn text_of_utf32(element: &[u8]) -> Result<String, String> {
    let (units, _) = element.as_chunks::<4>();
    let characters = units
        .iter()
        .map(|unit| char::from_u32(u32::from_le_bytes(*unit)));
    let text: Option<String> = characters.collect();
    let text = text.ok_or("a text in it is no Unicode")?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Returns a text of a file that may not be UTF-8: then it is Latin-1, which every byte is. The NULs that C programs
/// leave at the end are no part of it.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    let bytes = end.and_then(|end| bytes.get(..=end)).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Returns one value as it is, and several as a list.
pub(crate) fn one_or_list(mut values: Vec<Value>) -> Value {
    match values.len() {
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

/// Returns the path of a node below another, whose name is one segment.
pub(crate) fn child(
    parent: &NodePath,
    name: &str,
) -> Result<NodePath, Box<dyn std::error::Error + Send + Sync>> {
    if name.contains('/') {
        return Err("it has a slash, which stands between names".into());
    }
    Ok(parent.join(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_texts() {
        assert_eq!(number(0.5), serde_json::json!(0.5));
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(f64::INFINITY), "Infinity");
        assert_eq!(number(f64::NEG_INFINITY), "-Infinity");
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_latin_1() {
        assert_eq!(text("5 °C\0\0".as_bytes()), "5 °C");
        assert_eq!(text(b"5 \xb0C"), "5 °C");
        assert_eq!(text(b"\0"), "");
    }

    #[test]
    fn a_fill_value_is_base64_of_eight_bytes() {
        assert_eq!(float_fill_attribute(f64::NAN), "AAAAAAAA+H8=");
        assert_eq!(
            base64_bytes("AAAAAAAA+H8=").map(|bytes| bytes.len()),
            Some(8)
        );
        assert_eq!(base64_bytes("?"), None);
    }
}

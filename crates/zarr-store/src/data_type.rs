//! The length of an element: all that the engine must know of data types.

use serde_json::Value;

/// Returns the number of bytes of an element of a `data_type`, as `zarr.json` has it; `None` if elements differ in
/// length.
pub fn element_bytes(data_type: &Value) -> Option<usize> {
    if let Some(name) = data_type.as_str() {
        return Some(match name {
            "bool" | "int8" | "uint8" => 1,
            "int16" | "uint16" | "float16" => 2,
            "int32" | "uint32" | "float32" => 4,
            "int64" | "uint64" | "float64" | "complex64" => 8,
            "complex128" => 16,
            _ => return None,
        });
    }
    if let Some("numpy.datetime64" | "numpy.timedelta64") = data_type.get("name")?.as_str() {
        return Some(8);
    }
    let configuration = data_type.get("configuration")?;
    if data_type.get("name")? == "structured" {
        let fields = configuration.get("fields")?.as_array()?.iter();
        return fields
            .map(|field| element_bytes(field.get(1)?))
            .try_fold(0_usize, |all, one| all.checked_add(one?));
    }
    let length = configuration.get("length_bytes")?;
    usize::try_from(length.as_u64()?).ok()
}

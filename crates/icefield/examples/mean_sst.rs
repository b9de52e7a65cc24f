//! The mean of an array of measurements at one version of a repository, read through the crate `zarrs`:
//! `cargo run --example mean_sst --features zarrs -- LOCATION REF [ARRAY]`, array `tos` unless given.
//!
//! Values that stand for "missing" are left out as xarray leaves them out: NaN, and those that the attributes
//! `_FillValue` and `missing_value` name.

use std::error::Error;
use std::sync::Arc;

use icefield::{RevisionSpec, ZarrStore};
use serde_json::Value;
use zarrs::array::Array;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (location, reference, name) = match args.as_slice() {
        [location, reference] => (location, reference, "tos"),
        [location, reference, name] => (location, reference, name.as_str()),
        _ => return Err("usage: mean_sst LOCATION REF [ARRAY]".into()),
    };
    let runtime = icefield::runtime()?;
    let session = runtime.block_on(async {
        let repository = icefield::open(location).await?;
        let snapshot = RevisionSpec::parse(reference)?.resolve(&repository).await?;
        Ok::<_, icefield::Error>(repository.read_session(snapshot).await?)
    })?;

    // From here on nothing is asynchronous: zarrs reads through the store, the store through the runtime.
    let store = Arc::new(ZarrStore::new(session).with_runtime(runtime));
    let array = Array::open(store, &format!("/{name}"))?;
    let missing = ["_FillValue", "missing_value"]
        .iter()
        .filter_map(|attribute| number(array.attributes().get(*attribute)?))
        .collect();
    let statistics = Statistics::of(&array, missing)?;
    println!(
        "{name} at {reference}: mean {} over {} values, shape {:?}",
        statistics.sum / statistics.count as f64,
        statistics.count,
        array.shape()
    );
    Ok(())
}

struct Statistics {
    sum: f64,
    count: u64,
}

impl Statistics {
    /// Reads one index of the first dimension at a time, so that memory does not grow with the history.
    fn of(array: &Array<ZarrStore>, missing: Vec<f64>) -> Result<Self> {
        let single = array.data_type().to_string().contains("float32");
        let mut statistics = Self { sum: 0.0, count: 0 };
        let shape = array.shape();
        for first in 0..shape.first().copied().unwrap_or(1) {
            let mut ranges: Vec<_> = shape.iter().map(|length| 0..*length).collect();
            if let Some(range) = ranges.first_mut() {
                *range = first..first + 1;
            }
            if single {
                let missing: Vec<f32> = missing.iter().map(|value| *value as f32).collect();
                for value in array.retrieve_array_subset::<Vec<f32>>(&ranges)? {
                    statistics.add(f64::from(value), missing.contains(&value));
                }
            } else {
                for value in array.retrieve_array_subset::<Vec<f64>>(&ranges)? {
                    statistics.add(value, missing.contains(&value));
                }
            }
        }
        Ok(statistics)
    }

    fn add(&mut self, value: f64, missing: bool) {
        if !missing && !value.is_nan() {
            self.sum += value;
            self.count += 1;
        }
    }
}

/// An attribute that is a number, or one as xarray writes it in Zarr v3: a float64 in base64.
fn number(attribute: &Value) -> Option<f64> {
    match attribute {
        Value::String(text) => decode_base64(text)?.try_into().ok().map(f64::from_le_bytes),
        other => other.as_f64(),
    }
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in text.trim_end_matches('=').bytes() {
        let value = DIGITS.iter().position(|other| *other == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    Some(bytes)
}

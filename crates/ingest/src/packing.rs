//! Numbers as arrays store them, by the attributes of the CF conventions: packed by `scale_factor` and `add_offset`, with
//! values that say "missing".
//!
//! ```text
//! a.nc   int16, scale_factor 0.5, _FillValue -1      stores 543    reads 271.5
//! b.nc   float32                                     stores 271.5  becomes 543: exact
//!                                                    stores 271.3  refused, or 543 within a tolerance of 0.2
//! ```
//!
//! Two stored numbers are equal if readers compute the same number of them, as xarray does: in double precision.

use serde_json::Value;

use crate::codec::{Codec, fixed};
use crate::numbers::{Number, NumberDecoder, NumberType};

/// Attributes that say how numbers are stored.
pub(crate) const ATTRIBUTES: [&str; 5] = [
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "_Unsigned",
];

/// The reason why a number cannot be stored in the encoding of another array.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// Nothing is divided by it.
    #[error("its attribute {attribute} is {value}, by which numbers cannot be packed")]
    Scale {
        /// The attribute.
        attribute: &'static str,
        /// Its value.
        value: f64,
    },
    /// The nearest number that can be stored is too far off.
    #[error("it holds {value}, and the nearest that {stored} can hold is {nearest}")]
    Inexact {
        /// The number in the source.
        value: String,
        /// The storage of numbers at the destination, such as `int16 with scale_factor 0.5`.
        stored: String,
        /// The number that would be read.
        nearest: String,
    },
    /// The type ends before it.
    #[error("it holds {value}, which is beyond what {stored} can hold")]
    Beyond {
        /// The number in the source.
        value: String,
        /// The storage of numbers at the destination, such as `int16 with scale_factor 0.5`.
        stored: String,
    },
    /// The stored value would read as missing.
    #[error("it holds {value}, and what {stored} would hold for it reads as missing")]
    ReadsAsMissing {
        /// The number in the source.
        value: String,
        /// The storage of numbers at the destination, such as `int16 with scale_factor 0.5`.
        stored: String,
    },
    /// There is no number in the source.
    #[error(
        "it is missing, and {stored} has no value for that, no `_FillValue` and no `missing_value`"
    )]
    NoMissingValue {
        /// The storage of numbers at the destination, such as `int16 with scale_factor 0.5`.
        stored: String,
    },
}

impl PackingError {
    /// Returns the message with the option that helps, if one does: not all arrays can be stored as decoded numbers.
    pub(crate) fn with_option(&self, may_unpack: bool) -> String {
        let option = match (self, may_unpack) {
            (Self::Scale { .. }, _) => None,
            (Self::Inexact { .. }, true) => Some(
                "accept a rounding with --repack TOLERANCE, or store decoded numbers with --unpack",
            ),
            (Self::Inexact { .. }, false) => Some("accept a rounding with --repack TOLERANCE"),
            (_, true) => Some("store decoded numbers with --unpack"),
            (_, false) => None,
        };
        match option {
            Some(option) => format!("{self}: {option}"),
            None => self.to_string(),
        }
    }
}

/// Converts stored numbers of one array to those of another.
#[derive(Clone, Debug)]
pub(crate) struct Repacking {
    from: NumberDecoder,
    to: NumberDecoder,
    /// How the other array stores numbers, for messages.
    stored: String,
    /// Numbers are stored alike, and only what is missing differs.
    is_same: bool,
    /// How far off a number may be that is read in the end.
    tolerance: f64,
}

impl Repacking {
    /// Describes what makes numbers of the array `from` those of the array `to`, by their documents.
    ///
    /// # Errors
    /// [`PackingError::Scale`].
    pub(crate) fn new(
        from: NumberDecoder,
        to: (NumberDecoder, &Value),
        tolerance: Option<f64>,
    ) -> Result<Self, PackingError> {
        let (to, document) = to;
        for one in [&from, &to] {
            let (scale, offset) = one.packing();
            let of_scale = scale.filter(|it| *it == 0.0 || !it.is_finite());
            let of_offset = offset.filter(|it| !it.is_finite());
            for (attribute, value) in [("scale_factor", of_scale), ("add_offset", of_offset)] {
                if let Some(value) = value {
                    return Err(PackingError::Scale { attribute, value });
                }
            }
        }
        Ok(Self {
            is_same: from.stored_type() == to.stored_type() && from.packing() == to.packing(),
            from,
            to,
            stored: described(document),
            tolerance: tolerance.unwrap_or(0.0),
        })
    }

    /// Makes an element of the one array one of the other. Returns how far off it is.
    ///
    /// # Errors
    /// All but [`PackingError::Scale`].
    pub(crate) fn repacked(&self, from: &[u8], into: &mut [u8]) -> Result<f64, PackingError> {
        let stored = || self.stored.clone();
        let Some(number) = self.from.number(from) else {
            let missing = self.to.missing_element();
            let missing =
                missing.ok_or_else(|| PackingError::NoMissingValue { stored: stored() })?;
            into.copy_from_slice(missing);
            return Ok(0.0);
        };
        let value = || shown(number);
        let packed = match (self.is_same, self.from.stored(from)) {
            (true, Some(same)) => same,
            _ => self.packed(number),
        };
        if !self.to.put(packed, into) {
            return Err(PackingError::Beyond {
                value: value(),
                stored: stored(),
            });
        }
        let again = self.to.number(into);
        let again = again.ok_or_else(|| PackingError::ReadsAsMissing {
            value: value(),
            stored: stored(),
        })?;
        let off = distance(number, again);
        match off <= self.tolerance {
            true => Ok(off),
            false => Err(PackingError::Inexact {
                value: value(),
                stored: stored(),
                nearest: shown(again),
            }),
        }
    }

    /// The number to store, which may be none of the type.
    fn packed(&self, number: Number) -> Number {
        match self.to.packing() {
            (None, None) => number,
            (scale, offset) => {
                let packed = (number.to_f64() - offset.unwrap_or(0.0)) / scale.unwrap_or(1.0);
                Number::Real(packed)
            }
        }
    }
}

/// How far two numbers are apart: nothing, only if they are equal.
fn distance(one: Number, other: Number) -> f64 {
    let whole = |real: f64| (real.fract() == 0.0 && real.abs() < 1e30).then_some(real as i128);
    match (one, other) {
        (Number::Integer(one), Number::Integer(other)) => one.abs_diff(other) as f64,
        (Number::Integer(integer), Number::Real(real))
        | (Number::Real(real), Number::Integer(integer)) => match whole(real) {
            Some(whole) => whole.abs_diff(integer) as f64,
            None => (real - integer as f64).abs(),
        },
        (Number::Real(one), Number::Real(other)) if one == other => 0.0,
        (Number::Real(one), Number::Real(other)) => (one - other).abs(),
    }
}

fn shown(number: Number) -> String {
    match number {
        Number::Integer(number) => number.to_string(),
        Number::Real(number) => number.to_string(),
    }
}

/// How an array stores numbers: `int16 with scale_factor 0.5`.
fn described(document: &Value) -> String {
    let data_type = &document["data_type"];
    let name = data_type.as_str().or_else(|| data_type["name"].as_str());
    let mut text = name.unwrap_or("its type").to_owned();
    let of_packing = ["scale_factor", "add_offset"];
    let of_packing = of_packing.map(|name| (name, &document["attributes"][name]));
    let mut between = "with";
    for (name, value) in of_packing.iter().filter(|(_, value)| !value.is_null()) {
        text = format!("{text} {between} {name} {value}");
        between = "and";
    }
    text
}

/// Returns the type in which the decoded numbers of all these arrays are stored, as xarray chooses it; `None` if all store
/// decoded numbers, and do so alike.
pub(crate) fn unpacked_type(all: &[&NumberDecoder]) -> Option<&'static str> {
    let is_packed = all.iter().any(|it| it.packing() != (None, None));
    if !is_packed && all.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let is_integer = |it: &&NumberDecoder| it.stored_type().0 != NumberType::Float;
    // Of floats, too, which have NaN.
    let has_missing = all.iter().any(|it| it.missing_element().is_some());
    if !is_packed && !has_missing && all.iter().all(is_integer) {
        let types: Vec<(NumberType, usize)> = all.iter().map(|it| it.stored_type()).collect();
        return integers(&types);
    }
    let is_double = all.iter().any(|one| match one.stored_type() {
        // The scale is a double in the documents.
        _ if one.packing() != (None, None) => true,
        (NumberType::Float, width) => width > 4,
        (_, width) => width > 2,
    });
    Some(if is_double { "float64" } else { "float32" })
}

/// The type of integers that has all values of some.
fn integers(types: &[(NumberType, usize)]) -> Option<&'static str> {
    let widest = |of: NumberType| types.iter().filter(|it| it.0 == of).map(|it| it.1).max();
    if widest(NumberType::Boolean).is_some() {
        return None;
    }
    let name = match (widest(NumberType::Signed), widest(NumberType::Unsigned)) {
        (Some(signed), unsigned) => match signed.max(unsigned.map_or(0, |it| it * 2)) {
            1 => "int8",
            2 => "int16",
            4 => "int32",
            8 => "int64",
            _ => "float64",
        },
        (None, Some(1)) => "uint8",
        (None, Some(2)) => "uint16",
        (None, Some(4)) => "uint32",
        (None, _) => "uint64",
    };
    Some(name)
}

/// Returns the document of an array with a fill value that reads as missing, if its own does not.
///
/// # Errors
/// Why it has none.
pub(crate) fn filled(document: &Value) -> Result<Value, String> {
    let decoder = NumberDecoder::new(document)?;
    let codec = Codec::of(document).ok();
    let element = codec.as_ref().and_then(|it| fixed(it.filled()));
    let mut document = document.clone();
    if element.is_some_and(|element| decoder.number(element).is_none()) {
        return Ok(document);
    }
    let missing = decoder.missing_fill();
    document["fill_value"] = missing.ok_or_else(|| {
        let data_type = &document["data_type"];
        format!("its elements are {data_type}, and no `_FillValue` says which of them is missing")
    })?;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(data_type: &str, attributes: Value) -> Value {
        json!({ "data_type": data_type, "attributes": attributes })
    }

    fn repacking(
        from: &Value,
        to: &Value,
        tolerance: Option<f64>,
    ) -> Result<Repacking, PackingError> {
        let decoder = |document: &Value| NumberDecoder::new(document).expect("numbers");
        Repacking::new(decoder(from), (decoder(to), to), tolerance)
    }

    /// The result of converting one number.
    fn one(
        (from, stored): (&Value, f64),
        to: &Value,
        tolerance: Option<f64>,
    ) -> Result<(f64, f64), PackingError> {
        let repacking = repacking(from, to, tolerance)?;
        let width = NumberDecoder::new(to).expect("numbers").width();
        let mut element = vec![0; repacking.from.width()];
        assert!(repacking.from.put(Number::Real(stored), &mut element));
        let mut into = vec![0; width];
        let off = repacking.repacked(&element, &mut into)?;
        let stored = repacking.to.stored(&into);
        Ok((stored.map_or(f64::NAN, Number::to_f64), off))
    }

    #[test]
    fn equal_numbers_are_stored_otherwise() {
        let halves = document("int16", json!({ "scale_factor": 0.5, "_FillValue": -1 }));
        let quarters = document(
            "int32",
            json!({ "scale_factor": 0.25, "add_offset": 100.0, "_FillValue": -9 }),
        );
        let bytes = document("int8", json!({ "missing_value": 7 }));
        let single = document("float32", json!({ "_FillValue": 1e20 }));
        let double = document("float64", json!({}));
        let unsigned = document("int8", json!({ "_Unsigned": "true", "_FillValue": -1 }));
        for (from, stored, to, expected) in [
            (&halves, 4.0, &quarters, -392.0),
            (&halves, -1.0, &quarters, -9.0),
            (&quarters, -9.0, &halves, -1.0),
            (&quarters, -390.0, &halves, 5.0),
            (&halves, 4.0, &single, 2.0),
            (&halves, -1.0, &single, f64::from(1e20_f32)),
            (&single, 3.5, &halves, 7.0),
            (&double, f64::NAN, &single, f64::from(1e20_f32)),
            (&double, f64::NAN, &halves, -1.0),
            (&double, f64::INFINITY, &single, f64::INFINITY),
            (&bytes, 7.0, &double, f64::NAN),
            (&bytes, -3.0, &double, -3.0),
            (&unsigned, 254.0, &double, 254.0),
            (&double, 254.0, &unsigned, 254.0),
        ] {
            let (found, off) = one((from, stored), to, None).expect("exact");
            assert_eq!(
                found.to_string(),
                expected.to_string(),
                "{from} {stored} {to}"
            );
            assert_eq!(off, 0.0);
        }
    }

    #[test]
    fn what_is_lost_is_refused_or_within_a_tolerance() {
        let halves = document("int16", json!({ "scale_factor": 0.5, "_FillValue": 6 }));
        let plain = document("int8", json!({}));
        let single = document("float32", json!({}));
        let double = document("float64", json!({}));
        let long = document("int64", json!({}));
        let inexact = one((&double, 1.3), &halves, None);
        assert!(
            matches!(inexact, Err(PackingError::Inexact { .. })),
            "{inexact:?}"
        );
        let inexact = inexact.expect_err("inexact");
        let said = inexact.with_option(true);
        for word in [
            "1.3",
            "1.5",
            "int16 with scale_factor 0.5",
            "--repack",
            "--unpack",
        ] {
            assert!(said.contains(word), "{word} is not said: {said}");
        }
        let said = inexact.with_option(false);
        assert!(
            said.contains("--repack") && !said.contains("--unpack"),
            "{said}"
        );
        let (found, off) = one((&double, 1.3), &halves, Some(0.25)).expect("near");
        assert_eq!(found, 3.0);
        assert!((off - 0.2).abs() < 1e-12, "{off}");
        assert!(one((&double, 1.2), &halves, Some(0.19)).is_err());
        let missing = one((&double, 3.0), &halves, Some(9.0));
        assert!(
            matches!(missing, Err(PackingError::ReadsAsMissing { .. })),
            "{missing:?}"
        );
        for value in [128.0, 1e300, f64::INFINITY] {
            let beyond = one((&double, value), &plain, Some(1e9));
            assert!(
                matches!(beyond, Err(PackingError::Beyond { .. })),
                "{beyond:?}"
            );
        }
        let none = one((&double, f64::NAN), &plain, Some(9.0));
        assert!(
            matches!(none, Err(PackingError::NoMissingValue { .. })),
            "{none:?}"
        );
        assert!(one((&double, 0.1), &single, None).is_err());
        assert!(one((&long, 9_007_199_254_740_994.0), &double, None).is_ok());
        let odd = repacking(&long, &double, None).expect("both are numbers");
        let element = 9_007_199_254_740_993_i64.to_le_bytes();
        assert!(
            odd.repacked(&element, &mut [0; 8]).is_err(),
            "2^53 + 1 is no double"
        );
        let nothing = document("int16", json!({ "scale_factor": 0.0 }));
        let refused = one((&nothing, 1.0), &double, None);
        assert!(
            matches!(refused, Err(PackingError::Scale { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn types_of_decoded_numbers_are_those_of_xarray() {
        let packed = |data_type: &str| document(data_type, json!({ "scale_factor": 0.5 }));
        let plain = |data_type: &str| document(data_type, json!({}));
        let masked =
            |data_type: &str, fill: i64| document(data_type, json!({ "_FillValue": fill }));
        for (documents, expected) in [
            (vec![packed("int16")], Some("float64")),
            (vec![packed("int16"), plain("float32")], Some("float64")),
            (vec![plain("int16"), plain("float32")], Some("float32")),
            (vec![plain("int32"), plain("float32")], Some("float64")),
            (vec![plain("float32"), plain("float64")], Some("float64")),
            (vec![plain("int8"), plain("int16")], Some("int16")),
            (vec![plain("uint8"), plain("int8")], Some("int16")),
            (vec![plain("uint64"), plain("int8")], Some("float64")),
            (
                vec![masked("int16", 1), masked("int16", 2)],
                Some("float32"),
            ),
            (vec![masked("int32", 1), plain("int32")], Some("float64")),
            (vec![masked("int16", 1), masked("int16", 1)], None),
            (
                vec![masked("float32", 1), plain("float32")],
                Some("float32"),
            ),
            (vec![plain("uint16"), plain("uint8")], Some("uint16")),
            (vec![plain("float32"), plain("float32")], None),
            (vec![plain("int8")], None),
        ] {
            let decoders = documents
                .iter()
                .map(|it| NumberDecoder::new(it).expect("numbers"));
            let decoders: Vec<_> = decoders.collect();
            let found = unpacked_type(&decoders.iter().collect::<Vec<_>>());
            assert_eq!(found, expected, "{documents:?}");
        }
    }
}

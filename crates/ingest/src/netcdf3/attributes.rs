//! Attributes, and the fill value among them.

use serde_json::Value;

use super::Attributes;
use super::header::{Attribute, Variable};
use super::types::ExternalType;
use crate::archive::values::{base64_text, float_fill_attribute, number, one_or_list, text};

const FILL_VALUE: &str = "_FillValue";

/// Returns the attributes of the file.
pub(super) fn of_group(attributes: &[Attribute]) -> Attributes {
    attributes.iter().map(pair).collect()
}

/// Returns the attributes of a variable as xarray looks for them in Zarr v3, and the `fill_value` of the document:
/// that of the attribute `_FillValue`, or what the format has for the type.
pub(super) fn of_variable(variable: &Variable) -> Result<(Attributes, Value), String> {
    let is_fill = |attribute: &&Attribute| attribute.name == FILL_VALUE;
    let others = variable.attributes.iter().filter(|one| !is_fill(one));
    let mut attributes: Attributes = others.map(pair).collect();
    let Some(fill) = variable.attributes.iter().find(is_fill) else {
        return Ok((attributes, variable.kind.default_fill()));
    };
    let (attribute, value) = fill_value(variable.kind, fill).ok_or_else(|| {
        "its attribute _FillValue is not one value of the variable's type: correct it".to_owned()
    })?;
    if let Some(attribute) = attribute {
        attributes.insert(FILL_VALUE.to_owned(), attribute);
    }
    Ok((attributes, value))
}

fn pair(attribute: &Attribute) -> (String, Value) {
    (attribute.name.clone(), value(attribute))
}

fn value(attribute: &Attribute) -> Value {
    if attribute.kind == ExternalType::Char {
        return text(&attribute.values).into();
    }
    one_or_list(numbers(attribute).collect())
}

fn numbers(attribute: &Attribute) -> impl Iterator<Item = Value> {
    // A value has 8 bytes at most.
    let values = attribute.values.chunks(attribute.kind.bytes() as usize);
    values.filter_map(|bytes| attribute.kind.value(bytes))
}

/// The attribute `_FillValue` and the `fill_value` of the document. Characters have no such attribute: xarray could
/// not open an array of them that has one.
fn fill_value(kind: ExternalType, attribute: &Attribute) -> Option<(Option<Value>, Value)> {
    if kind == ExternalType::Char {
        let is_one = attribute.kind == ExternalType::Char && attribute.values.len() <= 1;
        return is_one.then(|| (None, base64_text(&attribute.values).into()));
    }
    if attribute.values.len() as u64 != attribute.kind.bytes()
        || attribute.kind == ExternalType::Char
    {
        return None;
    }
    let value = numbers(attribute).next()?;
    let float = attribute.kind.float(&attribute.values).or(value.as_f64())?;
    if kind.is_float() {
        // Elements are compared with a number of their width.
        let float = match kind {
            ExternalType::Float => f64::from(float as f32),
            _ => float,
        };
        return Some((Some(float_fill_attribute(float)), number(float)));
    }
    let whole = match &value {
        Value::Number(number) if number.is_f64() => (float.fract() == 0.0).then_some(float as i128),
        Value::Number(number) => number.as_i128(),
        _ => None,
    };
    let whole = whole.filter(|whole| kind.holds(*whole))?;
    let value = match i64::try_from(whole) {
        Ok(whole) => whole.into(),
        Err(_) => u64::try_from(whole).ok()?.into(),
    };
    Some((Some(Value::clone(&value)), value))
}

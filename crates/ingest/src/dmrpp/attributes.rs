//! Attributes of groups and variables.

use roxmltree::Node;
use serde_json::{Map, Value};

use super::types::Number;
use super::xml::{children, named, text_of};
use crate::archive::values::{BOOKKEEPING, float_fill_attribute, one_or_list};

/// Containers within containers.
const MAX_DEPTH: usize = 32;
const FILL_VALUE: &str = "_FillValue";

/// Returns the attributes of a group, or of a variable but for its `_FillValue`.
///
/// # Errors
/// The attribute that cannot be read, and why.
pub(super) fn read(node: Node<'_, '_>) -> Result<Map<String, Value>, String> {
    let mut all = below(node, 0)?;
    all.shift_remove(FILL_VALUE);
    let is_scale = all
        .get("CLASS")
        .is_some_and(|class| class == "DIMENSION_SCALE");
    all.retain(|name, _| {
        let of_scale = is_scale && matches!(name.as_str(), "CLASS" | "NAME");
        !of_scale && !BOOKKEEPING.contains(&name.as_str())
    });
    Ok(all)
}

/// Returns the attribute `_FillValue` of an array of numbers, as xarray expects it in Zarr; `Err` if it has one that is no number
/// of its type.
pub(super) fn fill_value(node: Node<'_, '_>, number: Number) -> Result<Option<Value>, String> {
    let found = attributes(node).find(|it| named(*it) == Some(FILL_VALUE));
    let Some(first) = found.and_then(|it| values(it).into_iter().next()) else {
        return Ok(None);
    };
    let value = match number {
        Number::Float(_) => number.float(&first).map(float_fill_attribute),
        _ => number.value(&first),
    };
    let problem = || format!("its attribute _FillValue is {first:?}, no value of its type");
    value.map(Some).ok_or_else(problem)
}

fn attributes<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    children(node).filter(|it| it.tag_name().name() == "Attribute")
}

fn below(node: Node<'_, '_>, depth: usize) -> Result<Map<String, Value>, String> {
    if depth > MAX_DEPTH {
        return Err("its attributes lie too deep in each other".to_owned());
    }
    let mut all = Map::new();
    for attribute in attributes(node) {
        let name = named(attribute).ok_or("an attribute of it has no name")?;
        let kind = attribute.attribute("type").unwrap_or("String");
        let value = match kind {
            "Container" => Value::Object(below(attribute, depth + 1)?),
            "OtherXML" => continue,
            _ => listed(attribute, name, kind)?,
        };
        all.insert(name.to_owned(), value);
    }
    Ok(all)
}

/// Returns the values of an attribute: one as it is, several as a list.
fn listed(attribute: Node<'_, '_>, name: &str, kind: &str) -> Result<Value, String> {
    let texts = values(attribute);
    let Some(number) = Number::of(kind) else {
        return Ok(one_or_list(texts.into_iter().map(Value::from).collect()));
    };
    let read = |text: String| {
        let problem = || format!("its attribute {name} has the value {text:?}, no {kind}");
        number.value(&text).ok_or_else(problem)
    };
    let values = texts.into_iter().map(read);
    Ok(one_or_list(values.collect::<Result<_, _>>()?))
}

fn values(attribute: Node<'_, '_>) -> Vec<String> {
    let values = children(attribute).filter(|it| it.tag_name().name() == "Value");
    let said = |it: Node<'_, '_>| match it.attribute("value") {
        Some(value) => value.to_owned(),
        None => text_of(it),
    };
    values.map(said).collect()
}

//! Values of the API, and the parameters that ask for them.

use icefield::NodePath;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::observation::cut;
use crate::target::Target;

/// The largest number that JavaScript has no neighbour for.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A number; as text, if a browser cannot hold it.
pub(crate) fn int(number: u64) -> Value {
    match number <= MAX_SAFE {
        true => number.into(),
        false => number.to_string().into(),
    }
}

/// Numbers.
pub(crate) fn ints(numbers: &[u64]) -> Value {
    numbers.iter().map(|number| int(*number)).collect()
}

/// Sets a text, cut at a bound; then its true length stands beside it.
pub(crate) fn set_text(object: &mut Map<String, Value>, name: &str, text: &str, bound: usize) {
    object.insert(name.to_owned(), cut(text, bound).into());
    if text.len() > bound {
        object.insert(format!("{name}_bytes"), int(text.len() as u64));
    }
}

/// Reads a parameter that is a number up to `most`.
pub(crate) fn number(target: &Target, name: &str, default: u64, most: u64) -> Result<u64, Failure> {
    let Some(text) = target.parameter(name) else {
        return Ok(default.min(most));
    };
    let number: u64 = text
        .parse()
        .map_err(|_| Failure::bad_request(format!("the parameter {name} is no number")))?;
    Ok(number.min(most))
}

/// Reads a parameter that has to be there.
pub(crate) fn required<'a>(target: &'a Target, name: &str) -> Result<&'a str, Failure> {
    let missing = || Failure::bad_request(format!("the parameter {name} is missing"));
    target.parameter(name).ok_or_else(missing)
}

/// Reads the path of a node.
pub(crate) fn path(text: &str) -> Result<NodePath, Failure> {
    NodePath::parse(text).map_err(|error| Failure::bad_request(error.to_string()))
}

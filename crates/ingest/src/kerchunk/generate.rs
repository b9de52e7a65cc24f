//! References that a rule stands for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::expression::Term;
use super::references::Reference;
use super::template::Templates;
use crate::SourceError;

/// References that all rules of a file may stand for: a few bytes could ask for more than any machine has room for.
pub(super) const MOST: u64 = 1 << 24;

/// Makes all references of a rule: `key` and `url`, perhaps `offset` and `length`, for every combination of the
/// `dimensions`. `left` are those that rules may still stand for.
pub(super) fn for_each(
    rule: &Value,
    templates: &Templates,
    file: &str,
    left: &mut u64,
    mut look: impl FnMut(String, Reference<'static>) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    let refuse =
        |problem: &str| SourceError::damaged(file, format!("a rule in its \"gen\" {problem}"));
    let part = |name: &str| rule.get(name).and_then(Value::as_str);
    let (Some(key), Some(url)) = (part("key"), part("url")) else {
        return Err(refuse("lacks a key or a url"));
    };
    let has = |name: &str| rule.get(name).is_some();
    let range = match (part("offset"), part("length")) {
        (Some(offset), Some(length)) => Some((offset, length)),
        _ if has("offset") || has("length") => {
            return Err(refuse("has an offset and a length that are not two texts"));
        }
        _ => None,
    };
    let dimensions = rule.get("dimensions").and_then(Value::as_object);
    let dimensions = dimensions.ok_or_else(|| refuse("lacks dimensions"))?;
    let mut axes = Vec::new();
    let mut all: u64 = 1;
    for (name, values) in dimensions {
        let axis = Axis::of(values)
            .ok_or_else(|| refuse("has a dimension that is neither a list nor a range"))?;
        all = all.saturating_mul(axis.length());
        axes.push((name, axis));
    }
    *left = left.checked_sub(all).ok_or_else(|| {
        refuse(&format!(
            "stands for {all} references, and at most {MOST} are made of a file's rules"
        ))
    })?;
    let whole = |text: &str, variables: &BTreeMap<String, Term>| {
        let text = templates.render(text, variables)?;
        text.trim()
            .parse::<u64>()
            .map_err(|_| refuse(&format!("makes the offset or length {text:?}")))
    };
    for number in 0..all {
        let mut variables = BTreeMap::new();
        let mut left = number;
        for (name, axis) in axes.iter().rev() {
            // No axis is empty, or there would be no references.
            let at = left.checked_rem(axis.length()).unwrap_or(0);
            left = left.checked_div(axis.length()).unwrap_or(0);
            variables.insert((*name).clone(), axis.value(at));
        }
        let range = match range {
            None => None,
            Some((offset, length)) => {
                Some((whole(offset, &variables)?, whole(length, &variables)?))
            }
        };
        let url = templates.render(url, &variables)?.into();
        look(
            templates.render(key, &variables)?,
            Reference::InFile { url, range },
        )?;
    }
    Ok(())
}

/// The values of a dimension.
enum Axis {
    List(Vec<Term>),
    Range { start: i64, step: i64, length: u64 },
}

impl Axis {
    fn of(values: &Value) -> Option<Self> {
        let term = |value: &Value| match value {
            Value::String(text) => Some(Term::Text(text.clone())),
            value => value.as_i64().map(Term::Number),
        };
        if let Value::Array(list) = values {
            return list.iter().map(term).collect::<Option<_>>().map(Self::List);
        }
        let number = |field: &str, default: Option<i64>| match values.get(field) {
            None => default,
            Some(value) => value.as_i64(),
        };
        let (start, stop) = (number("start", Some(0))?, number("stop", None)?);
        let step = number("step", Some(1)).filter(|step| *step != 0)?;
        let way = i128::from(stop) - i128::from(start);
        let is_empty = (way > 0) != (step > 0);
        let length = match is_empty {
            true => 0,
            false => u64::try_from(way.unsigned_abs().div_ceil(step.unsigned_abs().into())).ok()?,
        };
        Some(Self::Range {
            start,
            step,
            length,
        })
    }

    fn length(&self) -> u64 {
        match self {
            Self::List(list) => list.len() as u64,
            Self::Range { length, .. } => *length,
        }
    }

    /// The value at a place below the length.
    fn value(&self, at: u64) -> Term {
        match self {
            Self::List(list) => {
                let found = usize::try_from(at).ok().and_then(|at| list.get(at));
                found.cloned().unwrap_or(Term::Number(0))
            }
            Self::Range { start, step, .. } => {
                // Between start and stop, so that nothing is cut off.
                let way = i128::from(at).saturating_mul((*step).into());
                let value = i128::from(*start).saturating_add(way);
                Term::Number(i64::try_from(value).unwrap_or(i64::MAX))
            }
        }
    }
}

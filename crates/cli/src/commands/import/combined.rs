//! Differences between the sources of an import, and their treatment.

use std::collections::BTreeMap;
use std::io::{self, Write};

use icefield::ingest::{self, DifferingAttribute};
use serde::Serialize;

use crate::output::count;
use crate::output::escape::printable;

/// The number of names that are printed per array.
const NAMES: usize = 3;

/// An array that a source does not have.
#[derive(Serialize)]
pub(super) struct MissingArray {
    path: String,
    source: String,
    /// Whether missing elements were filled; otherwise the array does not have the dimension.
    filled: bool,
}

impl MissingArray {
    pub(super) fn new(one: &ingest::Lacking) -> Self {
        Self {
            path: one.path.to_string(),
            source: one.source.clone(),
            filled: one.is_filled,
        }
    }
}

/// An attribute with another value in a source.
#[derive(Serialize)]
pub(super) struct AttributeFacts {
    path: String,
    name: String,
    source: String,
    /// Whether the first value is kept; otherwise the attribute is left out.
    kept: bool,
}

impl AttributeFacts {
    pub(super) fn new(one: &DifferingAttribute) -> Self {
        Self {
            path: one.path.to_string(),
            name: one.name.clone(),
            source: one.source.clone(),
            kept: one.is_kept,
        }
    }
}

/// An array with rounded numbers.
#[derive(Serialize)]
pub(super) struct RoundedArray {
    path: String,
    largest_error: f64,
}

impl RoundedArray {
    pub(super) fn new(one: &ingest::Rounded) -> Self {
        Self {
            path: one.path.to_string(),
            largest_error: one.largest_error,
        }
    }
}

pub(super) fn rounded(arrays: &[RoundedArray], out: &mut dyn Write) -> io::Result<()> {
    for one in arrays {
        let (path, error) = (printable(&one.path), one.largest_error);
        writeln!(out, "rounded numbers of {path}, by {error:e} at most")?;
    }
    Ok(())
}

pub(super) fn print(
    lacking: &[MissingArray],
    attributes: &[AttributeFacts],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut by_array: BTreeMap<(&str, bool), Vec<&str>> = BTreeMap::new();
    for one in lacking {
        let sources = by_array.entry((&one.path, one.filled)).or_default();
        sources.push(&one.source);
    }
    for ((path, filled), sources) in by_array {
        let mut names: Vec<_> = sources.iter().take(NAMES).map(|it| printable(it)).collect();
        if sources.len() > NAMES {
            let more = (sources.len() - NAMES) as u64;
            names.push(count(more, "more source", "more sources").into());
        }
        let what = if filled {
            "filled"
        } else {
            "nothing to fill in"
        };
        writeln!(
            out,
            "{what} {}, which is not in {}",
            printable(path),
            names.join(", ")
        )?;
    }
    for one in attributes {
        let what = if one.kept { "kept" } else { "left out" };
        let (name, path) = (printable(&one.name), printable(&one.path));
        writeln!(
            out,
            "{what} the attribute {name} of {path}; {} has another value",
            printable(&one.source)
        )?;
    }
    Ok(())
}

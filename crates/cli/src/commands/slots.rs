//! `icefield slots`

use std::collections::BTreeMap;
use std::io::{self, Write};

use icefield::rolling::{Window, unwritten};
use serde::Serialize;

use super::Context;
use crate::args::Slots;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct SlotsFacts {
    location: String,
    dimension: String,
    /// The absolute indices of the examined elements.
    first: i64,
    end: i64,
    missing: u64,
    arrays: Vec<ArraySlots>,
}

#[derive(Serialize)]
struct ArraySlots {
    path: String,
    expected: u64,
    written: u64,
    missing: u64,
    /// The first few chunks that are not written.
    examples: Vec<Vec<u32>>,
    /// Counts per slab.
    missing_in: BTreeMap<u32, u64>,
}

pub(super) async fn run(context: &Context, args: Slots) -> Result<(), Failure> {
    let (repository, id) = context.open_at(&args.location, args.revision()).await?;
    let session = repository.read_session(id).await?;
    let window = Window::of(&session, &args.group, &args.dimension)?;
    let first = args.start.unwrap_or(window.first());
    let end = args.end.unwrap_or(window.end());
    let slots = unwritten(&session, &args.group, &args.dimension, Some(first..end)).await?;
    let missing = slots.missing();
    let arrays = slots.arrays.into_iter().map(|array| ArraySlots {
        path: array.path.to_string(),
        expected: array.expected,
        written: array.written,
        missing: array.missing_count(),
        examples: array.missing.iter().map(|index| index.to_vec()).collect(),
        missing_in: array.missing_in,
    });
    let report = SlotsFacts {
        location: output::location(&args.location),
        dimension: args.dimension.clone(),
        first,
        end,
        missing,
        arrays: arrays.collect(),
    };
    Output::new(args.output).facts(&report, text)?;
    match args.gate && missing > 0 {
        true => Err(Failure::new(
            Exit::Failure,
            format!(
                "{} not written",
                output::count(missing, "chunk is", "chunks are")
            ),
        )),
        false => Ok(()),
    }
}

fn text(report: &SlotsFacts, out: &mut dyn Write) -> io::Result<()> {
    for array in &report.arrays {
        let path = printable(&array.path);
        write!(
            out,
            "{path}: {} of {} chunks written",
            array.written, array.expected
        )?;
        if let Some(first) = array.examples.first() {
            write!(out, ", the first that is not: {first:?}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

//! `icefield plot`

use std::io::{self, IsTerminal, Write};

use icefield::ingest::{ArraySlice, FixedDimension, SliceBounds, SliceError, slice};
use icefield::storage::with_causes;
use icefield::{NodePath, RevisionSpec};
use serde::Serialize;

use super::Context;
use super::ncdump::failed;
use crate::args::{PictureFile, PictureFormat, Plot};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};
use crate::plot::{self, Drawing, Frame, Palette};
use crate::progress::ChunkProgress;

/// The size of a terminal that does not tell it.
const TERMINAL: (u16, u16) = (24, 80);

#[derive(Serialize)]
struct PlotFacts {
    location: String,
    array: String,
    #[serde(rename = "ref")]
    revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    file: String,
    /// The dimensions that are drawn; those of an image from top to bottom, and from left to right.
    dimensions: Vec<DimensionFacts>,
    at: Vec<PositionFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<String>,
    /// The numbers at the ends of the colour bar.
    limits: Option<[f64; 2]>,
    /// Elements that are drawn, and missing ones among them.
    count: usize,
    missing: usize,
    /// Where the data are in the picture, in pixels.
    frame: FrameFacts,
}

#[derive(Serialize)]
struct DimensionFacts {
    name: String,
    length: u64,
    /// Every nth element is drawn.
    step: u64,
}

#[derive(Serialize)]
struct PositionFacts {
    name: String,
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

#[derive(Serialize)]
struct FrameFacts {
    left: i32,
    top: i32,
    width: usize,
    height: usize,
}

pub(super) async fn run(context: &Context, args: Plot) -> Result<(), Failure> {
    let is_terminal = io::stdout().is_terminal();
    if args.output_file.is_none() && (!is_terminal || args.output.json) {
        let why = match args.output.json {
            true => "facts in JSON describe a file",
            false => "standard output is no terminal that could show a picture",
        };
        return Err(Failure::new(Exit::Usage, why).hint("-o FILE.png or -o FILE.svg names a file"));
    }
    let terminal = TerminalSize::of_environment();
    let bounds = match args.output_file {
        Some(_) => SliceBounds {
            rows: plot::MOST_ROWS,
            columns: plot::MOST_COLUMNS,
            line: plot::MOST_POINTS,
        },
        None => terminal.bounds(),
    };
    let found = read(context, &args, &args.revision.revision, bounds).await?;
    let found = match &args.diff {
        None => found,
        Some(other) => {
            let subtracted = read(context, &args, other, bounds).await?;
            found.minus(&subtracted).map_err(|problem| {
                let revision = &args.revision.revision;
                let message = format!(
                    "{} at {revision} and at {other} cannot be subtracted: {problem}",
                    args.array
                );
                Failure::new(Exit::Failure, message)
            })?
        }
    };
    let mut facts = PlotFacts::of(&args, &found);
    let titles = titles(&args, &found);
    let drawing = Drawing::new(found, titles, args.diff.is_some(), args.limits);
    let drawing =
        drawing.ok_or_else(|| Failure::new(Exit::Failure, "the slice has no dimension"))?;
    let Some(file) = &args.output_file else {
        let text = plot::blocks(&drawing, terminal.columns, terminal.rows, palette());
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        return Ok(out.flush()?);
    };
    let frame = write(&drawing, file)?;
    facts.limits = drawing.limits().map(|(low, high)| [low, high]);
    facts.missing = drawing.missing();
    facts.frame = FrameFacts {
        left: frame.left,
        top: frame.top,
        width: frame.width,
        height: frame.height,
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        let file = printable(&facts.file);
        let lengths = facts
            .dimensions
            .iter()
            .map(|it| format!("{} {}", printable(&it.name), it.length.div_ceil(it.step)));
        let lengths: Vec<String> = lengths.collect();
        writeln!(out, "drew {} to {file}", lengths.join(" × "))
    })
}

async fn read(
    context: &Context,
    args: &Plot,
    revision: &RevisionSpec,
    bounds: SliceBounds,
) -> Result<ArraySlice, Failure> {
    let (session, _) = context.session(&args.location, revision).await?;
    let bar = ChunkProgress::new("");
    let found = slice(&session, &args.array, &args.at, bounds, &bar).await;
    bar.clear();
    found.map_err(failure)
}

fn failure(error: SliceError) -> Failure {
    let exit = match error {
        SliceError::Read(error) => return failed(error),
        SliceError::NoDimension { .. }
        | SliceError::OutOfRange { .. }
        | SliceError::Outside { .. } => Exit::NotFound,
        SliceError::Twice { .. } | SliceError::BadTime { .. } => Exit::Usage,
        SliceError::NoNumbers { .. } => {
            return Failure::new(Exit::Failure, with_causes(&error))
                .hint("`icefield ncdump -v NAME` prints elements that are no numbers");
        }
        SliceError::NoAxis { .. } => {
            return Failure::new(Exit::Failure, with_causes(&error)).hint(
                "`icefield stats` prints a single number; without one --at, a line is drawn",
            );
        }
        _ => Exit::Failure,
    };
    Failure::new(exit, with_causes(&error))
}

/// Writes a picture to a file, and returns where the data are in it.
fn write(drawing: &Drawing, file: &PictureFile) -> Result<Frame, Failure> {
    let encoded = match file.format {
        PictureFormat::Png => plot::png(drawing),
        PictureFormat::Svg => plot::svg(drawing).map(|(text, frame)| (text.into_bytes(), frame)),
    };
    let (bytes, frame) = encoded.map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    let written = std::fs::write(&file.path, bytes);
    written.map_err(|error| Failure::new(Exit::Failure, error.to_string()).of_file(&file.path))?;
    Ok(frame)
}

/// The title and the subtitle of a picture.
fn titles(args: &Plot, slice: &ArraySlice) -> [String; 2] {
    let title = match &slice.long_name {
        Some(long_name) => format!("{}: {long_name}", relative(&args.array)),
        None => relative(&args.array).to_owned(),
    };
    let revision = &args.revision.revision;
    let mut parts = vec![match &args.diff {
        None => revision.to_string(),
        Some(other) => format!("{revision} minus {other}"),
    }];
    parts.extend(slice.fixed.iter().map(position));
    let steps = slice.axes.iter().filter(|axis| axis.step > 1);
    parts.extend(steps.map(|axis| format!("1 of {} along {}", axis.step, axis.name)));
    if slice.numbers.iter().all(|number| number.is_nan()) {
        parts.push("all values are missing".to_owned());
    }
    [title, parts.join(", ")].map(|title| printable(&title).into_owned())
}

/// The text of a fixed dimension, such as `time = 2015-02-15 (first of 12)`.
fn position(fixed: &FixedDimension) -> String {
    let place = match fixed.is_default {
        true => "first".to_owned(),
        false => format!("index {}", fixed.index),
    };
    let FixedDimension { name, length, .. } = fixed;
    match &fixed.label {
        Some(label) => format!("{name} = {label} ({place} of {length})"),
        None => format!("{name}: {place} of {length}"),
    }
}

fn relative(path: &NodePath) -> &str {
    path.as_str().trim_start_matches('/')
}

impl PlotFacts {
    fn of(args: &Plot, slice: &ArraySlice) -> Self {
        let file = args.output_file.as_ref();
        Self {
            location: output::location(&args.location),
            array: args.array.to_string(),
            revision: args.revision.revision.to_string(),
            diff: args.diff.as_ref().map(ToString::to_string),
            file: file
                .map(|it| it.path.display().to_string())
                .unwrap_or_default(),
            dimensions: (slice.axes.iter())
                .map(|axis| DimensionFacts {
                    name: axis.name.clone(),
                    length: axis.length,
                    step: axis.step,
                })
                .collect(),
            at: (slice.fixed.iter())
                .map(|fixed| PositionFacts {
                    name: fixed.name.clone(),
                    index: fixed.index,
                    label: fixed.label.clone(),
                })
                .collect(),
            units: slice.units.clone(),
            limits: None,
            count: slice.numbers.len(),
            missing: 0,
            frame: FrameFacts {
                left: 0,
                top: 0,
                width: 0,
                height: 0,
            },
        }
    }
}

/// The room of a terminal.
struct TerminalSize {
    columns: usize,
    rows: usize,
}

impl TerminalSize {
    fn of_environment() -> Self {
        let (rows, columns) = console::Term::stdout().size_checked().unwrap_or(TERMINAL);
        Self {
            columns: columns.into(),
            rows: rows.into(),
        }
    }

    fn bounds(&self) -> SliceBounds {
        // The subtitle, which tells the bounds themselves, is not known yet.
        let below = self.rows.saturating_sub(plot::MOST_SUBTITLES - 1);
        let [columns, rows] = plot::most_cells(self.columns, below);
        SliceBounds {
            rows,
            columns,
            line: plot::MOST_POINTS,
        }
    }
}

/// The colours of the terminal, by the variables that terminals and users set.
fn palette() -> Palette {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if variable("NO_COLOR").is_some() {
        return Palette::Shades;
    }
    match variable("COLORTERM") {
        Some(value) if value == "truecolor" || value == "24bit" => Palette::True,
        _ => Palette::Indexed,
    }
}

//! `icefield plot`

use std::path::{Path, PathBuf};

use clap::Args as ArgGroup;
use icefield::ingest::Position;
use icefield::{Location, NodePath, RevisionSpec};

use super::common::{AtRevision, OutputFormat};
use super::parse::{node_path, with_causes};

pub(crate) const PLOT: &str = "\
Two dimensions make an image, one makes a line. The last two dimensions without --at are drawn; those before them are fixed at
their first elements, which the title says. A position is an index (3; -1 is the last), a value of the coordinate with a decimal
point (45.0, the nearest element), or a time (2015-02, 2015-02-16T12:00: the first element within, or the nearest).

Numbers are decoded by the CF conventions, as for `icefield stats`; missing ones are grey. Ticks are labelled by the coordinate
that has the name of the dimension, or else by indices. Values grow to the right and upwards, depths (positive: down) downwards.
Only chunks of the slice are read; of a long dimension, every nth element is drawn, which the title says.

Without -o, a terminal shows the picture in half blocks, with as many colours as COLORTERM says; under NO_COLOR, in shades.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Plot {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The array.
    #[arg(value_parser = with_causes(node_path))]
    pub(crate) array: NodePath,
    /// The position along a dimension, which is given by its name or its number from 0 (repeatable).
    #[arg(long, value_name = "DIM=POSITION", value_parser = fixed)]
    pub(crate) at: Vec<(String, Position)>,
    /// Draw the difference from this version: the numbers of --ref minus those of REF.
    #[arg(long, value_name = "REF", value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) diff: Option<RevisionSpec>,
    /// The numbers at the ends of the colour bar, or of a line's axis [default: the least and the greatest].
    #[arg(long, value_name = "LOW,HIGH", value_parser = limits, allow_hyphen_values = true)]
    pub(crate) limits: Option<(f64, f64)>,
    /// Write the picture to this file, whose name ends in .png or .svg.
    #[arg(short = 'o', long = "output", value_name = "FILE", value_parser = picture_file)]
    pub(crate) output_file: Option<PictureFile>,
    #[command(flatten)]
    pub(crate) revision: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// A file that a picture is written to.
#[derive(Clone, Debug)]
pub(crate) struct PictureFile {
    pub(crate) path: PathBuf,
    pub(crate) format: PictureFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureFormat {
    Png,
    Svg,
}

fn picture_file(text: &str) -> Result<PictureFile, String> {
    let path = Path::new(text);
    let extension = path.extension().and_then(|it| it.to_str());
    let format = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("png") => PictureFormat::Png,
        Some("svg") => PictureFormat::Svg,
        _ => return Err("the name of a picture ends in .png or .svg".to_owned()),
    };
    Ok(PictureFile {
        path: path.to_owned(),
        format,
    })
}

fn fixed(text: &str) -> Result<(String, Position), String> {
    // A name may have an equals sign in it; a position has none.
    let Some((name, position)) = text.rsplit_once('=') else {
        return Err("expected a dimension, `=` and a position, as in time=2015-02".to_owned());
    };
    let position = position.parse::<Position>();
    let position = position.map_err(|error| error.to_string())?;
    Ok((name.to_owned(), position))
}

fn limits(text: &str) -> Result<(f64, f64), String> {
    let numbers = text.split_once(',').and_then(|(low, high)| {
        let number = |text: &str| text.trim().parse().ok().filter(|it: &f64| it.is_finite());
        Some((number(low)?, number(high)?))
    });
    match numbers {
        Some((low, high)) if low < high => Ok((low, high)),
        _ => Err("expected a number, `,` and a greater number, as in -2,35".to_owned()),
    }
}

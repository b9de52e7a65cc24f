//! Pictures of slices of arrays: an image of two dimensions, a line of one.
//!
//! ```text
//! ArraySlice ─▶ Drawing (cells or points, scale, titles) ─▶ figure ─▶ files      PNG, SVG
//!                                                         └▶ blocks               a terminal
//! ```

mod axis;
mod blocks;
mod canvas;
mod colours;
mod drawing;
mod figure;
mod files;
mod line;
mod numbers;
mod raster;
mod titles;

pub(crate) use blocks::{Palette, blocks, most_cells};
pub(crate) use drawing::Drawing;
pub(crate) use files::{png, svg};
pub(crate) use raster::Frame;
pub(crate) use titles::MOST_SUBTITLES;

/// The most cells of a picture in a file.
pub(crate) const MOST_COLUMNS: usize = 1000;
pub(crate) const MOST_ROWS: usize = 700;
/// The most points of a line.
pub(crate) const MOST_POINTS: usize = 4096;

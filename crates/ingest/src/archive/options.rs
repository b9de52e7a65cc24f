//! The options of a reader of archive files.

use icefield_nczarr::ReadOptions;

use crate::import::Overlap;

/// The options with which an archive is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// Whether chunks are only copied, so that their places in a zip file need not be found.
    pub is_copied: bool,
    /// The options with which a hierarchy of Zarr format 2 is read.
    pub format_2: ReadOptions,
    /// Whether nodes that Zarr cannot express are listed in [`Archive::unsupported`](crate::Archive::unsupported);
    /// otherwise the first one is an error.
    pub lists_unsupported: bool,
    /// Whether a compound of HDF5 becomes a group, with an array of each member.
    pub split_compound: bool,
    /// The overviews of a TIFF file that are read.
    pub overviews: Overviews,
    /// The message that is kept if a GRIB file has two for one place.
    pub duplicates: Overlap,
}

/// The smaller copies of an image that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overviews {
    /// All of them, in groups below the image.
    #[default]
    All,
    /// None of them.
    None,
    /// One of them in the place of the image, counted from 1, the largest; 0 is the image itself.
    Level(u32),
}

impl From<ReadOptions> for ArchiveOptions {
    fn from(format_2: ReadOptions) -> Self {
        Self {
            format_2,
            ..Self::default()
        }
    }
}

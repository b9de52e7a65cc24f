//! The options of a reader of archive files.

use icefield_nczarr::ReadOptions;

use crate::import::Overlap;

/// How an archive is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchiveOptions {
    /// Nothing will be referred to: where in a zip file the chunks lie need not be looked for.
    pub is_copied: bool,
    /// How a hierarchy of Zarr format 2 is read.
    pub format_2: ReadOptions,
    /// Whether nodes that Zarr has no words for are listed in [`Archive::unsupported`](crate::Archive::unsupported); otherwise
    /// the first one is an error.
    pub lists_unsupported: bool,
    /// Whether a compound of HDF5 becomes a group, with an array of each member.
    pub split_compound: bool,
    /// Which overviews of a TIFF file are read.
    pub overviews: Overviews,
    /// Which of two messages is kept that a GRIB file has for one place.
    pub duplicates: Overlap,
}

/// Which of the smaller copies of an image are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overviews {
    /// All, in groups below the image.
    #[default]
    All,
    /// None.
    None,
    /// One in the place of the image, from 1, the largest; 0 is the image itself.
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

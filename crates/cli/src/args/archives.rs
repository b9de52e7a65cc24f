//! How archive files are read.

use clap::Args as ArgGroup;
use icefield::ingest::ArchiveOptions;

#[derive(Clone, Copy, Debug, ArgGroup)]
pub(crate) struct Archives {
    /// Make a group of an HDF5 array of compounds, with an array of each member.
    #[arg(long)]
    pub(crate) split_compound: bool,
}

impl Archives {
    /// Returns it as the readers are told.
    pub(crate) fn options(self) -> ArchiveOptions {
        ArchiveOptions {
            split_compound: self.split_compound,
            ..ArchiveOptions::default()
        }
    }
}

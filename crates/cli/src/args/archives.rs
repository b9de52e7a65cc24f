//! Options for reading archive files.

use clap::Args as ArgGroup;
use icefield::ingest::{ArchiveOptions, Overviews};

#[derive(Clone, Copy, Debug, ArgGroup)]
pub(crate) struct ArchiveArgs {
    /// Import an HDF5 array of compounds as a group with one array per member.
    #[arg(long)]
    pub(crate) split_compound: bool,
    /// The overviews of a TIFF file to import: `all`, in groups below the image; `none`; or the number of one that replaces the
    /// image (1 is the largest).
    #[arg(long, value_name = "WHICH", value_parser = overviews, default_value = "all")]
    pub(crate) overviews: Overviews,
}

impl ArchiveArgs {
    /// Returns the options for the readers.
    pub(crate) fn options(self) -> ArchiveOptions {
        ArchiveOptions {
            split_compound: self.split_compound,
            overviews: self.overviews,
            ..ArchiveOptions::default()
        }
    }
}

fn overviews(text: &str) -> Result<Overviews, String> {
    match text {
        "all" => Ok(Overviews::All),
        "none" => Ok(Overviews::None),
        number => number
            .parse()
            .map(Overviews::Level)
            .map_err(|_| "expected `all`, `none` or a number".to_owned()),
    }
}

//! How archive files are read.

use clap::Args as ArgGroup;
use icefield::ingest::{ArchiveOptions, Overviews};

#[derive(Clone, Copy, Debug, ArgGroup)]
pub(crate) struct Archives {
    /// Make a group of an HDF5 array of compounds, with an array of each member.
    #[arg(long)]
    pub(crate) split_compound: bool,
    /// Overviews of a TIFF file: `all` in groups below the image, `none`, or the number of one in the place of the image (1 is the
    /// largest).
    #[arg(long, value_name = "WHICH", value_parser = overviews, default_value = "all")]
    pub(crate) overviews: Overviews,
}

impl Archives {
    /// Returns it as the readers are told.
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
            .map_err(|_| "`all`, `none` or a number is expected".to_owned()),
    }
}

//! What becomes of sources that do not have the same arrays, attributes and encodings.

use clap::{Args as ArgGroup, ValueEnum};
use icefield::ingest::{self, Attributes, Encoding, Missing};

#[derive(Debug, Default, ArgGroup)]
pub(crate) struct Combined {
    /// What becomes of arrays that some sources lack, or the repository.
    #[arg(long, value_enum, requires = "Behind", value_name = "WHAT")]
    pub(crate) missing: Option<Lacked>,
    /// Which attributes the result has where they differ. Without: those of groups come from the first source, and those of arrays
    /// must be equal.
    #[arg(long, value_enum, requires = "Behind", value_name = "WHICH")]
    pub(crate) attributes: Option<Kept>,
    /// Store numbers as the first source does, or as they are stored there, if readers find them no farther off than this; without,
    /// if readers find the same numbers.
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance, requires = "Behind", conflicts_with = "unpack")]
    pub(crate) repack: Option<f64>,
    /// Store decoded numbers, without `scale_factor` and `add_offset`, of arrays that some source packs or that sources
    /// store otherwise: as floating-point numbers, or as integers if none is packed or missing.
    #[arg(long, conflicts_with = "append")]
    pub(crate) unpack: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|it: &f64| it.is_finite() && *it >= 0.0);
    number.ok_or_else(|| "a number from 0 on is expected, as 0.001".to_owned())
}

/// What becomes of arrays that some sources lack.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Lacked {
    /// Fail (the default).
    Refuse,
    /// Fill them with what reads as missing: `_FillValue`, `missing_value`, or NaN.
    Fill,
}

/// Which attributes the result has.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kept {
    /// Those of the first source, or that are there.
    First,
    /// Fail if any differ.
    Equal,
    /// All but those that differ.
    DropConflicts,
}

impl Combined {
    /// Tells an import of it.
    pub(crate) fn tell(&self, mut import: ingest::Import) -> ingest::Import {
        if let Some(Lacked::Fill) = self.missing {
            import = import.missing(Missing::Fill);
        }
        match (self.repack, self.unpack) {
            (Some(tolerance), _) => import = import.encoding(Encoding::Within(tolerance)),
            (None, true) => import = import.encoding(Encoding::Unpacked),
            (None, false) => {}
        }
        match self.attributes {
            None => import,
            Some(Kept::First) => import.attributes(Attributes::First),
            Some(Kept::Equal) => import.attributes(Attributes::Equal),
            Some(Kept::DropConflicts) => import.attributes(Attributes::DropConflicts),
        }
    }
}

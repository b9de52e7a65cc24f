//! Options for sources that differ in arrays, attributes or encodings.

use clap::{Args as ArgGroup, ValueEnum};
use icefield::ingest::{self, Attributes, Encoding, Missing};

#[derive(Debug, Default, ArgGroup)]
pub(crate) struct MismatchArgs {
    /// How to treat arrays that some sources, or the repository, do not have.
    #[arg(long, value_enum, requires = "joined", value_name = "WHAT")]
    pub(crate) missing: Option<OnMissing>,
    /// Which attributes the result has where sources differ. By default, groups have the attributes of the first source, and the
    /// attributes of arrays must be equal.
    #[arg(long, value_enum, requires = "joined", value_name = "WHICH")]
    pub(crate) attributes: Option<AttributeRule>,
    /// Store numbers in the encoding of the first source, or of the repository, if decoded values differ by at most this much. By
    /// default, decoded values must be the same.
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance, requires = "joined", conflicts_with = "unpack")]
    pub(crate) repack: Option<f64>,
    /// Store decoded numbers, without `scale_factor` and `add_offset`, for arrays that a source packs or that sources encode
    /// differently: as floating-point numbers, or as integers if no number is packed or missing.
    #[arg(long, conflicts_with = "append")]
    pub(crate) unpack: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|it: &f64| it.is_finite() && *it >= 0.0);
    number.ok_or_else(|| "expected a number that is not negative, such as 0.001".to_owned())
}

/// The treatment of arrays that some sources do not have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnMissing {
    /// Fail (the default).
    Refuse,
    /// Fill them with the missing value: `_FillValue`, `missing_value`, or NaN.
    Fill,
}

/// The attributes of the result.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AttributeRule {
    /// The attributes of the first source, or of the repository.
    First,
    /// Fail if any differ.
    Equal,
    /// The attributes that do not differ.
    DropConflicts,
}

impl MismatchArgs {
    /// Applies the options to an import.
    pub(crate) fn tell(&self, mut import: ingest::Import) -> ingest::Import {
        if let Some(OnMissing::Fill) = self.missing {
            import = import.missing(Missing::Fill);
        }
        match (self.repack, self.unpack) {
            (Some(tolerance), _) => import = import.encoding(Encoding::Within(tolerance)),
            (None, true) => import = import.encoding(Encoding::Unpacked),
            (None, false) => {}
        }
        match self.attributes {
            None => import,
            Some(AttributeRule::First) => import.attributes(Attributes::First),
            Some(AttributeRule::Equal) => import.attributes(Attributes::Equal),
            Some(AttributeRule::DropConflicts) => import.attributes(Attributes::DropConflicts),
        }
    }
}

//! The arrangement of the sources of an import, and its continuation after an interruption.

use clap::{Args as ArgGroup, ValueEnum};
use icefield::ingest::{Combine, Import, ValueFrom};

use super::parse::with_causes;

#[derive(Clone, Debug, ArgGroup)]
pub(crate) struct CollectionArgs {
    /// Make each source one element of this new dimension; with --concat DIM, concatenate the sources that have the same value.
    #[arg(long, value_name = "DIM", requires = "value_from")]
    concat_new: Option<String>,
    /// The origin of the values along the dimension of --concat-new or --append: pattern:REGEX with one group,
    /// pattern:air_m{}.nc with braces for the value, attribute:NAME, or variable:NAME.
    #[arg(long, value_name = "FROM", value_parser = with_causes(ValueFrom::parse))]
    value_from: Option<ValueFrom>,
    /// How to arrange the sources.
    #[arg(long, value_enum, value_name = "HOW")]
    combine: Option<CombineMode>,
    /// Skip sources whose coordinates along the dimension of --append are all in the repository; create arrays that do not exist.
    #[arg(long)]
    pub(crate) skip_existing: bool,
    /// Start from the beginning, and leave no record to continue from.
    #[arg(long)]
    no_resume: bool,
    /// Discard interrupted imports instead of continuing them: those of these sources, or all of the repository.
    #[arg(long)]
    pub(crate) abandon: bool,
}

/// The arrangement of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CombineMode {
    /// Along the dimensions of --concat, --append and --concat-new (the default).
    Nested,
    /// By the values of coordinates: as the cells of a grid, along all dimensions in which the coordinates differ.
    ByCoords,
}

impl CollectionArgs {
    /// Returns whether the options arrange several sources.
    pub(crate) fn says_how(&self) -> bool {
        self.concat_new.is_some() || self.combine == Some(CombineMode::ByCoords)
    }

    /// Returns the name of a given option that needs sources.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("--concat-new", self.concat_new.is_some()),
            ("--value-from", self.value_from.is_some()),
            ("--combine", self.combine.is_some()),
            ("--skip-existing", self.skip_existing),
        ];
        given
            .iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| *name)
    }

    /// Applies the options to an import. `append` is the dimension of an append; `name` identifies the import.
    pub(crate) fn apply(&self, mut import: Import, append: Option<&str>, name: &str) -> Import {
        let dimension = self.concat_new.as_deref().or(append);
        if let (Some(dimension), Some(from)) = (dimension, &self.value_from) {
            import = import.stack(dimension, from.clone());
        }
        if self.combine == Some(CombineMode::ByCoords) {
            import = import.combine(Combine::ByCoordinates);
        }
        if self.skip_existing {
            import = import.skip_existing();
        }
        match self.no_resume {
            true => import,
            false => import.resumable(self.name(name)),
        }
    }

    /// Returns the name under which an interrupted import is continued.
    pub(crate) fn name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        if let Some(dimension) = &self.concat_new {
            name.push_str(&format!(", as elements of {dimension}"));
        }
        if self.combine == Some(CombineMode::ByCoords) {
            name.push_str(", by coordinates");
        }
        name
    }
}

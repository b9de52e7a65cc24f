//! How the sources of an import belong together, and how it goes on.

use clap::{Args as ArgGroup, ValueEnum};
use icefield::ingest::{Combine, Import, ValueFrom};

use super::in_full;

#[derive(Clone, Debug, ArgGroup)]
pub(crate) struct Collected {
    /// Make each source one element of this new dimension; with --concat DIM, the sources of each value behind one another.
    #[arg(long, value_name = "DIM", requires = "value_from")]
    concat_new: Option<String>,
    /// Where the values along the new dimension come from, that of --concat-new or of --append: pattern:REGEX with one group,
    /// pattern:air_m{}.nc with braces for the value, attribute:NAME, or variable:NAME.
    #[arg(long, value_name = "FROM", value_parser = in_full(ValueFrom::parse))]
    value_from: Option<ValueFrom>,
    /// Find out from the values of coordinates how the sources belong together.
    #[arg(long, value_enum, value_name = "HOW")]
    combine: Option<Combining>,
    /// Leave out sources whose coordinates along the dimension of --append are all there; create what is not there at all.
    #[arg(long)]
    pub(crate) skip_existing: bool,
    /// Begin anew, and leave nothing to go on from.
    #[arg(long)]
    no_resume: bool,
    /// End imports that broke off instead of going on with them: those of these sources, or all of the repository.
    #[arg(long)]
    pub(crate) abandon: bool,
}

/// How sources belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Combining {
    /// As --concat, --append and --concat-new say (the default).
    Nested,
    /// As the cells of a grid, along all dimensions in which their coordinates differ.
    ByCoords,
}

impl Collected {
    /// Returns whether it says how several sources belong together.
    pub(crate) fn says_how(&self) -> bool {
        self.concat_new.is_some() || self.combine == Some(Combining::ByCoords)
    }

    /// Returns the name of an option that says something of sources.
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

    /// Tells an import. `append` is the dimension of an append, and `name` says which import it is.
    pub(crate) fn apply(&self, mut import: Import, append: Option<&str>, name: &str) -> Import {
        let dimension = self.concat_new.as_deref().or(append);
        if let (Some(dimension), Some(from)) = (dimension, &self.value_from) {
            import = import.stack(dimension, from.clone());
        }
        if self.combine == Some(Combining::ByCoords) {
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

    /// Returns what an import is called by which it goes on.
    pub(crate) fn name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        if let Some(dimension) = &self.concat_new {
            name.push_str(&format!(", as elements of {dimension}"));
        }
        if self.combine == Some(Combining::ByCoords) {
            name.push_str(", by coordinates");
        }
        name
    }
}

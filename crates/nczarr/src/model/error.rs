//! What a dataset cannot be.

use super::DimensionPath;

/// Why something is no dataset of the netCDF-4 data model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A variable names a dimension that no group owns.
    #[error("the variable {variable} has the dimension {dimension}, which is not defined")]
    NoDimension {
        /// The variable.
        variable: String,
        /// The path that it names.
        dimension: DimensionPath,
    },
}

//! Errors of datasets that cannot be.

use super::DimensionPath;

/// The rule of the netCDF-4 data model that a dataset breaks.
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
    /// A group or variable has an attribute that only we write.
    #[error(
        "{path} has an attribute {name:?}, which is kept for what Zarr v3 cannot say of netCDF; rename it"
    )]
    Reserved {
        /// The group or variable.
        path: String,
        /// The attribute.
        name: String,
    },
}

//! Versions of a repository as netCDF datasets: read value by value, and made of values.

mod elements;
mod error;
mod generate;
mod read;

use std::collections::BTreeMap;

use icefield_core::{NodePath, Session};
use icefield_nczarr::Dataset;
use serde_json::Value;

pub(crate) use elements::ElementReader;
pub use error::NetcdfError;
pub use generate::archive_of_cdl;
pub use read::VariableReader;
pub(crate) use read::document_of;

/// Returns the hierarchy of a session as a netCDF dataset.
///
/// # Errors
/// [`NetcdfError::Dataset`] for an array whose type netCDF does not have, by its path.
pub fn dataset_of(session: &Session) -> Result<Dataset, NetcdfError> {
    let mut documents = BTreeMap::new();
    for node in session.nodes(&NodePath::root())? {
        let Some(bytes) = session.metadata(&node.path)? else {
            continue;
        };
        let document: Value = serde_json::from_slice(&bytes).map_err(|error| {
            NetcdfError::variable(&node.path, format!("its metadata is not JSON: {error}"))
        })?;
        documents.insert(node.path.to_string(), document);
    }
    Ok(icefield_nczarr::read_zarr3(&documents)?)
}

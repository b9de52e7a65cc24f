//! The nodes of the documents among references.

use serde_json::Value;

use crate::SourceError;
use crate::archive::KeyedNodes;
use crate::formats::{check_formats, is_format_3};
use crate::lossy::Lossy;
use crate::zarr_tree::{self, format3};
use crate::zarr2::Documents;

/// Makes nodes of documents by key, of one format. The consolidated ones stand in for those that are missing; `has_keys`
/// tells whether anything lies below a node. `lossy` are the attributes that the documents do not hold exactly.
pub(super) fn nodes_of(
    documents: Vec<(String, Value)>,
    lossy: Vec<Lossy>,
    name: &str,
    has_keys: impl Fn(&str) -> bool,
) -> Result<KeyedNodes, SourceError> {
    let called = |key: &str| format!("{key} in {name}");
    let keys = documents.iter().map(|(key, _)| key.as_str());
    let mut said = check_formats(keys, called)?;
    let found = zarr_tree::Documents::reconciled(documents, lossy, has_keys, called)?;
    said.extend(found.warnings);
    let mut nodes = if found.all.iter().any(|(key, _)| is_format_3(key)) {
        format3::nodes(found.all, name)?
    } else {
        let mut documents = Documents::default();
        for (key, document) in found.all {
            documents.add(&key, &called(&key), document)?;
        }
        documents.nodes(name)?
    };
    if nodes.is_empty() {
        let problem = "it has no document of a Zarr array or group";
        return Err(SourceError::damaged(name, problem));
    }
    said.into_iter().for_each(|warning| nodes.warn(warning));
    Ok(nodes)
}

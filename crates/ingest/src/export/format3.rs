//! Zarr v3: the format of the repository itself, so that nothing changes.

use std::sync::Arc;

use bytes::Bytes;
use icefield_zarr_fs::TreeKey;
use icefield_zarr_store::ChunkKeys;

use super::dialect::{Dialect, ExportNode, Spelling, export_key};
use crate::ExportError;

/// The document of a node; no node can have that name.
const DOCUMENT: &str = "zarr.json";

/// Zarr v3: documents and chunks byte for byte as the session has them, under the keys that each array's own metadata
/// asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZarrV3;

impl Dialect for ZarrV3 {
    fn spell(&self, nodes: Arc<[ExportNode]>) -> Result<Arc<dyn Spelling>, ExportError> {
        for node in &*nodes {
            export_key(&node.path, DOCUMENT, &[DOCUMENT])?;
        }
        Ok(Arc::new(*self))
    }
}

impl Spelling for ZarrV3 {
    fn documents(&self, node: &ExportNode) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        let key = export_key(&node.path, DOCUMENT, &[DOCUMENT])?;
        Ok(vec![(key, node.document.clone())])
    }

    fn chunks(
        &self,
        array: &ExportNode,
        index: &[u32],
        bytes: Bytes,
    ) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        let key = match &array.array {
            Some(metadata) => ChunkKeys::of(metadata).key(index),
            None => String::new(),
        };
        let key = export_key(&array.path, &key, &[DOCUMENT])?;
        Ok(vec![(key, bytes)])
    }
}

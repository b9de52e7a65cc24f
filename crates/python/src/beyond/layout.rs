//! Chunk layouts, parsed from JSON.

use std::collections::BTreeMap;

use icefield::ingest::{ChunkLayout, ChunkLength, Compression, LayoutError, Shards};
use serde_json::Value;

use crate::errors::Failure;

/// Parses `chunks` (lengths by the names of dimensions), `shards` (the same, or `none`) and `codec`.
pub(super) fn layout(what: &Value) -> Result<ChunkLayout, Failure> {
    let refused = |error: LayoutError| Failure::new("invalid-argument", error.to_string());
    let shards = match &what["shards"] {
        Value::String(none) if none == "none" => Shards::None,
        Value::Object(_) => Shards::Of(lengths(&what["shards"]).map_err(refused)?),
        _ => Shards::Kept,
    };
    let compression = what["codec"].as_str().map(Compression::parse);
    let compression = compression.transpose().map_err(refused)?;
    Ok(ChunkLayout::kept()
        .with_chunks(lengths(&what["chunks"]).map_err(refused)?)
        .with_shards(shards)
        .with_compression(compression.unwrap_or_default()))
}

fn lengths(given: &Value) -> Result<BTreeMap<String, ChunkLength>, LayoutError> {
    let given = given.as_object().into_iter().flatten();
    let lengths = given.map(|(dimension, length)| {
        let length = ChunkLength::parse(length.as_str().unwrap_or_default())?;
        Ok((dimension.clone(), length))
    });
    lengths.collect()
}

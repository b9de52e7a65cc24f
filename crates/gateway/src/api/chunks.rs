//! The places of chunks: sums for arrays, maps of an array, single chunks.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use icefield::{ChunkLocation, NodePath, SessionError};
use serde_json::{Map, Value, json};

use super::answer::ApiAnswer;
use super::cells::{Cells, describe_shapes};
use super::values::{int, path, required};
use crate::failure::Failure;
use crate::mount::Mount;
use crate::observation::cut;
use crate::target::Target;
use crate::versions::{Freshness, Version};

/// Arrays of one answer.
const ARRAYS: usize = 50;
/// Bytes of a location.
const LOCATION: usize = 4 << 10;

/// Chunks and their bytes, by the place of the bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Native, inline, virtual.
    counts: [u64; 3],
    bytes: [u64; 3],
}

impl Totals {
    fn add(&mut self, location: &ChunkLocation) {
        let kind = match location {
            ChunkLocation::Native { .. } => 0,
            ChunkLocation::Inline { .. } => 1,
            ChunkLocation::Virtual { .. } => 2,
        };
        self.counts[kind] += 1;
        self.bytes[kind] = self.bytes[kind].saturating_add(location.length());
    }

    fn describe(&self, chunks: u64) -> Map<String, Value> {
        let mut object = Map::new();
        for (at, name) in ["native", "inline", "virtual"].into_iter().enumerate() {
            let total = json!({ "count": int(self.counts[at]), "bytes": int(self.bytes[at]) });
            object.insert(name.to_owned(), total);
        }
        let found: u64 = self.counts.iter().sum();
        object.insert("missing".to_owned(), int(chunks.saturating_sub(found)));
        object
    }
}

/// Sums up the chunks of arrays.
pub(crate) async fn sizes(
    mount: &Mount,
    text: &str,
    target: &Target,
) -> Result<ApiAnswer, Failure> {
    let paths: Result<Vec<NodePath>, _> =
        target.parameters("path").take(ARRAYS).map(path).collect();
    let paths = paths?;
    let version = mount.versions.find(text, Freshness::Recent).await?;
    let mut sizes = Vec::new();
    for path in paths {
        let mut object = match totals(&version, &path).await {
            Ok((totals, chunks)) => totals.describe(chunks),
            Err(error) => Map::from_iter([("error".to_owned(), error.to_string().into())]),
        };
        object.insert("path".to_owned(), path.as_str().into());
        sizes.push(object);
    }
    let document = json!({ "snapshot": version.id.to_string(), "sizes": sizes });
    Ok(ApiAnswer::of(&version, document))
}

async fn totals(version: &Version, path: &NodePath) -> Result<(Totals, u64), SessionError> {
    let array = version.session.array(path)?;
    let chunks = Cells::of(&array.chunk_counts).chunks();
    let mut totals = Totals::default();
    let mut found = version.session.chunks(path)?;
    while let Some(chunk) = found.try_next().await? {
        totals.add(&chunk.location);
    }
    Ok((totals, chunks))
}

/// Returns the map of the chunks of an array.
pub(crate) async fn map(mount: &Mount, text: &str, target: &Target) -> Result<ApiAnswer, Failure> {
    let path = path(required(target, "path")?)?;
    let version = mount.versions.find(text, Freshness::Recent).await?;
    let array = version.session.array(&path).map_err(of_node)?;
    let cells = Cells::of(&array.chunk_counts);
    let _alone = mount.alone().await;
    let (mut all, mut found) = (Totals::default(), BTreeMap::<Vec<u32>, Totals>::new());
    let mut chunks = version.session.chunks(&path).map_err(Failure::of_read)?;
    while let Some(chunk) = chunks.try_next().await.map_err(Failure::of_read)? {
        all.add(&chunk.location);
        found
            .entry(cells.of_chunk(&chunk.index))
            .or_default()
            .add(&chunk.location);
    }
    let index: Vec<u32> = found.keys().flatten().copied().collect();
    let column =
        |kind: usize| -> Vec<u64> { found.values().map(|totals| totals.counts[kind]).collect() };
    let bytes: Vec<Value> = found
        .values()
        .map(|totals| int(totals.bytes.iter().sum()))
        .collect();
    let mut document = Map::new();
    document.insert("snapshot".to_owned(), version.id.to_string().into());
    document.insert("path".to_owned(), path.as_str().into());
    describe_shapes(&array, &mut document);
    cells.describe(&mut document);
    document.insert("totals".to_owned(), all.describe(cells.chunks()).into());
    document.insert(
        "cells".to_owned(),
        json!({
            "index": index,
            "native": column(0),
            "inline": column(1),
            "virtual": column(2),
            "bytes": bytes,
        }),
    );
    Ok(ApiAnswer::of(&version, document.into()))
}

/// Says where one chunk is.
pub(crate) async fn chunk(
    mount: &Mount,
    text: &str,
    target: &Target,
) -> Result<ApiAnswer, Failure> {
    let path = path(required(target, "path")?)?;
    let numbers = required(target, "index")?
        .split(',')
        .filter(|number| !number.is_empty());
    let index: Result<Vec<u32>, _> = numbers.map(str::parse).collect();
    let index =
        index.map_err(|_| Failure::bad_request("the parameter index is no list of numbers"))?;
    let version = mount.versions.find(text, Freshness::Recent).await?;
    let array = version.session.array(&path).map_err(of_node)?;
    if !array.contains(&index) {
        return Err(Failure::not_found("the grid has no such chunk"));
    }
    let location = version.session.chunk_location(&path, &index).await;
    let location = location.map_err(Failure::of_read)?;
    let document = match location {
        None => json!({ "index": index, "kind": "missing", "bytes": 0 }),
        Some(ChunkLocation::Inline { length }) => {
            json!({ "index": index, "kind": "inline", "bytes": int(length) })
        }
        Some(ChunkLocation::Native { id, offset, length }) => json!({
            "index": index,
            "kind": "native",
            "bytes": int(length),
            "offset": int(offset),
            "key": icefield::format::layout::chunk_key(id),
        }),
        Some(ChunkLocation::Virtual {
            location,
            offset,
            length,
            etag,
            last_modified,
        }) => {
            let is_granted = mount.repository().is_granted(&location).await;
            let checksum = etag.or(last_modified.map(|seconds| seconds.to_string()));
            json!({
                "index": index,
                "kind": "virtual",
                "bytes": int(length),
                "offset": int(offset),
                "location": cut(&location, LOCATION),
                "checksum": checksum,
                "granted": is_granted,
            })
        }
    };
    Ok(ApiAnswer::of(&version, document))
}

/// The failure of a node that a request names.
pub(crate) fn of_node(error: SessionError) -> Failure {
    match error {
        SessionError::NodeNotFound { .. } | SessionError::NotAnArray { .. } => {
            Failure::not_found(error.to_string())
        }
        error => Failure::of_read(error),
    }
}

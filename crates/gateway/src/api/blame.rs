//! The commits that wrote the chunks of an array last.

use std::collections::{BTreeMap, HashSet};

use futures::TryStreamExt;
use icefield::format::NodeId;
use icefield::{ChunkIndex, SnapshotId};
use serde_json::{Map, Value, json};

use super::answer::ApiAnswer;
use super::cells::Cells;
use super::chunks::of_node;
use super::history::{RefNames, snapshot};
use super::values::{int, path, required};
use crate::failure::Failure;
use crate::mount::Mount;
use crate::target::Target;
use crate::versions::Freshness;

/// Commits that one request looks at.
const COMMITS: usize = 500;

/// Walks the history of a version, newest commit first, until every chunk that it has is explained.
pub(crate) async fn blame(
    mount: &Mount,
    text: &str,
    target: &Target,
) -> Result<ApiAnswer, Failure> {
    let path = path(required(target, "path")?)?;
    let version = mount.versions.find(text, Freshness::Recent).await?;
    let session = &version.session;
    let array = session.array(&path).map_err(of_node)?;
    let node = session.node_id(&path).map_err(Failure::of_read)?;
    let cells = Cells::of(&array.chunk_counts);
    let _alone = mount.alone().await;
    let mut unknown: HashSet<ChunkIndex> = HashSet::new();
    let mut chunks = session.chunks(&path).map_err(Failure::of_read)?;
    while let Some(chunk) = chunks.try_next().await.map_err(Failure::of_read)? {
        unknown.insert(chunk.index);
    }
    let begin = match target
        .parameter("cursor")
        .filter(|cursor| !cursor.is_empty())
    {
        None => version.id,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| Failure::bad_request("the cursor is none of this server"))?,
    };
    let names = RefNames::of(mount).await;
    let mut history = mount.repository().ancestry(begin);
    let (mut commits, mut found) = (Vec::new(), BTreeMap::<Vec<u32>, usize>::new());
    let (mut scanned, mut next) = (0, None);
    while let Some(info) = history.try_next().await.map_err(Failure::of_read)? {
        if unknown.is_empty() {
            break;
        }
        if scanned == COMMITS {
            next = Some(info.id.to_string());
            break;
        }
        scanned += 1;
        let Some(written) = written(mount, info.id, node, &mut unknown).await? else {
            // Without a log, nothing older can be told from it.
            break;
        };
        if written.chunks.is_empty() {
            if written.is_first {
                break;
            }
            continue;
        }
        for index in written.chunks {
            found.entry(cells.of_chunk(&index)).or_insert(commits.len());
        }
        commits.push(Value::from(snapshot(&info, &names)));
        if written.is_first {
            break;
        }
    }
    let index: Vec<u32> = found.keys().flatten().copied().collect();
    let commit: Vec<usize> = found.values().copied().collect();
    let mut document = Map::new();
    document.insert("commits".to_owned(), commits.into());
    cells.describe(&mut document);
    document.insert(
        "cells".to_owned(),
        json!({ "index": index, "commit": commit }),
    );
    document.insert("unknown".to_owned(), int(unknown.len() as u64));
    document.insert("scanned".to_owned(), scanned.into());
    document.insert("next".to_owned(), next.into());
    Ok(ApiAnswer::of(&version, document.into()))
}

/// The chunks of an array that a commit wrote.
struct Written {
    /// Those chunks that no later commit wrote.
    chunks: Vec<ChunkIndex>,
    /// Whether the array began with it.
    is_first: bool,
}

/// Reads what a commit wrote of an array, and takes it out of what is unknown. `None` if its log is not there.
async fn written(
    mount: &Mount,
    id: SnapshotId,
    node: Option<NodeId>,
    unknown: &mut HashSet<ChunkIndex>,
) -> Result<Option<Written>, Failure> {
    let Ok(log) = mount.repository().transaction_log(id).await else {
        return Ok(None);
    };
    let arrays = log
        .updated_chunks()
        .filter(|chunks| Some(chunks.node_id()) == node);
    let chunks = arrays
        .flat_map(|chunks| chunks.chunks())
        .filter(|index| unknown.remove(index));
    let chunks = chunks.collect();
    let is_first = log.new_arrays().any(|array| Some(array) == node);
    Ok(Some(Written { chunks, is_first }))
}

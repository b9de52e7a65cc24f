//! Arrays without the dimension that sources are joined along.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{ArrayMetadata, ChunkIndex};

use super::error::CombineError;
use crate::assemble::{ChunksOf, OfSource};
use crate::import::opened::Opened;
use crate::import::transfer::equal_elements;
use crate::plan::{Action, Transfer};
use crate::{ChunkEntry, ImportError};

/// An array that has none of the dimension must be the same in all parts.
pub(super) async fn check_equal(
    (first, other): (&Opened, &Opened),
    transfer: &Transfer,
    dimension: &str,
) -> Result<(), ImportError> {
    let path = &transfer.from;
    let differs = || CombineError::Differs {
        path: path.clone(),
        one: first.source.to_string(),
        other: other.source.to_string(),
        dimension: dimension.to_owned(),
    };
    let here = first.hierarchy.nodes.get(path);
    let here = here.and_then(|node| Some((node, node.array()?)));
    let (Action::Compare, Some((node, array))) = (&transfer.action, here) else {
        // Elements in another grid of chunks.
        return Err(differs().into());
    };
    let chunks = |one: &Opened, array: &ArrayMetadata| {
        let chunks = OfSource::new(
            Arc::clone(&one.source),
            (path.clone(), array.clone()),
            path.clone(),
        );
        let listed = one.source.chunks(path, array).try_filter_map(|entry| {
            let index = match entry {
                ChunkEntry::Chunk { index, .. } => Some(index),
                ChunkEntry::Ignored { .. } => None,
            };
            std::future::ready(Ok(index))
        });
        (chunks, listed.try_collect::<BTreeSet<ChunkIndex>>())
    };
    let (ours, here) = chunks(first, array);
    let (theirs, there) = chunks(other, &transfer.array);
    let (here, there) = (here.await?, there.await?);
    if here != there {
        return Err(differs().into());
    }
    for index in here {
        let (Some(ours), Some(theirs)) = (ours.read(&index).await?, theirs.read(&index).await?)
        else {
            return Err(differs().into());
        };
        let documents = (node.document().as_ref(), transfer.document.as_ref());
        let is_same = ours == theirs || equal_elements(array, &index, documents, (&ours, &theirs));
        if !is_same {
            return Err(differs().into());
        }
    }
    Ok(())
}

//! Chunks that are put together of the elements of other chunks: at seams between sources, where grids or codecs differ, and
//! where an array gets another grid.
//!
//! The chunks to make are cut into *blocks*. Along one axis, the sweep, a block reaches from the first chunk to the last one;
//! across, it is as wide as the chunks on both sides need to end at the same elements, if memory allows:
//!
//! ```text
//! chunks of parts    |   |   |   |   |   |   |     of 4 elements
//! chunks to make     |     |     |     |     |     of 6
//! blocks             |           |           |     of 12: no chunk of a part lies in two
//! ```
//!
//! Within a block the chunks of parts are read and decoded in the order of the sweep, each once, a few of them at a time on
//! all threads. A chunk begins with the first element that falls into it, and is encoded and written with the last one. So a
//! block holds the chunks that are open and the ones being decoded, however long the sweep is; `blocks` counts
//! how much that is, and makes blocks narrower until it fits [`Limits::elements`].

mod assembly;
mod block;
mod blocks;
mod gauge;
mod memory;
mod part;
mod recall;
mod sweep;

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::Session;

pub(crate) use self::assembly::{Assembly, Sink};
use self::block::{Block, BlockEvent};
use self::gauge::Gauge;
pub(crate) use self::part::{ChunksOf, OfSession, OfSource, Part};
use crate::limits::Budget;
use crate::{Ignored, ImportError, LayoutError, Limits, PlanError, Progress};

/// The counts of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assembled {
    /// Chunks that were written, and those that were recalled.
    pub(crate) chunks: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Chunks that were compared.
    pub(crate) compared: u64,
    /// Chunks of parts that were decoded for it.
    pub(crate) decoded: u64,
    /// The most bytes that were held at once: chunks encoded, decoded, and put together.
    pub(crate) held: u64,
    /// Files or objects beside the chunks of parts that are no chunks.
    pub(crate) ignored: Ignored,
}

/// Puts all chunks together. Decoding and encoding run on all threads of the runtime.
///
/// # Errors
/// [`LayoutError::TooManyBlocks`]; the first chunk that cannot be read, decoded, encoded or written, by name;
/// [`ImportError::ChunkDiffers`].
pub(crate) async fn run(
    session: &Session,
    all: Vec<Assembly>,
    limits: Limits,
    progress: &dyn Progress,
) -> Result<Assembled, ImportError> {
    let mut done = Assembled::default();
    let expected = all
        .iter()
        .map(|assembly| assembly.own_chunks(limits))
        .fold(0, u64::saturating_add);
    if expected == 0 {
        return Ok(done);
    }
    let parts = all.iter().flat_map(|assembly| &assembly.parts);
    let listed: Vec<Arc<dyn ChunksOf>> = parts
        .filter(|part| !part.is_moved)
        .map(|part| Arc::clone(&part.chunks))
        .collect();
    let divided: Result<Vec<_>, LayoutError> = all
        .into_iter()
        .map(|assembly| {
            let (blocks, assembly) = (assembly.blocks(limits), Arc::new(assembly));
            let too_many = || LayoutError::TooManyBlocks {
                path: assembly.path.clone(),
            };
            let regions = blocks.regions(&assembly).ok_or_else(too_many)?;
            Ok((assembly, blocks, regions))
        })
        .collect();
    let divided = divided.map_err(PlanError::from)?;
    progress.expected(expected);
    let (budget, gauge) = (Budget::of(limits.elements), Arc::new(Gauge::default()));
    let counted = Arc::clone(&gauge);
    let blocks = divided.into_iter().flat_map(|(assembly, blocks, regions)| {
        let gauge = Arc::clone(&counted);
        regions.map(move |region| {
            let (assembly, gauge) = (Arc::clone(&assembly), Arc::clone(&gauge));
            let block = Block::new(assembly, region, blocks.window, gauge);
            (Arc::new(block), blocks.held)
        })
    });
    let mut results = stream::iter(blocks)
        .map(|(block, held)| {
            let (session, budget) = (session.clone(), budget.clone());
            stream::once(async move {
                let held = budget.hold(held).await;
                block.run(session).map(move |done| {
                    let _held = &held;
                    done
                })
            })
            .flatten()
            .boxed()
        })
        .flatten_unordered(limits.chunks.max(1))
        .boxed();
    while let Some(one) = results.try_next().await? {
        match one {
            BlockEvent::Decoded => done.decoded += 1,
            BlockEvent::Absent => progress.absent(1),
            BlockEvent::Compared => {
                progress.absent(1);
                done.compared += 1;
            }
            BlockEvent::Written(bytes) => {
                progress.chunk(bytes);
                done.chunks += 1;
                done.bytes += bytes;
            }
        }
    }
    done.held = gauge.peak();
    for chunks in listed {
        done.ignored.merge(chunks.ignored());
    }
    Ok(done)
}

//! Which chunk objects some manifests need.

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ChunkRef, DecodeLimits};
use icefield_storage::Storage;

use super::CopyError;
use super::objects::{self, Decoded};
use crate::Progress;
use crate::gather::{Gather, Record};
use crate::listing::ObjectKind;

/// Manifests and snapshots on their way at a time: they may be large.
pub(crate) const FILES: usize = 4;

/// A chunk object that is needed, and up to which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Need {
    pub(crate) id: [u8; 12],
    pub(crate) end: u64,
    /// The receiver has it already.
    pub(crate) has: bool,
}

impl Record for Need {
    fn id(&self) -> [u8; 12] {
        self.id
    }
}

/// Sorts by id; of several ranges of one object the furthest end stays, and an object that is there for one range is there for all.
pub(crate) fn compact(needs: &mut Vec<Need>) {
    needs.sort_unstable();
    needs.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.end = kept.end.max(next.end);
            kept.has |= next.has;
        }
        same
    });
}

/// Reads manifests of the source and gathers what they need, as far as it belongs to this pass. `has` says that the
/// receiver has these manifests, and all that they name.
pub(crate) async fn gather(
    source: &dyn Storage,
    manifests: &[[u8; 12]],
    has: bool,
    limits: &DecodeLimits,
    progress: &dyn Progress,
    gather: &mut Gather<Need>,
) -> Result<(), CopyError> {
    progress.stage("reading manifests", Some(manifests.len() as u64));
    let mut files = stream::iter(manifests)
        .map(|id| objects::read_file(source, ObjectKind::Manifest, *id, limits))
        .buffered(FILES)
        .boxed();
    while let Some((file, decoded)) = files.try_next().await? {
        let Decoded::Manifest(manifest) = decoded else {
            unreachable!("BUG: the kind was asked for")
        };
        for array in manifest.arrays() {
            for record in array.refs() {
                if let ChunkRef::Native { id, offset, length } = record.chunk_ref()? {
                    let need = Need {
                        id: *id.as_bytes(),
                        // Decoding has checked that this stays within 64 bits.
                        end: offset.saturating_add(length),
                        has,
                    };
                    gather.push(need, compact);
                }
            }
        }
        progress.advance(1, file.len() as u64);
    }
    Ok(())
}

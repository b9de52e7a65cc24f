//! The chunks that are reachable, as sorted runs of ids and counts.
//!
//! A run has, for each of its ids, by how much the number of reachable manifests that refer to the chunk has changed;
//! what a chunk has in all is the sum over all runs. Each collection adds a small run, and merges the youngest ones when
//! they have become many, so that the work of a collection is in proportion to what is new. Any number of the oldest
//! runs make up what was counted at some time, so that the sum over these is never negative.

mod build;
mod cursor;
mod parts;

use serde::{Deserialize, Serialize};

use icefield_format::ChunkId;

pub(super) use build::TableBuilder;
pub(super) use cursor::Lookup;
pub(super) use parts::{Held, Parts, pack};

/// A run is merged with all younger ones once these have so many times its rows.
const GROWTH: u64 = 3;

pub(super) type Id = [u8; 12];

/// An id, and a change of the number of manifests that refer to it.
pub(super) type Row = (Id, i32);

/// The runs, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Table {
    pub(super) runs: Vec<Run>,
}

/// A run, and where its parts lie: `FOLDER/00000000` and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    folder: String,
    rows: u64,
    parts: Vec<Part>,
}

/// One object of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    /// The id of the first row.
    first: Id,
    /// Bytes of the object.
    bytes: u64,
}

impl Run {
    fn part_name(&self, part: usize) -> String {
        format!("{}/{part:08}", self.folder)
    }
}

impl Table {
    /// Whether this may have been written by a collection.
    pub(super) fn is_sound(&self) -> bool {
        self.runs.iter().all(|run| {
            let most = run.parts.len() as u64 * parts::ROWS as u64;
            let ascend = run.parts.is_sorted_by(|one, next| one.first < next.first);
            ascend && run.rows <= most && run.rows >= run.parts.len() as u64
        })
    }

    /// Returns from where on runs should be merged into one, if any should.
    fn overgrown(&self) -> Option<usize> {
        let rows = self.runs.iter().map(|run| run.rows);
        let mut younger = rows.fold(0_u64, u64::saturating_add);
        self.runs
            .iter()
            .position(|run| {
                younger = younger.saturating_sub(run.rows);
                younger >= run.rows.saturating_mul(GROWTH)
            })
            // The youngest one is alone with nothing.
            .filter(|first| first + 1 < self.runs.len())
    }
}

/// Returns the bytes of an id.
pub(super) fn bytes_of(id: ChunkId) -> Id {
    *id.as_bytes()
}

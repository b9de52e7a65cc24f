//! The runs of a table, and the objects that they are made of.

use icefield_format::ChunkId;
use serde::{Deserialize, Serialize};

/// A run is merged with all younger ones once these have so many times its rows.
const GROWTH: u64 = 3;

pub(crate) type Id = [u8; 12];

/// An id, and a change of the number of manifests that refer to it.
pub(super) type Row = (Id, i32);

/// The runs, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) runs: Vec<Run>,
}

/// A run, and where its parts lie: `FOLDER/00000000` and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(super) folder: String,
    pub(super) rows: u64,
    pub(super) parts: Vec<Part>,
}

/// One object of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The id of the first row.
    pub(super) first: Id,
    /// Bytes of the object.
    pub(super) bytes: u64,
}

impl Run {
    pub(super) fn part_name(&self, part: usize) -> String {
        format!("{}/{part:08}", self.folder)
    }
}

impl Table {
    /// Whether this may have been written by a collection.
    pub(crate) fn is_sound(&self) -> bool {
        self.runs.iter().all(|run| {
            let most = run.parts.len() as u64 * ROWS as u64;
            let ascend = run.parts.is_sorted_by(|one, next| one.first < next.first);
            ascend && run.rows <= most && run.rows >= run.parts.len() as u64
        })
    }

    /// Returns from where on runs should be merged into one, if any should.
    pub(super) fn overgrown(&self) -> Option<usize> {
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
pub(crate) fn bytes_of(id: ChunkId) -> Id {
    *id.as_bytes()
}

/// Rows of one part: a megabyte in memory.
pub(super) const ROWS: usize = 1 << 16;

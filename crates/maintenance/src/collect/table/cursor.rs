//! Reading runs.

use std::cmp::Ordering;

use super::parts::Parts;
use super::run::{Id, Row, Run, Table};
use crate::collect::error::CollectError;

/// A place in a run. One part is held.
#[derive(Debug)]
pub(super) struct Cursor {
    parts: Parts,
    run: Run,
    /// Which part is held, if one is.
    part: Option<usize>,
    rows: Vec<Row>,
    at: usize,
}

impl Cursor {
    pub(super) fn new(parts: &Parts, run: &Run) -> Self {
        Self {
            parts: parts.clone(),
            run: run.clone(),
            part: None,
            rows: Vec::new(),
            at: 0,
        }
    }

    async fn hold(&mut self, part: usize) -> Result<(), CollectError> {
        if self.part != Some(part) {
            // The held rows are dropped first.
            self.rows = Vec::new();
            self.rows = self.parts.read(&self.run, part).await?;
            (self.part, self.at) = (Some(part), 0);
        }
        Ok(())
    }

    /// Returns the next row.
    pub(super) async fn next(&mut self) -> Result<Option<Row>, CollectError> {
        while self.at == self.rows.len() {
            let next = self.part.map_or(0, |part| part + 1);
            if next == self.run.parts.len() {
                return Ok(None);
            }
            self.hold(next).await?;
        }
        let row = self.rows[self.at];
        self.at += 1;
        Ok(Some(row))
    }

    /// Returns the count of an id; 0 if the run does not have it. A part is read once if the ids ascend, and not at all
    /// if none lies in it.
    async fn count_of(&mut self, id: &Id) -> Result<i32, CollectError> {
        let after = self.run.parts.partition_point(|part| part.first <= *id);
        let Some(part) = after.checked_sub(1) else {
            return Ok(0);
        };
        self.hold(part).await?;
        // The next of an ascending list is mostly near.
        let near = self.rows[self.at..].iter().take(8);
        for (ahead, (head, count)) in near.enumerate() {
            match head.cmp(id) {
                Ordering::Less => {}
                Ordering::Equal => {
                    self.at += ahead;
                    return Ok(*count);
                }
                Ordering::Greater if ahead > 0 => {
                    self.at += ahead;
                    return Ok(0);
                }
                Ordering::Greater => break,
            }
        }
        let found = self.rows.binary_search_by_key(id, |(id, _)| *id);
        let (Ok(at) | Err(at)) = found;
        self.at = at;
        Ok(found.map_or(0, |at| self.rows[at].1))
    }
}

/// Answers questions about single chunks. They are best asked in ascending order of the ids.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// The youngest run first.
    cursors: Vec<Cursor>,
    /// How many of these the last marking has added.
    new: usize,
}

impl Lookup {
    /// Reads a table, to which the last marking has added so many runs.
    pub(crate) fn new(parts: &Parts, table: &Table, new: usize) -> Self {
        let runs = table.runs.iter().rev();
        Self {
            cursors: runs.map(|run| Cursor::new(parts, run)).collect(),
            new,
        }
    }

    /// Returns whether a manifest that is reachable refers to a chunk.
    pub(crate) async fn is_reachable(&mut self, id: &Id) -> Result<bool, CollectError> {
        let mut count = 0_i64;
        for cursor in &mut self.cursors {
            count += i64::from(cursor.count_of(id).await?);
            if count > 0 {
                // The counts of older runs do not add up to less than nothing.
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether fewer manifests refer to a chunk than before the last marking.
    pub(crate) async fn has_fallen(&mut self, id: &Id) -> Result<bool, CollectError> {
        let mut change = 0_i64;
        for cursor in self.cursors.iter_mut().take(self.new) {
            change += i64::from(cursor.count_of(id).await?);
        }
        Ok(change < 0)
    }
}

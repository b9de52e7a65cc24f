//! Making runs.

use super::cursor::Cursor;
use super::parts::Parts;
use super::run::{Id, ROWS, Row, Run, Table};
use crate::collect::error::CollectError;
use crate::collect::lock::Lock;

/// Gathers changes of counts, and adds them to a table as runs.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    parts: Parts,
    table: Table,
    /// Runs that were there before, and stay as they are.
    old: usize,
    folder: String,
    generation: u32,
    changes: Vec<Row>,
    most: usize,
}

impl TableBuilder {
    /// Begins with a table.
    pub(crate) fn new(parts: Parts, table: Table, folder: String, most: usize) -> Self {
        Self {
            parts,
            old: table.runs.len(),
            table,
            folder,
            generation: 0,
            changes: Vec::new(),
            most,
        }
    }

    /// Counts the chunks of a manifest: up if it appeared, down if it is gone. Each of its ids is counted once.
    pub(crate) async fn count(
        &mut self,
        mut ids: Vec<Id>,
        change: i32,
        lock: &mut Lock,
    ) -> Result<(), CollectError> {
        ids.sort_unstable();
        ids.dedup();
        if self.changes.len() + ids.len() > self.most {
            self.combine();
            if self.changes.len() + ids.len() > self.most / 2 {
                self.spill(lock).await?;
            }
        }
        self.changes.extend(ids.into_iter().map(|id| (id, change)));
        Ok(())
    }

    /// Sorts the changes, and adds up those of one id.
    fn combine(&mut self) {
        self.changes.sort_unstable_by_key(|(id, _)| *id);
        self.changes.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(next.1);
            }
            same
        });
        self.changes.retain(|(_, change)| *change != 0);
    }

    fn run(&mut self) -> Run {
        self.generation += 1;
        Run {
            folder: format!("{}/{}", self.folder, self.generation),
            rows: 0,
            parts: Vec::new(),
        }
    }

    /// Writes what was gathered as a run of its own.
    async fn spill(&mut self, lock: &mut Lock) -> Result<(), CollectError> {
        self.combine();
        let mut run = self.run();
        for rows in self.changes.chunks(ROWS) {
            self.parts.write(&mut run, rows).await?;
            lock.beat().await?;
        }
        self.changes.clear();
        if run.rows > 0 {
            self.table.runs.push(run);
        }
        // The runs of before are left as they are, so that what is new can be told.
        self.merge_from(self.old, lock).await
    }

    /// Merges runs that have become many, but none before the first given one.
    async fn merge_from(&mut self, first: usize, lock: &mut Lock) -> Result<(), CollectError> {
        let mut young = Table {
            runs: self.table.runs.split_off(first),
        };
        while let Some(from) = young.overgrown() {
            let merged = young.runs.split_off(from);
            let is_oldest = first + from == 0;
            let run = self.merged(&merged, is_oldest, lock).await?;
            if run.rows > 0 {
                young.runs.push(run);
            }
        }
        self.table.runs.append(&mut young.runs);
        Ok(())
    }

    /// Returns one run of several.
    async fn merged(
        &mut self,
        runs: &[Run],
        are_oldest: bool,
        lock: &mut Lock,
    ) -> Result<Run, CollectError> {
        let mut merged = self.run();
        let mut heads = Vec::new();
        for run in runs {
            let mut cursor = Cursor::new(&self.parts, run);
            if let Some(row) = cursor.next().await? {
                heads.push((row, cursor));
            }
        }
        let mut rows: Vec<Row> = Vec::with_capacity(ROWS);
        while let Some(id) = heads.iter().map(|((id, _), _)| *id).min() {
            let mut count = 0_i32;
            let mut at = 0;
            while at < heads.len() {
                let ((head, change), cursor) = &mut heads[at];
                if *head == id {
                    count = count.saturating_add(*change);
                    match cursor.next().await? {
                        Some(row) => (*head, *change) = row,
                        None => {
                            drop(heads.swap_remove(at));
                            continue;
                        }
                    }
                }
                at += 1;
            }
            // Nothing is taken back that was not counted; among the oldest runs, less than nothing is nothing.
            if count > 0 || (count < 0 && !are_oldest) {
                rows.push((id, count));
            }
            if rows.len() == ROWS {
                self.parts.write(&mut merged, &rows).await?;
                rows.clear();
                lock.beat().await?;
            }
        }
        self.parts.write(&mut merged, &rows).await?;
        Ok(merged)
    }

    /// Returns the table with all that was counted, and how many of its runs are new.
    pub(crate) async fn table(&mut self, lock: &mut Lock) -> Result<(Table, usize), CollectError> {
        self.spill(lock).await?;
        Ok((self.table.clone(), self.table.runs.len() - self.old))
    }

    /// Returns the table, with few runs.
    pub(crate) async fn compact(mut self, lock: &mut Lock) -> Result<Table, CollectError> {
        self.merge_from(0, lock).await?;
        Ok(self.table)
    }
}

//! Sweeping chunks, which are many: as few as possible are looked up in the table.

use icefield_format::layout::IdKey;

use super::{BATCH, Spared, Sweep, SweptKind, is_before};
use crate::collect::error::CollectError;
use crate::collect::table::{Lookup, Table, TableBuilder, bytes_of};

impl Sweep<'_> {
    /// Sweeps the chunks, and settles what was written before the cutoff.
    pub(super) async fn chunks(&mut self, spared: &mut Spared) -> Result<(), CollectError> {
        let kind = SweptKind::Chunks;
        self.collect.progress.stage(kind.stage(), None);
        let (settled, some_fell) = (self.marked.settled, self.marked.some_fell);
        let table = &self.marked.remembered.table;
        let mut lookup = Lookup::new(&self.marked.parts, table, self.marked.new_runs);
        let mut objects = self.list(kind)?;
        let mut batch = Vec::new();
        while let Some((id, object)) = objects.next().await? {
            self.lock.beat().await?;
            let IdKey::Chunk(id) = id else {
                // It is not below the prefix of another kind.
                continue;
            };
            self.report.note_date(&object, self.lock);
            if !self.is_old(&object) {
                self.swept(kind).spare(object.size);
                continue;
            }
            let id = bytes_of(id);
            let is_settled = settled.is_some_and(|before| is_before(&object, before));
            let is_kept = match is_settled && !(some_fell && lookup.has_fallen(&id).await?) {
                true => true,
                false => lookup.is_reachable(&id).await?,
            };
            if is_kept {
                self.swept(kind).keep(object.size);
                continue;
            }
            batch.push(object);
            if batch.len() == BATCH {
                self.delete(kind, std::mem::take(&mut batch), spared)
                    .await?;
            }
        }
        if !batch.is_empty() {
            self.delete(kind, batch, spared).await?;
        }
        if self.lock.is_real()
            && let Err(error) = self.settle(spared).await
        {
            // The next collection looks up more than it needs to.
            tracing::warn!(%error, "what was collected is not remembered");
        }
        Ok(())
    }

    /// Remembers that all garbage from before the cutoff is gone, in a table of few runs.
    async fn settle(&mut self, spared: &Spared) -> Result<(), CollectError> {
        let (parts, remembered) = (&self.marked.parts, &mut self.marked.remembered);
        let before = remembered.clone();
        // Chunks whose deletion failed are still there, and spared ones are not counted.
        let all = self.report.chunks.failed == 0 && !spared.old_chunks;
        let settled = match (self.marked.settled, self.marked.some_fell) {
            // A lower cutoff than before left nothing behind, since nothing became garbage.
            (Some(before), false) => before.max(self.lock.cutoff()),
            _ => self.lock.cutoff(),
        };
        remembered.settled = all.then_some(settled);
        let table: Table = std::mem::take(&mut remembered.table);
        let folder = format!("{}-compact", self.marked.folder);
        let builder = TableBuilder::new(parts.clone(), table, folder, self.collect.buffered);
        remembered.table = builder.compact(self.lock).await?;
        if *remembered == before {
            return Ok(());
        }
        self.lock.beat_now().await?;
        remembered.write(&*parts.storage).await?;
        if remembered.table != before.table {
            parts.delete_others(&remembered.table).await?;
        }
        Ok(())
    }
}

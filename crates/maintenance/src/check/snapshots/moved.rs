//! Chunks of one array that lie elsewhere than in the parent, and that no log names: a repacking moves chunks and changes none. Their
//! bytes decide.

use std::collections::BTreeMap;

use icefield_core::repair::{MovedBytes, MovedChunk, compare_moved};
use icefield_format::{ChunkId, NodeRecord, layout};
use icefield_storage::with_causes;

use super::arrays::SnapshotCheck;
use crate::check::compare::Fresh;
use crate::check::error::CheckError;
use crate::check::finding::{Finding, FindingKind};

impl SnapshotCheck<'_> {
    /// Compares the bytes of moved chunks, and adds those that changed to what the log keeps quiet.
    ///
    /// A chunk that is lost at one of its places is not judged: it is damage of the snapshot that needs it there, and found as such.
    pub(super) async fn moved(
        &mut self,
        record: &NodeRecord<'_>,
        fresh: &mut Fresh,
    ) -> Result<(), CheckError> {
        let moved = std::mem::take(&mut fresh.moved);
        if moved.is_empty() || !self.cx.judges {
            return Ok(());
        }
        let is_parent_known = !self.job.judge_all;
        if !is_parent_known && (fresh.unsaid.count > 0 || self.is_log_silent()) {
            // The snapshot was not made from this parent.
            return Ok(());
        }
        let chunks: Vec<MovedChunk> = moved.iter().map(|(_, moved)| *moved).collect();
        let compared = compare_moved(self.cx.objects.storage(), &chunks).await?;
        for ((index, _), bytes) in moved.iter().zip(compared.bytes) {
            match bytes {
                MovedBytes::Same => {}
                MovedBytes::Unknown if is_parent_known => {}
                MovedBytes::Unknown | MovedBytes::Other => fresh.unsaid.note(index),
            }
        }
        let refused = compared.refused.into_iter();
        let refused = refused.filter(|_| !self.cx.reads_all);
        let refused: BTreeMap<ChunkId, _> = refused.collect();
        for (id, error) in refused {
            let rule = with_causes(&error);
            let finding = Finding::new(FindingKind::ChunkUnreadable, layout::chunk_key(id), rule);
            self.find(finding.at(record.path()));
        }
        Ok(())
    }

    fn is_log_silent(&self) -> bool {
        let mut findings = self.verdict.findings.iter();
        findings.any(|it| it.kind == FindingKind::LogIncomplete)
    }
}

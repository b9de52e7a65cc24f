//! Transaction logs, written anew from what differs between two snapshots.

use std::collections::BTreeMap;

use icefield_core::{EditOutcome, Repository, SnapshotId};
use icefield_format::layout;
use icefield_storage::with_causes;

use super::{LogOutcome, LogRepair, Repair, RepairError};
use crate::Progress;
use crate::check::examined::Examined;
use crate::check::finding::FindingKind;

impl Repair {
    /// Mends the logs that a check has found missing, damaged or silent. Each is looked at again right before, and
    /// written on the condition that it is as it was then: one that can be decoded goes on telling what it told, since
    /// expiration lets logs tell more than their commits did.
    pub(super) async fn logs(
        &self,
        examined: &Examined,
        progress: &dyn Progress,
    ) -> Result<Vec<LogRepair>, RepairError> {
        let mut found: BTreeMap<SnapshotId, FindingKind> = BTreeMap::new();
        for finding in &examined.report.findings {
            if let (
                Some(snapshot),
                FindingKind::LogMissing | FindingKind::LogDamaged | FindingKind::LogIncomplete,
            ) = (finding.snapshot, finding.kind)
                // Logs of what expiration took out cannot be told from two snapshots.
                && finding.key == layout::transaction_log_key(snapshot)
            {
                found.insert(snapshot, finding.kind);
            }
        }
        let mut repository = None;
        let mut logs = Vec::new();
        let mut interrupted = Ok(());
        for (log_of, was) in found {
            interrupted = self.check.interrupt.check();
            if interrupted.is_err() {
                break;
            }
            let outcome = match (self.dry_run, &repository) {
                (true, _) => LogOutcome::Planned,
                (false, Some(repository)) => mend(repository, log_of).await,
                (false, None) => {
                    let opened = self.builder.clone().open().await?;
                    mend(repository.insert(opened), log_of).await
                }
            };
            logs.push(LogRepair {
                log_of,
                was,
                outcome,
            });
            progress.advance(1, 0);
        }
        let wrote = logs.iter().any(|it| it.outcome == LogOutcome::Done);
        if let Some(repository) = repository.filter(|_| wrote) {
            let synced = repository.storage().sync().await;
            synced.map_err(crate::check::CheckError::Storage)?;
        }
        interrupted?;
        Ok(logs)
    }
}

async fn mend(repository: &Repository, log_of: SnapshotId) -> LogOutcome {
    match repository.mend_log(log_of).await {
        Ok(EditOutcome::Done(_)) => LogOutcome::Done,
        Ok(EditOutcome::Refused(_)) => LogOutcome::Changed,
        Ok(EditOutcome::Unknown(source)) => LogOutcome::Unknown {
            reason: with_causes(&source),
        },
        Err(error) => LogOutcome::Failed {
            reason: with_causes(&error),
        },
    }
}

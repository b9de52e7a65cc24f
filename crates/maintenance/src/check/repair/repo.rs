//! The object `repo`, put back from a backup.
//!
//! The backups in `overwritten/` are states that `repo` had, byte by byte. The newest sound one lacks at least what the last write
//! added; nothing else tells of branches, tags and the graph. What was there is kept aside, and the write names it as its
//! condition: a program that replaces `repo` in between wins.

use icefield_core::EditOutcome;
use icefield_format::layout;
use icefield_refs::{PutBackMark, RepoContent, StoredRepo};
use icefield_storage::with_causes;

use super::{LogOutcome, Repair, RepairError, RepoRepair};
use crate::check::error::CheckError;
use crate::check::examined::Examined;
use crate::check::root::Root;

/// Why nothing is put back beside refs of version 1.
const BESIDE_REFS: &str = "refs/ has refs of spec version 1, which programs may write to since `repo` is gone: move them away, or keep the repository at version 1";

impl Repair {
    /// Puts the newest sound backup in the place of an object that is missing, damaged or foreign; none if it is none of that.
    pub(super) async fn put_back(
        &self,
        examined: &Examined,
    ) -> Result<Option<RepoRepair>, RepairError> {
        let Root::Object(root) = &examined.root else {
            return Ok(None);
        };
        let (Some(wrong), Some(earlier)) = (&root.wrong, &root.earlier) else {
            return Ok(None);
        };
        let mut repair = RepoRepair {
            was: wrong.kind,
            from: layout::overwritten_key(&earlier.name),
            as_of: earlier.info.log().newest_at(),
            passed_over: earlier.passed_over as u64,
            kept_aside: None,
            outcome: LogOutcome::Planned,
        };
        if root.has_refs {
            let reason = BESIDE_REFS.to_owned();
            repair.outcome = LogOutcome::Failed { reason };
        } else if !self.dry_run {
            self.check.interrupt.check()?;
            let put = root.stored.put_back(&self.check.storage, earlier).await;
            let (outcome, aside) = put.map_err(CheckError::Storage)?;
            repair.kept_aside = aside;
            repair.outcome = match outcome {
                EditOutcome::Done(_) => LogOutcome::Done,
                EditOutcome::Refused(_) => LogOutcome::Changed,
                EditOutcome::Unknown(source) => LogOutcome::Unknown {
                    reason: with_causes(&source),
                },
            };
        }
        Ok(Some(repair))
    }

    /// Settles an earlier put-back once `repo` lists all snapshots that are stored, or those that it does not were given up. Returns
    /// how many it does not list where it is not settled.
    pub(super) async fn settle(&self, examined: &Examined) -> Result<Option<u64>, RepairError> {
        let storage = &self.check.storage;
        if matches!(examined.root, Root::Files) {
            return Ok(None);
        }
        let is_set = PutBackMark::is_set(&**storage).await;
        if !is_set.map_err(CheckError::Storage)? {
            return Ok(None);
        }
        if !self.give_up {
            let stored = self.stored().await?;
            let now = StoredRepo::read(&**storage).await;
            let left = match now.map_err(CheckError::Storage)?.content {
                RepoContent::Sound(info) => {
                    let listed = info.snapshots();
                    stored.iter().filter(|id| !listed.contains(id)).count()
                }
                _ => stored.len(),
            };
            if left > 0 {
                return Ok(Some(left as u64));
            }
        }
        if !self.dry_run {
            let cleared = PutBackMark::clear(&**storage).await;
            cleared.map_err(CheckError::Storage)?;
        }
        Ok(None)
    }
}

//! Files of refs, given the spelling that their store has.

use icefield_refs::{EditOutcome, Ledger, Misspelled};
use icefield_storage::with_causes;

use super::{LogOutcome, RenamedRef, Repair, RepairError};
use crate::check::examined::Examined;
use crate::check::refs;

impl Repair {
    /// Renames what a check has found in the spelling of another kind of store. It is a ref, and names one only; nothing
    /// else below `refs/` is touched.
    pub(super) async fn rename(&self, examined: &Examined) -> Result<Vec<RenamedRef>, RepairError> {
        let store = refs::ledger(&self.check.storage, &examined.objects);
        let mut misspelled: Vec<&Misspelled> = examined.misspelled.iter().collect();
        // Tombstones first, which come last: a deleted tag is never seen without its own.
        misspelled.sort_by(|one, other| other.found.cmp(&one.found));
        let mut renamed = Vec::new();
        for one in misspelled {
            self.check.interrupt.check()?;
            let outcome = match self.dry_run {
                true => LogOutcome::Planned,
                false => respell(&store, one).await,
            };
            renamed.push(RenamedRef {
                from: one.found.to_string(),
                to: one.own.to_string(),
                outcome,
            });
        }
        Ok(renamed)
    }
}

async fn respell(store: &Ledger, one: &Misspelled) -> LogOutcome {
    match store.respell(one).await {
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

//! A collector: it deletes what killed writers left behind, while others write.

use std::time::Duration;

use icefield::maintenance::{Collect, CollectError};
use icefield_core::Repository;
use icefield_storage::{Clock as _, SystemClock};

use crate::protocol::say;

/// The pause between two collections.
const PAUSE: Duration = Duration::from_millis(700);

/// Collects until it is killed. Nothing younger than `floor` is deleted, and no session may be open for longer.
///
/// # Errors
/// Errors of the collection, unless another runs or the store may fail.
pub async fn run(repository: &Repository, floor: Duration, is_patient: bool) -> anyhow::Result<()> {
    loop {
        let collect = Collect::default().floor(floor).force_floor();
        match collect.run(repository).await {
            Ok(report) => say(&format!("deleted {}", report.total().deleted)),
            // One that was killed holds back the others for an hour.
            Err(CollectError::Running | CollectError::TakenOver) => say(&"held back"),
            Err(error) if is_patient => say(&format!("failed {error}")),
            Err(error) => {
                say(&format!("broken a collection: {error}"));
                return Err(error.into());
            }
        }
        SystemClock.sleep(PAUSE).await;
    }
}

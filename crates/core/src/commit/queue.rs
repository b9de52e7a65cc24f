//! Turns on a branch: writers of one process that would only make each other lose race after race wait for
//! each other instead.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use icefield_refs::BranchName;
use tokio::sync::OwnedMutexGuard;

use crate::repository::Shared;

type Turn = tokio::sync::Mutex<()>;

/// By location and branch.
type Queues = HashMap<(String, BranchName), Weak<Turn>>;

/// The branches on which somebody of this process is committing.
static QUEUES: Mutex<Option<Queues>> = Mutex::new(None);

/// Waits for our turn on a branch; it ends when the result is dropped. Fair: first come, first served.
pub(super) async fn turn(shared: &Shared, branch: &BranchName) -> OwnedMutexGuard<()> {
    let turn = {
        let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
        let queues = queues.get_or_insert_default();
        let key = (place(shared), branch.clone());
        match queues.get(&key).and_then(Weak::upgrade) {
            Some(turn) => turn,
            None => {
                queues.retain(|_, turn| turn.strong_count() > 0);
                let turn = Arc::new(Turn::new(()));
                queues.insert(key, Arc::downgrade(&turn));
                turn
            }
        }
    };
    turn.lock_owned().await
}

/// Says which store this is: by its place, or else as this very handle.
fn place(shared: &Shared) -> String {
    let place = shared.storage.place();
    place.unwrap_or_else(|| format!("{:p}", Arc::as_ptr(&shared.storage)))
}

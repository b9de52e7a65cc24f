//! Deletes, many to a request where nothing hangs on the state of the objects.

use std::collections::HashSet;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};

use super::Handle;
use super::request::{Fault, FaultKind};
use crate::{DeleteOutcome, Deletion, Key, StorageError};

type Answered = (Key, Result<DeleteOutcome, StorageError>);

/// Deletions that are asked for in one go.
const READY: usize = 1000;
/// Delete requests in flight.
const IN_FLIGHT: usize = 16;

pub(super) fn delete(
    handle: Arc<Handle>,
    deletions: BoxStream<'static, Deletion>,
) -> BoxStream<'static, Answered> {
    let groups = deletions.ready_chunks(READY);
    let answers = groups.then(move |group| {
        let handle = Arc::clone(&handle);
        async move { stream::iter(delete_group(&handle, group).await) }
    });
    answers.flatten().boxed()
}

/// Deletes a group, and answers in its order.
async fn delete_group(handle: &Handle, group: Vec<Deletion>) -> Vec<Answered> {
    if !handle.remote.capabilities().writable {
        let refused = |deletion: Deletion| {
            let store = handle.remote.to_string();
            (deletion.key, Err(StorageError::ReadOnly { store }))
        };
        return group.into_iter().map(refused).collect();
    }
    // One key twice: first the one, then the other.
    let mut seen = HashSet::new();
    let all_differ = group.iter().all(|deletion| seen.insert(&deletion.key));
    let in_flight = if all_differ { IN_FLIGHT } else { 1 };
    let mut jobs: Vec<Vec<Deletion>> = Vec::new();
    let limit = handle.remote.limits().delete_keys.max(1);
    for deletion in group {
        match jobs.last_mut() {
            Some(job)
                if job.len() < limit && deletion.version.is_none() && job[0].version.is_none() =>
            {
                job.push(deletion);
            }
            _ => jobs.push(vec![deletion]),
        }
    }
    let answers = stream::iter(jobs.into_iter().map(|job| async move {
        match <[Deletion; 1]>::try_from(job) {
            Ok([deletion]) => {
                let answer = delete_one(handle, &deletion).await;
                vec![(deletion.key, answer)]
            }
            Err(several) => delete_several(handle, several).await,
        }
    }));
    let in_order: Vec<Vec<Answered>> = answers.buffered(in_flight).collect().await;
    in_order.into_iter().flatten().collect()
}

async fn delete_several(handle: &Handle, deletions: Vec<Deletion>) -> Vec<Answered> {
    let keys: Vec<Key> = deletions.into_iter().map(|it| it.key).collect();
    let target = format!("{} objects from {} on", keys.len(), keys[0]);
    let mut call = handle.retries.call();
    let mut answers: Vec<Option<Result<DeleteOutcome, StorageError>>> = Vec::new();
    answers.resize_with(keys.len(), || None);
    let mut in_doubt = false;
    loop {
        let open: Vec<usize> = (0..keys.len())
            .filter(|at| answers[*at].is_none())
            .collect();
        let wanted: Vec<Key> = open.iter().map(|at| keys[*at].clone()).collect();
        let work = handle.remote.delete_keys(&wanted);
        let last = match handle.attempt("delete", &target, 0, work).await {
            Ok(answered) => {
                // A store that says nothing about a key may have deleted it.
                let silent = || super::retry::silent_about(&target);
                let mut last = (answered.len() < open.len()).then(silent);
                for (at, answer) in open.iter().zip(answered) {
                    match answer {
                        Ok(outcome) => answers[*at] = Some(Ok(outcome)),
                        Err(fault) if fault.kind == FaultKind::Final => {
                            answers[*at] = Some(Err(fault.error));
                        }
                        Err(fault) => last = Some(fault),
                    }
                }
                last
            }
            Err(fault) => Some(fault),
        };
        let Some(fault) = last else { break };
        in_doubt |= fault.kind == FaultKind::InDoubt;
        if !call.again(&fault).await {
            for at in (0..keys.len())
                .filter(|at| answers[*at].is_none())
                .collect::<Vec<_>>()
            {
                let error = of_one(&fault, &keys[at]);
                answers[at] = Some(match in_doubt {
                    true => Ok(DeleteOutcome::Unknown(error)),
                    false => Err(error),
                });
            }
            break;
        }
    }
    let answers = answers.into_iter().map(|it| match it {
        Some(answer) => answer,
        None => unreachable!("BUG: every key was answered"),
    });
    keys.into_iter().zip(answers).collect()
}

/// The fault of all keys, as the error of one.
fn of_one(fault: &Fault, key: &Key) -> StorageError {
    let (action, target) = ("delete", key.to_string());
    let source = || fault.to_string().into();
    match &fault.error {
        StorageError::Misconfigured {
            target,
            setting,
            problem,
        } => StorageError::Misconfigured {
            target: target.clone(),
            setting,
            problem: problem.clone(),
        },
        StorageError::PermissionDenied { .. } => StorageError::PermissionDenied {
            action,
            target,
            source: source(),
        },
        StorageError::Throttled { .. } => StorageError::Throttled {
            action,
            target,
            source: source(),
        },
        _ if fault.kind == FaultKind::Final => StorageError::Failed {
            action,
            target,
            source: source(),
        },
        _ => StorageError::Unavailable {
            action,
            target,
            source: source(),
        },
    }
}

async fn delete_one(handle: &Handle, deletion: &Deletion) -> Result<DeleteOutcome, StorageError> {
    let key = deletion.key.as_str();
    let mut call = handle.retries.call();
    let mut doubt: Option<StorageError> = None;
    loop {
        let work = handle.remote.delete(deletion);
        match (handle.attempt("delete", key, 0, work).await, doubt.take()) {
            (Ok(DeleteOutcome::Refused), Some(doubt)) => {
                // An earlier attempt may have deleted it, and another writer may have made the next one.
                return Ok(DeleteOutcome::Unknown(doubt));
            }
            (Ok(outcome), _) => return Ok(outcome),
            (Err(fault), earlier) => {
                let again = call.again(&fault).await;
                doubt = match fault.kind {
                    FaultKind::InDoubt => Some(fault.error),
                    _ if !again && earlier.is_none() => return Err(fault.error),
                    _ => earlier,
                };
                if !again {
                    let doubt = doubt.take();
                    return doubt
                        .map(DeleteOutcome::Unknown)
                        .ok_or_else(|| unreachable!("BUG: what is not in doubt has returned"));
                }
            }
        }
    }
}

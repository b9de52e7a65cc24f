//! Carries decisions out: how an operation begins, and what becomes of a write.

use super::decision::{Decision, Delivery, Verb, When};
use super::pending::{Outcome, Pending, Write};
use super::trace::Event;
use super::{Delivered, FaultyStorage, InjectedFault};
use crate::{DeleteOutcome, Key, ObjectMeta, PutOutcome, StorageError, StorageExt};

/// An operation that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    operation: u64,
    verb: Verb,
    pub(super) decision: Decision,
}

impl Begun {
    /// Returns the error that the decision gives.
    pub(super) fn error(&self, target: &str) -> StorageError {
        let Self {
            operation,
            verb,
            decision,
        } = *self;
        let action = match verb {
            Verb::Get => "read",
            Verb::Head => "look-up",
            Verb::Put => "write",
            Verb::List => "list",
            Verb::Delete => "delete",
            Verb::Copy => "copy",
            Verb::Sync => "sync",
        };
        let target = target.to_owned();
        let source = InjectedFault {
            operation,
            decision,
        }
        .into();
        match decision {
            // A dead process tries nothing again.
            Decision::Stop(_) => StorageError::Failed {
                action,
                target,
                source,
            },
            _ => StorageError::Unavailable {
                action,
                target,
                source,
            },
        }
    }
}

impl FaultyStorage {
    /// Begins an operation: lets what is due arrive, then decides.
    pub(super) async fn begin(&self, verb: Verb, key: &str) -> Result<Begun, StorageError> {
        let due = {
            let mut state = self.lock();
            let now = state.operations;
            let stopped = state.stopped;
            state
                .pending
                .extract_if(.., |pending| {
                    !stopped && pending.due.is_some_and(|due| due <= now)
                })
                .collect::<Vec<_>>()
        };
        self.deliver(due).await;
        self.begin_now(verb, key)
    }

    /// Begins an operation without letting anything arrive.
    pub(super) fn begin_now(&self, verb: Verb, key: &str) -> Result<Begun, StorageError> {
        let mut state = self.lock();
        if state.stopped {
            let operation = state.operations.saturating_sub(1);
            // Whatever the way it stopped, this operation came too late to have an effect.
            let decision = Decision::Stop(When::Before);
            return Err(Begun {
                operation,
                verb,
                decision,
            }
            .error(key));
        }
        let operation = state.operations;
        state.operations += 1;
        state.writes += u64::from(verb.is_write());
        let decision = state.plan.decide(operation, verb, key);
        state.stopped = matches!(decision, Decision::Stop(_));
        state.trace.push(Event {
            operation,
            verb,
            key: key.to_owned(),
            decision,
        });
        drop(state);
        assert!(
            decision != Decision::Panic,
            "injected panic in operation {operation}: {verb} {key:?}"
        );
        Ok(Begun {
            operation,
            verb,
            decision,
        })
    }

    /// Does what a decision asks for before a read or a `sync`, and gives the error that it is to end with.
    pub(super) async fn before_read(
        &self,
        begun: &Begun,
        target: &str,
    ) -> Result<(), StorageError> {
        match begun.decision {
            Decision::FailBefore | Decision::Stop(_) => Err(begun.error(target)),
            Decision::Delay(time) => {
                self.clock.sleep(time).await;
                Ok(())
            }
            Decision::Cancel(_) => self.hang().await,
            _ => Ok(()),
        }
    }

    async fn hang<T>(&self) -> T {
        self.hung.send_modify(|hung| *hung += 1);
        std::future::pending().await
    }

    /// Carries out a write as decided.
    pub(super) async fn write(&self, begun: Begun, write: Write) -> Result<Outcome, StorageError> {
        let target = write.key().to_string();
        let unknown = || Ok(Outcome::Unknown(begun.error(&target)));
        match begun.decision {
            Decision::FailBefore | Decision::Stop(When::Before) => Err(begun.error(&target)),
            Decision::FailAfter | Decision::Stop(When::After) => {
                // The answer is lost, whatever it was.
                let _ = self.perform(write).await;
                unknown()
            }
            Decision::Late(delivery) => {
                self.postpone(begun, write, delivery);
                unknown()
            }
            Decision::Stop(When::Late) => {
                self.postpone(begun, write, Delivery::OnDemand);
                unknown()
            }
            Decision::Cancel(when) => {
                match when {
                    When::Before => {}
                    When::After => {
                        let _ = self.perform(write).await;
                    }
                    When::Late => self.postpone(begun, write, Delivery::OnDemand),
                }
                self.hang().await
            }
            Decision::Twice => {
                let first = self.perform(write.clone()).await;
                let _ = self.perform(write).await;
                first
            }
            Decision::Retried => {
                let _ = self.perform(write.clone()).await;
                self.perform(write).await
            }
            Decision::Delay(time) => {
                self.clock.sleep(time).await;
                self.perform(write).await
            }
            _ => self.perform(write).await,
        }
    }

    fn postpone(&self, begun: Begun, write: Write, delivery: Delivery) {
        let operation = begun.operation;
        let due = match delivery {
            Delivery::After(others) => Some(operation + 1 + others),
            Delivery::OnDemand => None,
        };
        self.lock().pending.push(Pending {
            operation,
            due,
            write,
        });
    }

    pub(super) async fn deliver(&self, pending: Vec<Pending>) -> Vec<Delivered> {
        let mut delivered = Vec::new();
        for Pending {
            operation, write, ..
        } in pending
        {
            let key = write.key().clone();
            let outcome = self.perform(write).await;
            delivered.push(Delivered {
                operation,
                key,
                took_effect: outcome.is_ok_and(|outcome| outcome.took_effect()),
            });
        }
        delivered
    }

    /// Makes a write at the store and remembers the state that it made.
    async fn perform(&self, write: Write) -> Result<Outcome, StorageError> {
        let key = write.key().clone();
        if !self.lock().history.knows(&key) {
            let content = self.read_content(&key).await;
            self.lock().history.begin(&key, content);
        }
        match write {
            Write::Put(key, bytes, options) => {
                let outcome = self.inner.put(&key, bytes.clone().into(), options).await?;
                if let PutOutcome::Written(written) = &outcome {
                    let last_modified = match written.store_time {
                        Some(time) => Some(time),
                        None => match self.inner.head(&key).await {
                            Ok(meta) => meta.last_modified,
                            Err(_) => None,
                        },
                    };
                    let meta = ObjectMeta {
                        key: key.clone(),
                        size: bytes.len() as u64,
                        version: written.version.clone(),
                        last_modified,
                    };
                    let content = last_modified.map(|_| (bytes, meta));
                    self.lock().history.push(&key, content);
                }
                Ok(Outcome::Put(outcome))
            }
            Write::Copy(from, to, options) => {
                let outcome = self.inner.copy(&from, &to, options).await?;
                if let PutOutcome::Written(_) = &outcome {
                    let content = self.read_content(&to).await;
                    self.lock().history.push(&to, content);
                }
                Ok(Outcome::Put(outcome))
            }
            Write::Delete(deletion) => Ok(match self.inner.delete_one(deletion).await? {
                DeleteOutcome::Deleted => {
                    self.lock().history.push(&key, None);
                    Outcome::Deleted
                }
                DeleteOutcome::Refused => Outcome::Refused,
                DeleteOutcome::Unknown(error) => Outcome::Unknown(error),
            }),
        }
    }

    /// Reads the present state of an object for the history.
    async fn read_content(&self, key: &Key) -> super::history::Content {
        self.inner.read(key).await.ok()
    }
}

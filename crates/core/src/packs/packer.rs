//! Filling packs, and sending them to the store.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{join_all, select_all};
use icefield_format::ChunkId;
use tokio::runtime::Handle;

use super::rules::PackRules;
use super::state::{Packs, Sent};
use super::unwritten::Unwritten;
use crate::SessionError;
use crate::objects::Objects;

/// Puts the chunks of a session and its forks into packs.
#[derive(Debug)]
pub(crate) struct Packer {
    objects: Arc<Objects>,
    unwritten: Arc<Unwritten>,
    packs: Arc<Packs>,
    /// Each append takes it, so that chunks lie in the order in which they came, also those that waited.
    turn: tokio::sync::Mutex<()>,
}

/// Packs that were sent to the store.
#[derive(Clone, Debug, Default)]
#[must_use = "they are stored once they are waited for"]
pub(crate) struct SentPacks(BTreeSet<ChunkId>);

/// A pack that could not be stored. Its bytes are still here.
#[derive(Clone, Debug)]
pub(crate) struct NotStored {
    pub(crate) id: ChunkId,
    pub(crate) error: Arc<SessionError>,
}

impl Packer {
    pub(crate) fn new(objects: &Arc<Objects>, unwritten: &Arc<Unwritten>) -> Self {
        Self {
            objects: Arc::clone(objects),
            unwritten: Arc::clone(unwritten),
            packs: Arc::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Puts a chunk into the open pack, as soon as there is room; returns the pack and the place in it. `draw` gives the id of a
    /// new pack.
    ///
    /// # Errors
    /// There is no room, and packs that were sent again did not make any.
    pub(crate) async fn append(
        &self,
        chunk: &[u8],
        rules: &PackRules,
        draw: impl Fn() -> ChunkId,
    ) -> Result<(ChunkId, u64), Vec<NotStored>> {
        let _turn = self.turn.lock().await;
        // Known before it can be closed: a commit on another thread may store it at once, and then it is to be forgotten.
        let draw = move || {
            let id = draw();
            self.unwritten.add(id, Arc::downgrade(&self.packs));
            id
        };
        let mut has_retried = false;
        loop {
            let appended = self.packs.append(chunk, rules, &draw);
            self.send();
            if let Some(appended) = appended {
                return Ok((appended.id, appended.offset));
            }
            if !has_retried {
                has_retried = true;
                self.packs.retry();
                self.send();
            }
            let uploads = self.packs.uploads();
            if uploads.is_empty() {
                let failures = not_stored(self.packs.failures());
                match failures.is_empty() {
                    true => continue,
                    false => return Err(failures),
                }
            }
            select_all(uploads).await;
        }
    }

    /// Lets go of chunks that nothing refers to any more.
    pub(crate) fn forget(&self, chunks: impl Iterator<Item = (ChunkId, u64)>) {
        self.remove(self.packs.forget(chunks));
    }

    /// Lets go of a chunk that another one is about to replace. Returns where that one is then in its pack.
    pub(crate) fn replace(&self, old: (ChunkId, u64), new: (ChunkId, u64)) -> u64 {
        let (offset, gone) = self.packs.replace(old, new);
        self.remove(gone);
        offset
    }

    fn remove(&self, gone: Vec<ChunkId>) {
        for id in gone {
            self.unwritten.remove(id);
        }
    }

    /// Keeps what has been put into the open pack: others refer to it, too.
    pub(crate) fn pin(&self) {
        self.packs.pin();
    }

    /// Stores all packs, those that failed before once more.
    ///
    /// # Errors
    /// The packs that could not be stored. They can be tried again.
    pub(crate) async fn close(&self) -> Result<(), Vec<NotStored>> {
        let sent = self.send_those(|_| true);
        self.finish(&sent).await
    }

    /// Closes the open pack if it is among some objects, and sends the packs among them that are not on their way, those that failed
    /// before once more. Others may fail, and wait for those who need them.
    pub(crate) fn send_among(&self, objects: &BTreeSet<ChunkId>) -> SentPacks {
        self.send_those(|id| objects.contains(id))
    }

    fn send_those(&self, is_wanted: impl Fn(&ChunkId) -> bool) -> SentPacks {
        let send = |id, bytes| self.upload(id, bytes);
        let closing = self.packs.close(is_wanted, send);
        if let Some(empty) = closing.empty {
            self.unwritten.remove(empty);
        }
        SentPacks(closing.packs)
    }

    /// Waits until packs are stored.
    ///
    /// # Errors
    /// The packs that could not be stored. They can be tried again.
    pub(crate) async fn finish(&self, sent: &SentPacks) -> Result<(), Vec<NotStored>> {
        // A pack that failed may be on its way again before this task goes on, sent by another one that shares the packs. Stored
        // are only those that are here no more.
        loop {
            let progress = self.packs.progress(&sent.0);
            if progress.waiting {
                self.send();
            } else if !progress.uploads.is_empty() {
                join_all(progress.uploads).await;
            } else if progress.failed.is_empty() {
                return Ok(());
            } else {
                return Err(not_stored(progress.failed));
            }
        }
    }

    /// Returns whether all packs are stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    /// Returns the bytes of chunks in memory.
    pub(crate) fn buffered(&self) -> usize {
        self.packs.buffered()
    }

    /// Returns when packs were stored, by the store's clock, each time once.
    pub(crate) fn take_times(&self) -> Vec<SystemTime> {
        self.packs.take_times()
    }

    fn send(&self) {
        self.packs.send(|id, bytes| self.upload(id, bytes));
    }

    /// Begins to store a pack. Without a runtime it goes on only while it is waited for.
    ///
    /// The id is its own, and an upload that ended unknown may have stored the same bytes under it: to try again is safe.
    fn upload(&self, id: ChunkId, bytes: Bytes) -> Sent {
        let (objects, unwritten) = (Arc::clone(&self.objects), Arc::clone(&self.unwritten));
        let packs = Arc::downgrade(&self.packs);
        let upload = async move {
            let put = AssertUnwindSafe(objects.put_chunk(id, bytes)).catch_unwind();
            let stored = put.await.unwrap_or_else(|_| {
                let what = "storing a pack of chunks panicked".to_owned();
                Err(SessionError::Aborted(what))
            });
            let Some(packs) = packs.upgrade() else { return };
            match stored {
                Ok(time) => {
                    packs.stored(id, time);
                    unwritten.remove(id);
                }
                Err(error) => {
                    tracing::debug!(%id, %error, "a pack of chunks stays in memory");
                    for gone in packs.failed(id, error) {
                        unwritten.remove(gone);
                    }
                }
            }
        };
        let upload = upload.boxed().shared();
        let task =
            Handle::try_current().map(|runtime| runtime.spawn(upload.clone()).abort_handle());
        (upload, task.ok())
    }
}

fn not_stored(failed: Vec<(ChunkId, Arc<SessionError>)>) -> Vec<NotStored> {
    let failed = failed.into_iter();
    failed.map(|(id, error)| NotStored { id, error }).collect()
}

impl Drop for Packer {
    /// Chunks that are not stored are not needed: nothing but their session refers to them.
    fn drop(&mut self) {
        for id in self.packs.abandon() {
            self.unwritten.remove(id);
        }
    }
}

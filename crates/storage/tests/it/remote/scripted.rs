//! A store in memory whose requests fail as they are told to.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use icefield_storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Part, Remote, Stored, Upload, WriteRequest,
};
use icefield_storage::{
    Body, Bytes, Capabilities, Clock, Deletion, GetOptions, GetRange, Key, KeyForm, ListOptions,
    Object, PutOptions, PutOutcome, Storage, StorageError, StorageExt, SystemClock,
};
use icefield_storage_memory::MemoryStorage;

/// The fate of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Fine,
    Before(FaultKind),
    After(FaultKind),
    Silence,
    /// Of a read: a byte now and then.
    Drip,
}

type Script = dyn Fn(&'static str, u64) -> Fate + Send + Sync;

/// Ids of writes, and parts of uploads.
#[derive(Default)]
struct Notes {
    ids: HashMap<Key, (icefield_storage::Version, String)>,
    uploads: BTreeMap<String, BTreeMap<u32, Bytes>>,
}

#[derive(Clone)]
pub(crate) struct Scripted {
    memory: MemoryStorage,
    notes: Arc<Mutex<Notes>>,
    script: Arc<Script>,
    requests: Arc<AtomicU64>,
    in_streams: bool,
    dripped: Arc<AtomicU64>,
}

impl Scripted {
    pub(crate) fn new(script: impl Fn(&'static str, u64) -> Fate + Send + Sync + 'static) -> Self {
        Self {
            memory: MemoryStorage::new(),
            notes: Arc::default(),
            script: Arc::new(script),
            requests: Arc::default(),
            in_streams: false,
            dripped: Arc::default(),
        }
    }

    /// Bytes that were taken out of bodies that drip.
    pub(crate) fn dripped(&self) -> u64 {
        self.dripped.load(Ordering::SeqCst)
    }

    /// Without uploads in parts: large objects are written as one stream.
    pub(crate) fn in_streams(mut self) -> Self {
        self.in_streams = true;
        self
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    async fn send<T>(
        &self,
        action: &'static str,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        self.send_unless(action, |_| false, work).await
    }

    /// As [`Scripted::send`]; an answer that is `refused` is never lost.
    async fn send_unless<T>(
        &self,
        action: &'static str,
        refused: impl Fn(&T) -> bool,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let fate = (self.script)(action, self.requests.fetch_add(1, Ordering::SeqCst));
        let fault = |kind| {
            let (target, source) = ("the script".to_owned(), "as told".into());
            let error = match kind {
                FaultKind::Throttled => StorageError::Throttled {
                    action,
                    target,
                    source,
                },
                _ => StorageError::Unavailable {
                    action,
                    target,
                    source,
                },
            };
            Err(Fault::new(kind, error))
        };
        match fate {
            Fate::Fine | Fate::Drip => work.await,
            Fate::Before(kind) => fault(kind),
            // Of a write, only an answer that says "done" is lost: a refusal after an attempt in doubt is in
            // doubt itself, which the suite does not allow for.
            Fate::After(kind) => match work.await {
                Ok(answer) if refused(&answer) => Ok(answer),
                _ => fault(kind),
            },
            Fate::Silence => std::future::pending().await,
        }
    }

    async fn write(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        let options = PutOptions::mode(write.mode.clone());
        match self.memory.put(key, bytes.into(), options).await? {
            PutOutcome::Written(written) => {
                let id = (written.version.clone(), write.write_id.clone());
                self.notes
                    .lock()
                    .expect("unpoisoned")
                    .ids
                    .insert(key.clone(), id);
                Ok(Answer::Done(written))
            }
            PutOutcome::Refused => Ok(Answer::Refused),
            PutOutcome::Unknown(error) => Err(Fault::new(FaultKind::InDoubt, error)),
        }
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl fmt::Display for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scripted store")
    }
}

#[async_trait]
impl Remote for Scripted {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::Raw);
        capabilities.durable = false;
        capabilities
    }

    fn place(&self) -> String {
        "scripted".to_owned()
    }

    fn limits(&self) -> Limits {
        if self.in_streams {
            return Limits::whole(4 << 20);
        }
        Limits::whole(4 << 20)
            .with_parts(1 << 18, 100)
            .with_delete_keys(7)
    }

    fn is_known_to_honour_conditions(&self) -> bool {
        false
    }

    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        let drips = (self.script)("read", self.requests()) == Fate::Drip;
        self.send("read", async {
            let mut object = self.memory.get(key, options.clone()).await?;
            let most = at_most.filter(|_| !matches!(options.range, GetRange::Suffix(_)));
            if let (Some(most), Body::Bytes(bytes)) = (most, &mut object.body) {
                let end = object.range.end.min(object.range.start + most);
                bytes.truncate((end - object.range.start) as usize);
                object.range.end = end;
            }
            if let (true, Body::Bytes(bytes)) = (drips, &object.body) {
                let dripped = Arc::clone(&self.dripped);
                let single = futures::stream::iter(bytes.to_vec()).then(move |byte| {
                    dripped.fetch_add(1, Ordering::SeqCst);
                    async move {
                        SystemClock.sleep(Duration::from_secs(19)).await;
                        Ok(Bytes::from(vec![byte]))
                    }
                });
                object.body = Body::Stream(single.boxed());
            }
            Ok(object)
        })
        .await
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        self.send("look", async {
            let meta = self.memory.head(key).await?;
            let notes = self.notes.lock().expect("unpoisoned");
            let id = notes
                .ids
                .get(key)
                .filter(|(version, _)| *version == meta.version);
            Ok(Stored {
                write_id: id.map(|(_, id)| id.clone()),
                meta,
                etag: None,
            })
        })
        .await
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        let refused = |answer: &Answer| *answer == Answer::Refused;
        let work = self.write(key, bytes, write);
        self.send_unless("write", refused, work).await
    }

    async fn put_stream(
        &self,
        key: &Key,
        _: Option<u64>,
        parts: BoxStream<'static, Result<Bytes, StorageError>>,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let refused = |answer: &Answer| *answer == Answer::Refused;
        let parts: Vec<Bytes> = parts.try_collect().await?;
        let work = self.write(key, parts.concat().into(), write);
        self.send_unless("write a stream", refused, work).await
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        let work = async { Ok(self.memory.delete_one(deletion.clone()).await?) };
        self.send("delete", work).await
    }

    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        assert!(keys.len() <= self.limits().delete_keys);
        self.send("delete", async {
            let deletions = futures::stream::iter(keys.to_vec())
                .map(Deletion::from)
                .boxed();
            let answers: Vec<_> = self.memory.delete(deletions).collect().await;
            Ok(answers
                .into_iter()
                .map(|(_, it)| it.map_err(Fault::from))
                .collect())
        })
        .await
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        self.send("list", async {
            let mut options = options.clone();
            if let Some(token) = token {
                options.start_after = Some(Key::parse(token).map_err(StorageError::from)?);
            }
            let mut list = self.memory.list(options);
            let mut page = Page::default();
            let mut last = None;
            while page.entries.len() < 100
                && let Some(object) = list.next().await
            {
                let object = object?;
                last = Some(object.key.to_string());
                page.entries.push(Ok(object));
            }
            page.next = last.filter(|_| page.entries.len() == 100);
            Ok(page)
        })
        .await
    }

    async fn begin_upload(&self, _: &Key, write: &WriteRequest) -> Result<Upload, Fault> {
        self.send("begin", async {
            let id = format!("{}-{}", write.write_id, self.requests());
            let mut notes = self.notes.lock().expect("unpoisoned");
            notes.uploads.insert(id.clone(), BTreeMap::new());
            Ok(Upload { id })
        })
        .await
    }

    async fn put_part(
        &self,
        _: &Key,
        upload: &Upload,
        number: u32,
        bytes: Bytes,
    ) -> Result<Part, Fault> {
        self.send("part", async {
            let mut notes = self.notes.lock().expect("unpoisoned");
            let parts = notes.uploads.get_mut(&upload.id).expect("it has begun");
            parts.insert(number, bytes);
            let tag = number.to_string();
            Ok(Part { number, tag })
        })
        .await
    }

    async fn complete_upload(
        &self,
        key: &Key,
        upload: &Upload,
        parts: &[Part],
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let refused = |answer: &Answer| *answer == Answer::Refused;
        self.send_unless("complete", refused, async {
            let found = {
                let notes = self.notes.lock().expect("unpoisoned");
                notes.uploads.get(&upload.id).cloned()
            };
            let Some(found) = found else {
                let error = StorageError::NotFound { key: key.clone() };
                return Err(Fault::new(FaultKind::Vanished, error));
            };
            assert!(
                found.keys().copied().eq(1..=parts.len() as u32),
                "all parts, once"
            );
            let bytes: Vec<u8> = found.into_values().flatten().collect();
            let answer = self.write(key, bytes.into(), write).await?;
            if answer != Answer::Refused {
                self.notes
                    .lock()
                    .expect("unpoisoned")
                    .uploads
                    .remove(&upload.id);
            }
            Ok(answer)
        })
        .await
    }

    async fn abort_upload(&self, _: &Key, upload: &Upload) -> Result<(), Fault> {
        self.send("abort", async {
            self.notes
                .lock()
                .expect("unpoisoned")
                .uploads
                .remove(&upload.id);
            Ok(())
        })
        .await
    }
}

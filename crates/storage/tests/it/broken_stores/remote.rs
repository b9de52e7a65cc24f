//! A store behind a network, in memory, that is broken in one way below the layer that makes a storage of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use icefield_storage::remote::{
    Answer, Deleted, Fault, Limits, Page, Part, Remote, Stored, Upload, WriteRequest,
};
use icefield_storage::{
    Body, Bytes, Capabilities, Clock, Deletion, GetOptions, GetRange, Key, KeyForm, ListOptions,
    Listed, Object, ObjectMeta, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
    SystemClock, UnreadableName, Version,
};
use icefield_storage_memory::MemoryStorage;

/// Entries of a page.
const PAGE: usize = 300;

/// The way in which it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteFlaw {
    None,
    /// Carries out updates whatever is there.
    IgnoresIfMatch,
    /// Looks, lets others go ahead, then writes.
    ChecksThenWrites,
    /// Honours conditions of whole writes, and forgets them at the end of an upload in parts.
    ForgetsConditionsOfUploads,
    /// Its pages are not in byte order.
    UnorderedList,
    /// Its pages are not in byte order, but for the first.
    UnorderedLaterPages,
    /// Shows the first page again in place of the second.
    RepeatsPages,
    /// Every body ends early, the description is right.
    TruncatesReads,
    /// The first body of each object ends early, and no other.
    TruncatesFirstReads,
    /// Leaves out what has a name that is no key.
    DropsUnreadable,
    /// Answers with the whole object when a part is asked for.
    IgnoresRanges,
    /// Reads parts of whatever is there now.
    IgnoresIfMatchOfReads,
    /// Says 412 for the very write that it carries out, and keeps the id of the write.
    RefusesItsOwnWrites,
    /// Says so of every second one, and keeps no id.
    RefusesAndForgets,
}

#[derive(Clone, Debug)]
pub(crate) struct Broken {
    memory: MemoryStorage,
    flaw: RemoteFlaw,
    notes: Arc<Mutex<Notes>>,
}

#[derive(Debug, Default)]
struct Notes {
    /// Which write made a state.
    ids: HashMap<Key, (Version, String)>,
    uploads: BTreeMap<String, BTreeMap<u32, Bytes>>,
    begun: usize,
    /// Conditional writes that were carried out.
    conditional: usize,
    /// Parts of each upload that was finished.
    finished: Vec<usize>,
    /// States whose first read is over.
    read: Vec<Version>,
}

impl Broken {
    pub(crate) fn new(flaw: RemoteFlaw) -> Self {
        Self {
            memory: MemoryStorage::new(),
            flaw,
            notes: Arc::default(),
        }
    }

    /// Puts an object under a name that is no key.
    pub(crate) fn plant(&self, name: &[u8]) -> bool {
        // Names come back from the memory store as text.
        std::str::from_utf8(name).is_ok() && self.memory.plant_unreadable(name, 0)
    }

    /// Returns how many parts the uploads had that were finished, and how many uploads are open.
    pub(crate) fn uploads(&self) -> (Vec<usize>, usize) {
        let notes = self.notes();
        (notes.finished.clone(), notes.uploads.len())
    }

    fn has(&self, flaw: RemoteFlaw) -> bool {
        self.flaw == flaw
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().expect("unpoisoned")
    }

    /// Writes under a condition, as far as it is honoured.
    async fn write(
        &self,
        key: &Key,
        bytes: Bytes,
        write: &WriteRequest,
        mode: PutMode,
    ) -> Result<Answer, Fault> {
        let mode = match mode {
            PutMode::Update(_) if self.has(RemoteFlaw::IgnoresIfMatch) => PutMode::Overwrite,
            mode if self.has(RemoteFlaw::ChecksThenWrites) => {
                let now = self.memory.head(key).await.ok().map(|meta| meta.version);
                let holds = match &mode {
                    PutMode::Overwrite => true,
                    PutMode::Create => now.is_none(),
                    PutMode::Update(version) => now.as_ref() == Some(version),
                };
                // Long enough for others to check, too, also where the machine is busy.
                SystemClock.sleep(Duration::from_millis(1)).await;
                if !holds {
                    return Ok(Answer::Refused);
                }
                PutMode::Overwrite
            }
            mode => mode,
        };
        let conditional = mode != PutMode::Overwrite;
        let put = self.memory.put(key, bytes.into(), PutOptions::mode(mode));
        let PutOutcome::Written(written) = put.await? else {
            return Ok(Answer::Refused);
        };
        let mut notes = self.notes();
        notes.conditional += usize::from(conditional);
        let refuses = conditional
            && match self.flaw {
                RemoteFlaw::RefusesItsOwnWrites => true,
                // Not always, or a client that tries again would never come to an end.
                RemoteFlaw::RefusesAndForgets => notes.conditional % 2 == 1,
                _ => false,
            };
        if !self.has(RemoteFlaw::RefusesAndForgets) {
            let id = (written.version.clone(), write.write_id.clone());
            notes.ids.insert(key.clone(), id);
        }
        Ok(match refuses {
            true => Answer::Refused,
            false => Answer::Done(written),
        })
    }

    /// Cuts a body, while its description stays.
    fn cut(&self, object: &mut Object) {
        let version = object.meta.version.clone();
        let cuts = match self.flaw {
            RemoteFlaw::TruncatesReads => true,
            RemoteFlaw::TruncatesFirstReads => {
                let mut notes = self.notes();
                let first = !notes.read.contains(&version);
                notes.read.push(version);
                first
            }
            _ => false,
        };
        if let (true, Body::Bytes(bytes)) = (cuts, &mut object.body) {
            bytes.truncate(bytes.len() / 2);
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a store behind a network, {:?}", self.flaw)
    }
}

#[async_trait]
impl Remote for Broken {
    fn capabilities(&self) -> Capabilities {
        Capabilities::full(KeyForm::Raw)
    }

    fn place(&self) -> String {
        format!("broken:{:p}", Arc::as_ptr(&self.notes))
    }

    fn limits(&self) -> Limits {
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
        let mut options = options.clone();
        if self.has(RemoteFlaw::IgnoresIfMatchOfReads) {
            options.if_match = None;
        }
        if self.has(RemoteFlaw::IgnoresRanges) {
            options.range = GetRange::All;
            return Ok(self.memory.get(key, options).await?);
        }
        let suffix = matches!(options.range, GetRange::Suffix(_));
        let mut object = self.memory.get(key, options).await?;
        if let (Some(most), Body::Bytes(bytes)) = (at_most.filter(|_| !suffix), &mut object.body) {
            let end = object.range.end.min(object.range.start + most);
            bytes.truncate((end - object.range.start) as usize);
            object.range.end = end;
        }
        self.cut(&mut object);
        Ok(object)
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        let meta = self.memory.head(key).await?;
        let notes = self.notes();
        let id = notes.ids.get(key).filter(|(of, _)| *of == meta.version);
        Ok(Stored {
            write_id: id.map(|(_, id)| id.clone()),
            meta,
            etag: None,
        })
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        self.write(key, bytes, write, write.mode.clone()).await
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        Ok(self.memory.delete_one(deletion.clone()).await?)
    }

    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        let mut answers = Vec::new();
        for key in keys {
            answers.push(self.delete(&Deletion::from(key.clone())).await);
        }
        Ok(answers)
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        let mut options = options.clone();
        if let Some(token) = token.filter(|_| !self.has(RemoteFlaw::RepeatsPages)) {
            options.start_after = Some(Key::parse(token).map_err(StorageError::from)?);
        }
        let mut list = self.memory.list(options);
        let mut page = Page::default();
        // The token is a key: a page ends with an object.
        while (page.entries.len() < PAGE || page.entries.last().is_some_and(Result::is_err))
            && let Some(item) = list.next().await
        {
            match Listed::of(item)? {
                Listed::Object(object) => page.entries.push(Ok(object)),
                Listed::Unreadable { .. } if self.has(RemoteFlaw::DropsUnreadable) => {}
                Listed::Unreadable { raw, problem } => {
                    page.entries.push(Err(UnreadableName::new(raw, problem)));
                }
            }
        }
        if page.entries.len() >= PAGE
            && let Some(Ok(last)) = page.entries.last()
        {
            page.next = Some(last.key.to_string());
        }
        let later = self.has(RemoteFlaw::UnorderedLaterPages) && token.is_some();
        if later || self.has(RemoteFlaw::UnorderedList) {
            let name = |entry: &Result<ObjectMeta, UnreadableName>| match entry {
                Ok(object) => object.key.as_str().as_bytes().to_vec(),
                Err(unreadable) => unreadable.name().to_vec(),
            };
            let segments = |name: &[u8]| -> Vec<Vec<u8>> {
                name.split(|byte| *byte == b'/')
                    .map(<[u8]>::to_vec)
                    .collect()
            };
            page.entries
                .sort_by_cached_key(|entry| segments(&name(entry)));
            let third = page.entries.len() / 3;
            page.entries.rotate_left(third);
        }
        Ok(page)
    }

    async fn begin_upload(&self, _: &Key, _: &WriteRequest) -> Result<Upload, Fault> {
        let mut notes = self.notes();
        notes.begun += 1;
        let id = notes.begun.to_string();
        notes.uploads.insert(id.clone(), BTreeMap::new());
        Ok(Upload { id })
    }

    async fn put_part(
        &self,
        _: &Key,
        upload: &Upload,
        number: u32,
        bytes: Bytes,
    ) -> Result<Part, Fault> {
        let mut notes = self.notes();
        let parts = notes.uploads.get_mut(&upload.id).expect("it has begun");
        parts.insert(number, bytes);
        let tag = number.to_string();
        Ok(Part { number, tag })
    }

    async fn complete_upload(
        &self,
        key: &Key,
        upload: &Upload,
        _: &[Part],
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let parts = self.notes().uploads.remove(&upload.id).unwrap_or_default();
        self.notes().finished.push(parts.len());
        let bytes: Vec<u8> = parts.into_values().flatten().collect();
        let mode = match self.has(RemoteFlaw::ForgetsConditionsOfUploads) {
            true => PutMode::Overwrite,
            false => write.mode.clone(),
        };
        self.write(key, bytes.into(), write, mode).await
    }

    async fn abort_upload(&self, _: &Key, upload: &Upload) -> Result<(), Fault> {
        self.notes().uploads.remove(&upload.id);
        Ok(())
    }
}

//! Reading a zip file as a tree.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::{GetRange, ObjectMeta, Storage};
use rawzip::{FileReader, ReaderAt, ZipArchive};

use super::index::{self, Index, Slot};
use super::inflate::inflate;
use super::object::ObjectFile;
use super::{ZipError, ZipLayout, ZipLimits};
use crate::blocking::Threads;
use crate::storage::child;
use crate::{Child, Entry, ReadTree, TreeError, TreeKey, TreePrefix};

/// A zip file as a Zarr store that can be read, on the disk or on a storage backend. Clones share one open file.
///
/// The whole central directory is read and checked when the file is opened; names and places stay in memory, about
/// 100 bytes and the name for each entry. Ranges of stored entries are read in place; of a deflated entry all that
/// comes before a range is decompressed, too. A stored or deflated entry that is read whole is compared with its
/// checksum.
#[derive(Clone)]
pub struct ZipTree(Arc<Opened>);

struct Opened {
    path: PathBuf,
    name: String,
    place: ZipSource,
    index: Index,
    threads: Threads,
}

/// Where the bytes come from.
enum ZipSource {
    File(ZipArchive<FileReader>),
    Object(ObjectFile),
}

/// Opens a [`ZipTree`]; made by [`ZipTree::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is opened until `open`"]
pub struct ZipBuilder {
    path: PathBuf,
    limits: ZipLimits,
    last_wins: bool,
    layout: Option<ZipLayout>,
}

impl ZipBuilder {
    /// Sets the bounds on the claims of the file.
    pub fn limits(mut self, limits: ZipLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes the entry that was written last if several have the same name, because zarr-python replaces values so. Off
    /// unless set: such a file is refused, because programs disagree on which entry counts.
    pub fn last_entry_wins(mut self, last_wins: bool) -> Self {
        self.last_wins = last_wins;
        self
    }

    /// Sets the layout. Unless set, a single common top folder that holds a Zarr document is left out.
    pub fn layout(mut self, layout: ZipLayout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Opens the file and checks its directory. Blocks on the disk.
    ///
    /// # Errors
    /// [`TreeError::Missing`], [`TreeError::Io`], and [`TreeError::Zip`] with the broken rule.
    pub fn open(self) -> Result<ZipTree, TreeError> {
        let name = self.path.display().to_string();
        let fail = |source| TreeError::Io {
            action: "open",
            store: name.clone(),
            name: name.clone(),
            source,
        };
        // Looked at first: opening a FIFO would wait for its other end.
        match std::fs::metadata(&self.path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => {
                return Err(TreeError::NotAFile {
                    store: name.clone(),
                    name,
                    found: "a directory or device",
                });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(TreeError::Missing { store: name });
            }
            Err(error) => return Err(fail(error)),
        }
        let file = File::open(&self.path).map_err(fail)?;
        let refused = |source| TreeError::Zip {
            store: name.clone(),
            source,
        };
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let archive =
            ZipArchive::from_file(file, &mut buffer).map_err(|error| refused(error.into()))?;
        let mut index = index::read(&archive, self.limits, self.last_wins).map_err(refused)?;
        if let Some(layout) = self.layout {
            index.layout = layout;
        }
        Ok(ZipTree(Arc::new(Opened {
            path: self.path,
            name,
            place: ZipSource::File(archive),
            index,
            threads: Threads::default(),
        })))
    }

    /// Opens a file on a storage backend, by ranges of the state that `object` describes; the builder's path is what
    /// messages call it. One request for the end of the file, and one more for a directory that is longer than 64 KiB,
    /// which is held in memory while it is checked. A value takes one request.
    ///
    /// # Errors
    /// [`TreeError::Storage`], and [`TreeError::Zip`] with the broken rule.
    pub async fn open_on(
        self,
        storage: Arc<dyn Storage>,
        object: ObjectMeta,
    ) -> Result<ZipTree, TreeError> {
        let name = self.path.display().to_string();
        let object = ObjectFile::new(storage, object, name.clone());
        let mut index = object.index(self.limits, self.last_wins).await?;
        if let Some(layout) = self.layout {
            index.layout = layout;
        }
        Ok(ZipTree(Arc::new(Opened {
            path: self.path,
            name,
            place: ZipSource::Object(object),
            index,
            threads: Threads::default(),
        })))
    }
}

impl ZipTree {
    /// Opens a zip file with the default limits. Blocks on the disk.
    ///
    /// # Errors
    /// As [`ZipBuilder::open`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TreeError> {
        Self::builder(path).open()
    }

    /// Returns a builder, to choose the settings.
    pub fn builder(path: impl Into<PathBuf>) -> ZipBuilder {
        ZipBuilder {
            path: path.into(),
            limits: ZipLimits::default(),
            last_wins: false,
            layout: None,
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the range of bytes of the file that holds a value as it is: `None` for one that is deflated or absent.
    ///
    /// # Errors
    /// As [`ReadTree::get_ranges`]: the entry's own header is read.
    pub async fn stored(&self, key: &TreeKey) -> Result<Option<Range<u64>>, TreeError> {
        let Some((at, slot)) = self.0.find(key).filter(|(_, slot)| !slot.deflated) else {
            return Ok(None);
        };
        if let ZipSource::Object(object) = &self.0.place {
            let (name, end) = (&self.0.index.slots[at].0, self.0.index.end_of(slot));
            return object.place(name, slot, end).await.map(Some);
        }
        let tree = Arc::clone(&self.0);
        let look = move || match &tree.place {
            ZipSource::File(archive) => tree
                .place(archive, at, slot)
                .map(Some)
                .map_err(|source| tree.refused(source)),
            ZipSource::Object(_) => Ok(None),
        };
        self.0.threads.run("read", &self.0.name, look).await
    }

    /// Returns where in the file the tree begins.
    pub fn layout(&self) -> &ZipLayout {
        &self.0.index.layout
    }
}

impl fmt::Display for ZipTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl fmt::Debug for ZipTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipTree")
            .field("path", &self.0.path)
            .field("layout", &self.0.index.layout)
            .finish_non_exhaustive()
    }
}

impl Opened {
    fn find(&self, key: &TreeKey) -> Option<(usize, Slot)> {
        let name = format!("{}{key}", self.index.layout.prefix());
        let slots = &self.index.slots;
        let at = slots.binary_search_by(|(other, _)| other.as_str().cmp(&name));
        at.ok().map(|at| (at, slots[at].1))
    }

    /// The offsets and lengths of ranges.
    fn resolve(
        &self,
        key: &TreeKey,
        slot: Slot,
        ranges: &[GetRange],
    ) -> Result<Vec<(u64, usize)>, TreeError> {
        let mut wanted = Vec::with_capacity(ranges.len());
        for range in ranges {
            let bytes = range.resolve(slot.size).ok_or_else(|| TreeError::Range {
                store: self.name.clone(),
                key: key.clone(),
                wanted: range.clone(),
                size: slot.size,
            })?;
            let too_long = |_| TreeError::TooLong {
                store: self.name.clone(),
                key: key.clone(),
                size: slot.size,
            };
            let length = usize::try_from(bytes.end - bytes.start).map_err(too_long)?;
            wanted.push((bytes.start, length));
        }
        Ok(wanted)
    }

    fn refused(&self, source: ZipError) -> TreeError {
        TreeError::Zip {
            store: self.name.clone(),
            source,
        }
    }

    /// Where the data of an entry lies in a file on the disk.
    fn place(
        &self,
        archive: &ZipArchive<FileReader>,
        at: usize,
        slot: Slot,
    ) -> Result<Range<u64>, ZipError> {
        let entry = archive.get_entry(slot.way)?;
        let name = &self.index.slots[at].0;
        let (start, end) = entry.compressed_data_range();
        let content = |problem: &str| ZipError::Content {
            name: name.clone(),
            problem: problem.to_owned(),
        };
        // The extra fields of the local header may push the data into the next entry.
        if end > self.index.end_of(slot) {
            return Err(content("its data reaches into what follows it"));
        }
        let mut local = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let header = entry.local_header(&mut local)?;
        if header.file_path().as_bytes() != name.as_bytes() {
            return Err(content("it has another name in its own header"));
        }
        Ok(start..end)
    }

    fn read_slot(
        &self,
        archive: &ZipArchive<FileReader>,
        at: usize,
        slot: Slot,
        wanted: &[(u64, usize)],
    ) -> Result<Vec<Bytes>, ZipError> {
        let name = || self.index.slots[at].0.clone();
        let content = |problem: String| ZipError::Content {
            name: name(),
            problem,
        };
        let entry = archive.get_entry(slot.way)?;
        let start = self.place(archive, at, slot)?.start;
        let source = archive.get_ref();
        let is_whole = |(offset, length): (u64, usize)| offset == 0 && length as u64 == slot.size;
        let mut values = Vec::with_capacity(wanted.len());
        let mut unpacked: Option<Bytes> = None;
        for &(offset, length) in wanted {
            let value: Bytes = if slot.deflated {
                let whole = match &unpacked {
                    Some(whole) => whole.clone(),
                    None => {
                        let whole = inflate(entry.reader(), slot, &name())?;
                        unpacked.insert(whole).clone()
                    }
                };
                let from = usize::try_from(offset).map_err(|_| content("too long".to_owned()))?;
                whole.slice(from..from + length)
            } else {
                let mut bytes = Vec::new();
                bytes
                    .try_reserve_exact(length)
                    .map_err(|_| content("it does not fit into memory".to_owned()))?;
                bytes.resize(length, 0);
                source
                    .read_exact_at(&mut bytes, start + offset)
                    .map_err(ZipError::Io)?;
                if is_whole((offset, length)) && rawzip::crc32(&bytes) != slot.crc {
                    return Err(content("its checksum does not match".to_owned()));
                }
                bytes.into()
            };
            values.push(value);
        }
        Ok(values)
    }
}

#[async_trait]
impl ReadTree for ZipTree {
    async fn get_ranges(
        &self,
        key: &TreeKey,
        ranges: &[GetRange],
    ) -> Result<Option<Vec<Bytes>>, TreeError> {
        let Some((at, slot)) = self.0.find(key) else {
            return Ok(None);
        };
        let wanted = self.0.resolve(key, slot, ranges)?;
        if let ZipSource::Object(object) = &self.0.place {
            let (name, end) = (&self.0.index.slots[at].0, self.0.index.end_of(slot));
            return object.read(name, slot, end, &wanted).await.map(Some);
        }
        let tree = Arc::clone(&self.0);
        let read = move || match &tree.place {
            ZipSource::File(archive) => tree
                .read_slot(archive, at, slot, &wanted)
                .map_err(|source| tree.refused(source)),
            ZipSource::Object(_) => Ok(Vec::new()),
        };
        self.0
            .threads
            .run("read", &self.0.name, read)
            .await
            .map(Some)
    }

    async fn size(&self, key: &TreeKey) -> Result<Option<u64>, TreeError> {
        Ok(self.0.find(key).map(|(_, slot)| slot.size))
    }

    fn list(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Entry, TreeError>> {
        let tree = Arc::clone(&self.0);
        let top = tree.index.layout.prefix().to_owned();
        let below = format!("{top}{prefix}");
        let slots = &tree.index.slots;
        let mut at = slots.partition_point(|(name, _)| *name < below);
        let entries = std::iter::from_fn(move || {
            let (name, slot) = tree.index.slots.get(at)?;
            if !name.starts_with(&below) {
                return None;
            }
            at += 1;
            let key = TreeKey::parse(&name[top.len()..]).map_err(TreeError::from);
            Some(key.map(|key| Entry {
                key,
                size: slot.size,
            }))
        });
        stream::iter(entries).boxed()
    }

    fn list_dir(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Child, TreeError>> {
        let (prefix, mut last) = (prefix.clone(), None::<TreePrefix>);
        self.list(&prefix.clone())
            .filter_map(move |entry| {
                let child = entry.and_then(|entry| child(&prefix, entry, &mut last));
                futures::future::ready(child.transpose())
            })
            .boxed()
    }
}

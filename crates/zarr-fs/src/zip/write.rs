//! Writing a zip file: one pass over the values, put in place at the end.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{BoxStream, TryStreamExt};
use icefield_storage::{Entropy, SystemEntropy};
use rawzip::{CompressionMethod, ZipArchiveWriter};

use super::{ZipError, ZipLayout};
use crate::blocking::Threads;
use crate::{TEMPORARY, TreeError, TreeKey};

/// Parts of a streamed value that wait to be written, at most.
const WAITING: usize = 4;

/// A zip file that is being written. Until [`ZipWriter::finish`] there is only a temporary file beside its place;
/// dropping the writer removes it.
///
/// Values are stored as they are, in the order of the calls; sizes and checksums follow the data, and Zip64 is used for
/// an entry or a file of 4 GiB and more, or more than 65,535 entries. The memory holds the names and about 60 bytes for
/// each entry. No time of day is written, so that the same values in the same order make the same file.
///
/// ```
/// use icefield_zarr_fs::{GetRange, ReadTree, TreeKey, ZipLayout, ZipTree, ZipWriter};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("data.zip");
/// let key = TreeKey::parse("zarr.json")?;
/// let mut writer = ZipWriter::create(&path, ZipLayout::Flat).await?;
/// writer.add(&key, "{}".into()).await?;
/// writer.finish().await?;
///
/// let tree = ZipTree::open(&path)?;
/// assert_eq!(tree.get(&key, GetRange::All).await?.as_deref(), Some(&b"{}"[..]));
/// # Ok(())
/// # }
/// ```
pub struct ZipWriter {
    state: Option<WriterState>,
    path: PathBuf,
    name: String,
    layout: ZipLayout,
    threads: Threads,
}

struct WriterState {
    archive: ZipArchiveWriter<BufWriter<File>>,
    temporary: Temporary,
    written: HashSet<String>,
    folders: HashSet<String>,
}

/// The name of the file before it has its own; removed when dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing of this name, nor will there ever be again.
        let _ = fs::remove_file(&self.0);
    }
}

impl fmt::Debug for ZipWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipWriter")
            .field("path", &self.path)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

impl ZipWriter {
    /// Begins a file. The file at `path`, if there is one, stays until the new one is complete.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub async fn create(path: impl Into<PathBuf>, layout: ZipLayout) -> Result<Self, TreeError> {
        Self::create_with(path, layout, Arc::new(SystemEntropy)).await
    }

    /// As [`ZipWriter::create`]; the name of the temporary file comes from `entropy`.
    ///
    /// # Errors
    /// As [`ZipWriter::create`].
    pub async fn create_with(
        path: impl Into<PathBuf>,
        layout: ZipLayout,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, TreeError> {
        let path = path.into();
        let threads = Threads::default();
        let name = path.display().to_string();
        let (place, top) = (path.clone(), layout.clone());
        let store = name.clone();
        let begin = move || {
            WriterState::begin(&place, &top, &*entropy)
                .map_err(|source| TreeError::Zip { store, source })
        };
        let state = threads.run("write", &name, begin).await?;
        Ok(Self {
            state: Some(state),
            path,
            name,
            layout,
            threads,
        })
    }

    /// Adds a value.
    ///
    /// # Errors
    /// [`TreeError::Zip`]. After a refused name or a key written twice, the file can still be completed; after any
    /// other error it cannot.
    pub async fn add(&mut self, key: &TreeKey, value: Bytes) -> Result<(), TreeError> {
        let name = self.entry_name(key)?;
        self.with(move |state| {
            state.add(&name, |writer| {
                writer.write_all(&value)?;
                Ok(())
            })
        })
        .await
    }

    /// Adds a value of any length, part by part; a few parts are in memory at a time.
    ///
    /// # Errors
    /// As [`ZipWriter::add`], and what the parts give.
    pub async fn add_stream(
        &mut self,
        key: &TreeKey,
        mut parts: BoxStream<'static, Result<Bytes, TreeError>>,
    ) -> Result<(), TreeError> {
        let name = self.entry_name(key)?;
        if tokio::runtime::Handle::try_current().is_err() {
            // The work would run on this thread before the first part comes.
            let mut value = Vec::new();
            while let Some(part) = parts.try_next().await? {
                value.extend_from_slice(&part);
            }
            return self.add(key, value.into()).await;
        }
        let (sender, mut receiver) = tokio::sync::mpsc::channel::<Option<Bytes>>(WAITING);
        let feed = async move {
            while let Some(part) = parts.try_next().await? {
                if sender.send(Some(part)).await.is_err() {
                    return Ok(());
                }
            }
            // Without this the parts have not ended, but broken off.
            let _ = sender.send(None).await;
            Ok(())
        };
        let write = self.with(move |state| {
            state.add(&name, |writer| {
                loop {
                    match receiver.blocking_recv() {
                        Some(Some(part)) => writer.write_all(&part)?,
                        Some(None) => return Ok(()),
                        None => return Err(io::ErrorKind::UnexpectedEof.into()),
                    }
                }
            })
        });
        let (fed, written) = futures::join!(feed, write);
        fed.and(written)
    }

    /// Completes the file, makes it durable and gives it its name.
    ///
    /// # Errors
    /// [`TreeError::Zip`]; the file that was at the place before is still there.
    pub async fn finish(mut self) -> Result<(), TreeError> {
        let refused = self.refusal();
        let state = self.state.take().ok_or_else(|| refused(ZipError::Broken))?;
        let (path, store) = (self.path.clone(), self.name.clone());
        let finish = move || {
            state
                .finish(&path)
                .map_err(|source| TreeError::Zip { store, source })
        };
        self.threads.run("write", &self.name, finish).await
    }

    fn refusal(&self) -> impl Fn(ZipError) -> TreeError + use<> {
        let store = self.name.clone();
        move |source| TreeError::Zip {
            store: store.clone(),
            source,
        }
    }

    fn entry_name(&self, key: &TreeKey) -> Result<String, TreeError> {
        let name = format!("{}{key}", self.layout.prefix());
        let refused = self.refusal();
        let Some(state) = &self.state else {
            return Err(refused(ZipError::Broken));
        };
        if name.contains('\\') {
            return Err(refused(ZipError::Backslash { name }));
        }
        match state.written.contains(&name) {
            true => Err(refused(ZipError::WrittenTwice { key: key.clone() })),
            false => Ok(name),
        }
    }

    /// Takes the state to a thread that may wait, and back if all went well.
    async fn with(
        &mut self,
        work: impl FnOnce(&mut WriterState) -> Result<(), ZipError> + Send + 'static,
    ) -> Result<(), TreeError> {
        let refused = self.refusal();
        let mut state = self.state.take().ok_or_else(|| refused(ZipError::Broken))?;
        let work = move || match work(&mut state) {
            Ok(()) => Ok(state),
            Err(source) => Err(refused(source)),
        };
        self.state = Some(self.threads.run("write", &self.name, work).await?);
        Ok(())
    }
}

impl WriterState {
    fn begin(path: &Path, layout: &ZipLayout, entropy: &dyn Entropy) -> Result<Self, ZipError> {
        let mut random = [0; 16];
        entropy.fill(&mut random);
        let mut name = String::from(TEMPORARY);
        for byte in random {
            let _ = write!(name, "{byte:02x}");
        }
        let beside = path.with_file_name(name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
            .map_err(ZipError::Io)?;
        let mut state = Self {
            temporary: Temporary(beside),
            archive: ZipArchiveWriter::new(BufWriter::with_capacity(1 << 18, file)),
            written: HashSet::new(),
            folders: HashSet::new(),
        };
        if let ZipLayout::TopFolder(top) = layout {
            state.folder(top.as_str())?;
        }
        Ok(state)
    }

    /// Writes the entry of a folder, once.
    fn folder(&mut self, name: &str) -> Result<(), ZipError> {
        if self.folders.insert(name.to_owned()) {
            let folder = self.archive.new_dir(name).unix_permissions(0o755);
            folder.create()?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ZipError> {
        // Only a file with a top folder has folders.
        if !self.folders.is_empty() {
            for (at, _) in name.match_indices('/') {
                self.folder(&name[..=at])?;
            }
        }
        let (mut entry, config) = self
            .archive
            .new_file(name)
            .compression_method(CompressionMethod::STORE)
            .unix_permissions(0o644)
            .start()?;
        let mut writer = config.wrap(&mut entry);
        fill(&mut writer).map_err(ZipError::Io)?;
        let (_, sizes) = writer.finish()?;
        entry.finish(sizes)?;
        self.written.insert(name.to_owned());
        Ok(())
    }

    fn finish(self, path: &Path) -> Result<(), ZipError> {
        let buffer = self.archive.finish()?;
        let file = buffer
            .into_inner()
            .map_err(|error| ZipError::Io(error.into_error()))?;
        file.sync_all().map_err(ZipError::Io)?;
        fs::rename(&self.temporary.0, path).map_err(ZipError::Io)?;
        // The name, too, where directories can be synced.
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if cfg!(unix) {
            let parent = File::open(parent.unwrap_or(Path::new("."))).map_err(ZipError::Io)?;
            parent.sync_all().map_err(ZipError::Io)?;
        }
        Ok(())
    }
}

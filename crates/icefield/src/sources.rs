//! Sources of imports, by location: a Zarr hierarchy, or an archive file, wherever it lies.

mod pool;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use icefield_core::{VirtualAccess, VirtualLocation};
use icefield_format::location_of;
use icefield_ingest::nczarr::ReadOptions;
use icefield_ingest::{
    ArchiveFile, ArchiveOptions, ArchiveSource, Overlap, Source, SourceError, is_kerchunk_parquet,
    read_archive_with, read_kerchunk_parquet, read_zarr,
};
use icefield_storage::{Key, Prefix, Storage, StorageError};

use self::pool::Pool;
use crate::collection::folder_of;
use crate::location::{decode, without_options};
use crate::{Error, ErrorKind, Location, LocationError, Schemes, SourceLocation};

/// A source that is open for an import, and the access that reads its chunks.
#[derive(Debug)]
pub struct OpenedSource {
    /// The source: its nodes, documents and chunks.
    pub source: Arc<dyn Source>,
    /// The access that the caller granted, and in addition the folder in which the source lies.
    pub access: VirtualAccess,
}

/// The use that an import makes of the chunks of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The chunks are copied into the repository.
    Copy,
    /// The chunks stay where they are, and the repository refers to them. The source must not change afterwards.
    Refer,
}

/// Names of objects that only nodes of a Zarr hierarchy of format 2 have.
const FORMAT_2: [&str; 3] = [".zgroup", ".zarray", ".zmetadata"];

/// The name of a document of format 3.
const DOCUMENT_OF_3: &str = "zarr.json";
/// Directories that are looked into for a document.
const LOOKED_INTO: usize = 1000;

/// Opens sources of imports. Sources in one folder are read through one store, and only some folders are open at a
/// time, so the number of open files does not grow with the number of sources.
///
/// ```
/// use icefield::{ErrorKind, Location, Purpose, Schemes, VirtualAccess};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield::Error> {
/// let sources = Schemes::standard().sources();
/// let location = Location::parse("/no/such/file.nc")?;
/// let missing = sources.open(&location.into(), VirtualAccess::none(), Purpose::Copy).await;
/// assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sources {
    archives: ArchiveOptions,
    pool: Arc<Pool>,
    /// Directories that are held open.
    held: AtomicUsize,
}

impl Schemes {
    /// Returns a [`Sources`] that opens sources at locations of these schemes.
    pub fn sources(&self) -> Sources {
        Sources {
            archives: ArchiveOptions::default(),
            pool: Pool::new(self),
            held: AtomicUsize::new(0),
        }
    }
}

/// Opens a directory; one that is not held is looked up anew for each file in it.
#[cfg(unix)]
fn directory(path: &Path, is_held: bool) -> Result<Arc<dyn Source>, Error> {
    Ok(Arc::new(match is_held {
        true => icefield_ingest::ZarrDirectory::open(path)?,
        false => icefield_ingest::ZarrDirectory::open_unheld(path)?,
    }))
}

#[cfg(not(unix))]
fn directory(path: &Path, _: bool) -> Result<Arc<dyn Source>, Error> {
    let problem = format!(
        "{} is a directory, and those are read on Unix only",
        path.display()
    );
    Err(Error::new(ErrorKind::Unsupported, problem))
}

impl Sources {
    /// Sets how archive files are read. The arguments of [`Sources::open`] take precedence: whether the source is
    /// copied, and how format 2 is read. Unsupported parts are always listed; the import decides whether they are an
    /// error.
    #[must_use]
    pub fn archive_options(mut self, options: ArchiveOptions) -> Self {
        self.archives = options;
        self
    }

    /// Sets which of two GRIB messages is kept if a file has two for the same place in an array.
    #[must_use]
    pub fn duplicates(mut self, duplicates: Overlap) -> Self {
        self.archives.duplicates = duplicates;
        self
    }

    fn reading(&self, purpose: Purpose, format_2: ReadOptions) -> ArchiveOptions {
        ArchiveOptions {
            is_copied: purpose == Purpose::Copy,
            format_2,
            lists_unsupported: true,
            ..self.archives
        }
    }

    /// Opens what can be imported at a location: a Zarr hierarchy of format 2 or 3, a zip file with one in it, or
    /// a file of HDF5, NetCDF-4, NetCDF-3, GRIB, TIFF, DMR++ or kerchunk's references, in JSON or in a directory of Parquet files. Those may name other files: below
    /// the folder they lie in, and below what `access` grants.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) if there is nothing, [`Invalid`](ErrorKind::Invalid) for a location that names
    /// no file or hierarchy, and what its reader says.
    pub async fn open(
        &self,
        source: &SourceLocation,
        access: VirtualAccess,
        purpose: Purpose,
    ) -> Result<OpenedSource, Error> {
        let SourceLocation { location, options } = source;
        match location.path() {
            Some(path) => self.local_source(path, access, purpose, *options).await,
            None => {
                self.remote_source(location, access, purpose, *options)
                    .await
            }
        }
    }

    async fn storage(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        self.pool.storage(location).await
    }

    async fn local_source(
        &self,
        path: &Path,
        access: VirtualAccess,
        purpose: Purpose,
        options: ReadOptions,
    ) -> Result<OpenedSource, Error> {
        let about = std::fs::metadata(path);
        let is_directory = about.as_ref().is_ok_and(std::fs::Metadata::is_dir);
        let is_special = about.as_ref().is_ok_and(|it| !it.is_file() && !it.is_dir());
        let is_format_2 = is_directory && begins_format_2(path);
        let by_names = is_directory && !is_format_2 && purpose == Purpose::Copy;
        if by_names || is_special || about.is_err() {
            // It says what is wrong with everything else, too.
            let is_held = self.held.fetch_add(1, Ordering::Relaxed) < pool::OPEN;
            let source = directory(path, is_held)?;
            return Ok(OpenedSource { source, access });
        }
        let whole = path.canonicalize().map_err(Error::io)?;
        let folder = match is_directory {
            true => Some(whole.as_path()),
            false => whole.parent(),
        };
        let (Some(folder), Some(text)) = (folder, whole.to_str()) else {
            let problem = format!("{} has a name that is no text", path.display());
            return Err(Error::new(ErrorKind::Invalid, problem));
        };
        let storage = self.storage(&Location::of_path(folder)).await?;
        let url = url_of("file", "", text.trim_start_matches('/'))?;
        if is_directory
            && is_kerchunk_parquet(Arc::clone(&storage), &Prefix::all(), url.as_str()).await?
        {
            let parent = Location::of_path(folder.parent().unwrap_or(folder));
            let beside = self.storage(&parent).await?;
            return references_source(storage, &Prefix::all(), &url, beside, access).await;
        }
        if is_directory {
            let (all, options) = (Prefix::all(), self.reading(purpose, options));
            let archive = read_zarr(Arc::clone(&storage), &all, url.as_str(), options).await?;
            return Ok(OpenedSource {
                access: granted(access, url.as_str(), &storage)?,
                source: Arc::new(ArchiveSource::new(path.display().to_string(), archive)),
            });
        }
        let name = whole.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        let options = self.reading(purpose, options);
        archive_source(storage, name, &url, access, options).await
    }

    async fn remote_source(
        &self,
        location: &Location,
        access: VirtualAccess,
        purpose: Purpose,
        read: ReadOptions,
    ) -> Result<OpenedSource, Error> {
        let (parent, name) = folder_of(location)?;
        let place = location.as_str().split('?').next().unwrap_or_default();
        let place = place.trim_end_matches('/');
        let wrong = |problem: &str| LocationError::Rule {
            url: without_options(place).to_owned(),
            problem: problem.to_owned(),
        };
        let (scheme, rest) = place.split_once("://").unwrap_or_default();
        // Virtual chunks of Azure are named without the account.
        let named = match location.scheme() {
            "az" => rest.split_once('/').map_or(rest, |(_, rest)| rest),
            _ => rest,
        };
        let (host, path) = named.split_once('/').unwrap_or((named, ""));
        let path = decode(path).map_err(wrong)?;
        let url = url_of(scheme, host, &path)?;
        let storage = self.storage(&parent).await?;
        let key = Key::parse(&name).map_err(StorageError::from)?;
        match storage.head(&key).await {
            Ok(_) => {
                let options = self.reading(purpose, read);
                return archive_source(storage, &name, &url, access, options).await;
            }
            Err(StorageError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let prefix = Prefix::parse(&name).map_err(StorageError::from)?;
        if is_kerchunk_parquet(Arc::clone(&storage), &prefix, url.as_str()).await? {
            let beside = Arc::clone(&storage);
            return references_source(storage, &prefix, &url, beside, access).await;
        }
        let options = self.reading(purpose, read);
        let archive = match read_zarr(Arc::clone(&storage), &prefix, url.as_str(), options).await {
            Err(SourceError::NoNodes { name }) => return Err(SourceError::NotFound { name }.into()),
            archive => archive?,
        };
        let access = granted_beside(access, &url, &storage)?;
        let source: Arc<dyn Source> = Arc::new(ArchiveSource::new(place, archive));
        Ok(OpenedSource { source, access })
    }
}

async fn archive_source(
    storage: Arc<dyn Storage>,
    name: &str,
    url: &VirtualLocation,
    access: VirtualAccess,
    options: ArchiveOptions,
) -> Result<OpenedSource, Error> {
    let key = Key::parse(name).map_err(StorageError::from)?;
    let access = granted_beside(access, url, &storage)?;
    let file = ArchiveFile::open(storage, &key, url.as_str()).await?;
    let archive = read_archive_with(file, &access, options).await?;
    let source: Arc<dyn Source> = Arc::new(ArchiveSource::new(url.as_str(), archive));
    Ok(OpenedSource { source, access })
}

/// Tells whether the first documents below a directory, the uppermost first, are of format 2. Its root need not have one.
fn begins_format_2(root: &Path) -> bool {
    let mut open = VecDeque::from([root.to_owned()]);
    let mut looked = 0;
    while let Some(directory) = open.pop_front() {
        if FORMAT_2.iter().any(|name| directory.join(name).is_file()) {
            return true;
        }
        looked += 1;
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        if directory.join(DOCUMENT_OF_3).exists() || looked > LOOKED_INTO {
            return false;
        }
        let entries = entries.flatten();
        let inner = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(inner.take(LOOKED_INTO).map(|it| it.path()));
    }
    false
}

/// A directory of references, which may refer to what lies `beside` it: its keys begin where that directory lies.
async fn references_source(
    storage: Arc<dyn Storage>,
    prefix: &Prefix,
    url: &VirtualLocation,
    beside: Arc<dyn Storage>,
    access: VirtualAccess,
) -> Result<OpenedSource, Error> {
    let access = granted_beside(access, url, &beside)?;
    let archive = read_kerchunk_parquet(storage, prefix, url.as_str(), &access).await?;
    let source: Arc<dyn Source> = Arc::new(ArchiveSource::new(url.as_str(), archive));
    Ok(OpenedSource { source, access })
}

/// Grants the folder that something lies in; beside what is at the root of a disk or a bucket lies everything.
fn granted_beside(
    access: VirtualAccess,
    url: &VirtualLocation,
    storage: &Arc<dyn Storage>,
) -> Result<VirtualAccess, Error> {
    match url.depth() {
        0 | 1 => Ok(access),
        _ => granted(access, parent_of(url), storage),
    }
}

fn granted(
    access: VirtualAccess,
    prefix: &str,
    storage: &Arc<dyn Storage>,
) -> Result<VirtualAccess, Error> {
    let granted = access.grant_storage(prefix, Arc::clone(storage));
    granted.map_err(|rule| Error::new(ErrorKind::Invalid, rule))
}

fn url_of(scheme: &str, host: &str, path: &str) -> Result<VirtualLocation, Error> {
    location_of(scheme, host, path).map_err(|rule| {
        let problem = format!("{path:?} cannot be named by a URL ({rule}): rename it");
        Error::new(ErrorKind::Invalid, problem)
    })
}

/// The URL of the folder that something lies in.
fn parent_of(url: &VirtualLocation) -> &str {
    url.as_str()
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder)
}

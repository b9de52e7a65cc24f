//! Entries on the disk: finding, reading, writing. All of it blocks.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use icefield_storage::GetRange;

use crate::entry::{self, Entry, EntryHead, Loaded};
use crate::evict;
use crate::layout::{CacheLayout, ObjectPaths};
use crate::usage::{self, Reserved, Turn, on_disk};

/// How old the note of the last read of an entry becomes before it is renewed.
const TOUCH_AFTER: Duration = Duration::from_secs(60);
/// The start of `CACHEDIR.TAG`, by <https://bford.info/cachedir/>.
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# This is a cache of icefield.\n";
const OPEN_TO_OTHERS: &str = "may be written by other users";

/// The result of a lookup in the cache.
#[derive(Debug)]
pub(crate) enum Found {
    Entry(Entry),
    /// The object has no such range.
    OutOfObject(EntryHead),
    Nothing,
    /// An entry that was not what had been written, and is deleted.
    Flawed,
}

/// The outcome of writing an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Written,
    /// Another process deletes entries, or does not give the count back, or too many are being written to delete any.
    Busy,
    /// It is too large for this cache.
    TooLarge,
}

/// The identity of one write of an entry.
#[derive(Debug)]
pub(crate) struct WriteMark {
    /// The name of the file until it is whole.
    pub(crate) temporary: String,
    /// When the entry counts as read for the first time.
    pub(crate) now: SystemTime,
}

/// A folder into which others may write.
#[derive(Debug)]
pub(crate) struct UnsafeFolder {
    pub(crate) path: PathBuf,
    pub(crate) problem: &'static str,
}

/// Makes the directory that the user named and the cache's own folder in it, where they are missing. Returns the
/// reason if other users may write there.
pub(crate) fn make_root(layout: &CacheLayout) -> io::Result<Option<UnsafeFolder>> {
    let own = layout.root();
    let named = own.parent().unwrap_or(own);
    let found = |path: &Path, problem| UnsafeFolder {
        path: path.to_owned(),
        problem,
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(named)?;
    if let Some(problem) = unsafe_parent(&fs::metadata(named)?) {
        return Ok(Some(found(named, problem)));
    }
    builder.create(own)?;
    let problem = unsafe_folder(&fs::symlink_metadata(own)?);
    Ok(problem.map(|problem| found(own, problem)))
}

/// Makes what is in the cache's own folder, where it is missing.
pub(crate) fn make_folders(layout: &CacheLayout) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(layout.entries())?;
    builder.create(layout.writing())?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(layout.tag()) {
        Ok(mut tag) => tag.write_all(TAG.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// As [`make_root`] and [`make_folders`], after the directory was deleted.
fn make_again(layout: &CacheLayout) -> io::Result<()> {
    match make_root(layout)? {
        None => make_folders(layout),
        Some(found) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} {}", found.path.display(), found.problem),
        )),
    }
}

/// Looks for what `range` asks for, if that is at most `longest` bytes.
pub(crate) fn find(object: &ObjectPaths, range: &GetRange, longest: u64, now: SystemTime) -> Found {
    let look = |path: &Path| look(path, object, range, longest, now);
    match look(&object.whole) {
        Found::Nothing => {}
        found => return found,
    }
    let GetRange::Bounded(wanted) = range else {
        return Found::Nothing;
    };
    match look(&object.part(wanted)) {
        Found::Nothing => match object.part_around(wanted) {
            Some(path) => look(&path),
            None => Found::Nothing,
        },
        found => found,
    }
}

fn look(
    path: &Path,
    object: &ObjectPaths,
    range: &GetRange,
    longest: u64,
    now: SystemTime,
) -> Found {
    let loaded = open(path).and_then(|(file, length, written)| {
        let loaded = entry::load(&file, length, object.id, range, longest)?;
        if matches!(loaded, Loaded::Hit(_)) {
            let age = now.duration_since(written).unwrap_or_default();
            if age > TOUCH_AFTER {
                // On a disk that takes no writes, the order of deletion is another one.
                let _refused = file.set_modified(now);
            }
        }
        Ok(loaded)
    });
    match loaded {
        Ok(Loaded::Hit(entry)) => Found::Entry(entry),
        Ok(Loaded::OutOfObject(head)) => Found::OutOfObject(head),
        Ok(Loaded::Elsewhere) => Found::Nothing,
        Ok(Loaded::Flawed) => {
            tracing::warn!(path = %path.display(), "an entry of the cache is damaged: it is deleted, and the store is asked");
            // One that cannot be deleted is found damaged again.
            let _refused = fs::remove_file(path);
            Found::Flawed
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
        Err(error) => {
            tracing::debug!(path = %path.display(), %error, "an entry of the cache cannot be read");
            Found::Nothing
        }
    }
}

fn open(path: &Path) -> io::Result<(File, u64, SystemTime)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata.len(), metadata.modified()?))
}

/// Bytes of the longest entry below a bound for all.
pub(crate) fn longest(limit: u64) -> u64 {
    (limit / 4).min(256 << 20)
}

/// Writes an entry, after making room for it if need be.
///
/// # Errors
/// The operating system's: nothing was written then.
pub(crate) fn store(
    layout: &CacheLayout,
    limit: u64,
    object: &ObjectPaths,
    head: &EntryHead,
    parts: &[Bytes],
    mark: &WriteMark,
) -> io::Result<Stored> {
    let bytes = on_disk(head.file_len());
    if bytes > longest(limit) {
        return Ok(Stored::TooLarge);
    }
    for _ in 0..2 {
        let turn = match Turn::to_write(layout) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The directory was deleted.
                make_again(layout)?;
                Turn::to_write(layout)?
            }
            turn => turn?,
        };
        let Some(turn) = turn else {
            return Ok(Stored::Busy);
        };
        match usage::reserve(layout, bytes, limit)? {
            Reserved::Counted => {
                let written = write(layout, object, head, parts, mark);
                if written.is_err() {
                    usage::give_back(layout, bytes)?;
                }
                return written.map(|()| Stored::Written);
            }
            Reserved::Busy => return Ok(Stored::Busy),
            Reserved::NoRoom => {}
        }
        drop(turn);
        if !evict::make_room(layout, limit, bytes)? {
            break;
        }
    }
    Ok(Stored::Busy)
}

fn write(
    layout: &CacheLayout,
    object: &ObjectPaths,
    head: &EntryHead,
    parts: &[Bytes],
    mark: &WriteMark,
) -> io::Result<()> {
    let path = object.of_range(&head.range, head.object_size);
    let half_written = layout.writing().join(&mark.temporary);
    let done = write_new(&half_written, object, head, parts, mark.now)
        .and_then(|()| rename(&half_written, &path));
    if done.is_err() {
        let _refused = fs::remove_file(&half_written);
    }
    done
}

/// Not flushed to the disk: what a loss of power leaves is found out by its checksums.
fn write_new(
    path: &Path,
    object: &ObjectPaths,
    head: &EntryHead,
    parts: &[Bytes],
    now: SystemTime,
) -> io::Result<()> {
    let create = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(path)
    };
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_parent(path)?;
            create()?
        }
        file => file?,
    };
    file.write_all(&head.encode(object.id))?;
    for part in parts {
        file.write_all(part)?;
    }
    file.set_modified(now)
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_parent(to)?;
            fs::rename(from, to)
        }
        done => done,
    }
}

fn make_parent(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(parent)
}

/// Deletes all entries of an object.
pub(crate) fn forget(object: &ObjectPaths) {
    let _not_there = fs::remove_file(&object.whole);
    let _not_there = fs::remove_dir_all(object.parts());
}

/// Returns the reason if other users may write into the cache's own folder.
fn unsafe_folder(metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_symlink() {
        return Some("is a link");
    }
    unsafe_owner(metadata).or_else(|| is_open_to_others(metadata).then_some(OPEN_TO_OTHERS))
}

/// Returns the reason if other users may rename or replace folders in a folder.
fn unsafe_parent(metadata: &Metadata) -> Option<&'static str> {
    // In a sticky folder, such as `/tmp`, only the owner of a file does so.
    let is_sticky = metadata.mode() & 0o1000 != 0;
    unsafe_owner(metadata)
        .or_else(|| (is_open_to_others(metadata) && !is_sticky).then_some(OPEN_TO_OTHERS))
}

fn unsafe_owner(metadata: &Metadata) -> Option<&'static str> {
    let owner = metadata.uid();
    let is_ours = owner == 0 || owner == rustix::process::geteuid().as_raw();
    (!is_ours).then_some("belongs to another user")
}

fn is_open_to_others(metadata: &Metadata) -> bool {
    metadata.mode() & 0o022 != 0
}

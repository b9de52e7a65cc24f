//! From segments to what stands there, segment by segment below the base, so that no link and no rename under way
//! leads out of it, however long the path.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bytes::Bytes;
use icefield_storage::GetRange;

use super::base::Base;
use super::files::{self, EntryKind, Errno, Stat, at};
use super::settings::Links;
use crate::{Naming, TreeError, TreeKey};

/// Links followed on the way to one name, at most.
const MAX_LINKS: usize = 40;

/// The file at the end of a path, of whatever kind.
pub(super) enum Found {
    File(OwnedFd, Stat),
    Directory(OwnedFd, Stat),
    Other(EntryKind),
}

/// Why there is nothing at the end of a path.
pub(super) enum Stop {
    /// Nothing there, or a file where a directory should be.
    Absent,
    /// A link, which is not to be followed.
    Link,
    /// A link out of the base.
    Outside,
    /// Links in a circle.
    Circle,
    System(Errno),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Absent,
            other => Self::System(other),
        }
    }
}

/// Opens what stands under the segments; none at all is the base itself.
pub(super) fn open<S: Into<OsString>>(
    base: OwnedFd,
    segments: impl Iterator<Item = S>,
    links: Links,
) -> Result<Found, Stop> {
    let mut left: VecDeque<OsString> = segments.map(Into::into).collect();
    // Where `..` in the target of a link leads back to; without links only the last one is kept open.
    let mut way = vec![base];
    if links == Links::Refuse {
        skip_ahead(&mut way, &mut left);
    }
    let mut followed = 0;
    while let Some(name) = left.pop_front() {
        match name.as_bytes() {
            b"" | b"." => continue,
            b".." => {
                way.pop();
                if way.is_empty() {
                    return Err(Stop::Outside);
                }
                continue;
            }
            _ => {}
        }
        let here = at(way.last().ok_or(Stop::Outside)?);
        let is_last = left.iter().all(|rest| rest.is_empty() || rest == ".");
        match step(here, &name, is_last)? {
            Step::Into(directory) => {
                if links == Links::Refuse {
                    way.clear();
                }
                way.push(directory);
            }
            Step::File(file, stat) => return Ok(Found::File(file, stat)),
            Step::Other(kind) => return Ok(Found::Other(kind)),
            Step::Link if links == Links::Refuse => return Err(Stop::Link),
            Step::Link => {
                followed += 1;
                if followed > MAX_LINKS {
                    return Err(Stop::Circle);
                }
                let target = files::read_link(here, &name)?;
                if target.starts_with(b"/") {
                    return Err(Stop::Outside);
                }
                for segment in target.split(|byte| *byte == b'/').rev() {
                    left.push_front(OsString::from_vec(segment.to_vec()));
                }
            }
        }
    }
    let directory = way.pop().ok_or(Stop::Outside)?;
    let stat = files::stat(at(&directory))?;
    Ok(Found::Directory(directory, stat))
}

/// Goes to the last directory on the way at once, if nothing but directories is on it.
fn skip_ahead(way: &mut [OwnedFd], left: &mut VecDeque<OsString>) {
    let Some(parents) = left.len().checked_sub(1).filter(|parents| *parents > 1) else {
        return;
    };
    let segments: Vec<&OsStr> = left.range(..parents).map(OsString::as_os_str).collect();
    let path = segments.join(OsStr::new("/"));
    if let Some(here) = way.last_mut()
        && let Ok(directory) = files::open_below(at(here), &path)
    {
        *here = directory;
        left.drain(..parents);
    }
}

enum Step {
    Into(OwnedFd),
    File(OwnedFd, Stat),
    Link,
    Other(EntryKind),
}

fn step(here: BorrowedFd<'_>, name: &OsStr, is_last: bool) -> Result<Step, Stop> {
    if !is_last {
        // On the way most names are directories.
        match files::open_directory(here, name) {
            Ok(directory) => return Ok(Step::Into(directory)),
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    match files::stat_at(here, name)?.kind {
        EntryKind::Link => Ok(Step::Link),
        EntryKind::Directory => Ok(Step::Into(files::open_directory(here, name)?)),
        _ if !is_last => Err(Stop::Absent),
        EntryKind::File => {
            let file = files::open_file(here, name)?;
            let stat = files::stat(at(&file))?;
            match stat.kind {
                EntryKind::File => Ok(Step::File(file, stat)),
                // Put there in between.
                other => Ok(Step::Other(other)),
            }
        }
        other => Ok(Step::Other(other)),
    }
}

impl Base {
    /// Opens the base, whether or not it must exist.
    pub(super) fn reopen(&self) -> Result<OwnedFd, Errno> {
        match &self.held {
            Some(held) => files::open_directory(at(held), OsStr::new(".")),
            None => files::open_base(&self.path),
        }
    }

    /// Opens the base; `None` if it does not exist and need not.
    pub(super) fn open_base(&self) -> Result<Option<OwnedFd>, TreeError> {
        match self.reopen() {
            Ok(base) => Ok(Some(base)),
            Err(Errno::NOENT) if !self.must_exist => Ok(None),
            Err(Errno::NOENT) => Err(TreeError::Missing {
                store: self.name.clone(),
            }),
            Err(Errno::NOTDIR) => Err(TreeError::NotADirectory {
                store: self.name.clone(),
            }),
            Err(errno) => Err(self.failed("open", &self.name, errno)),
        }
    }

    /// Opens what stands under a key; `None` if nothing does.
    fn find(&self, key: &TreeKey) -> Result<Option<Found>, TreeError> {
        Naming::native()
            .check(key)
            .map_err(|source| self.unnameable(key, source))?;
        let Some(base) = self.open_base()? else {
            return Ok(None);
        };
        match open(base, key.segments(), self.links) {
            Ok(found) => Ok(Some(found)),
            Err(Stop::Absent | Stop::Circle) => Ok(None),
            Err(stop) => Err(self.stopped("read", key.as_str(), stop)),
        }
    }

    /// Opens the file of a key; `None` if there is none, be there a directory or nothing.
    fn file(&self, key: &TreeKey) -> Result<Option<(OwnedFd, u64)>, TreeError> {
        match self.find(key)? {
            Some(Found::File(file, stat)) => Ok(Some((file, stat.size))),
            Some(Found::Other(kind)) => Err(self.not_a_file(key.as_str(), kind)),
            Some(Found::Directory(..)) | None => Ok(None),
        }
    }

    pub(super) fn get_ranges(
        &self,
        key: &TreeKey,
        ranges: &[GetRange],
    ) -> Result<Option<Vec<Bytes>>, TreeError> {
        let Some((file, size)) = self.file(key)? else {
            return Ok(None);
        };
        let mut values = Vec::with_capacity(ranges.len());
        for range in ranges {
            let wrong = || TreeError::Range {
                store: self.name.clone(),
                key: key.clone(),
                wanted: range.clone(),
                size,
            };
            let bytes = range.resolve(size).ok_or_else(wrong)?;
            let length = bytes.end - bytes.start;
            let room = usize::try_from(length).map_err(|_| self.too_long(key, size))?;
            let value = self.read(&file, key, room, bytes.start)?;
            // Another program writes into the file in place.
            if value.len() as u64 != length {
                let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(self.io("read", key.as_str(), short));
            }
            values.push(self.buffers.lend(value));
        }
        Ok(Some(values))
    }

    pub(super) fn get_sized(
        &self,
        key: &TreeKey,
        sizes: RangeInclusive<u64>,
    ) -> Result<Option<Bytes>, TreeError> {
        let Some((file, size)) = self.file(key)? else {
            return Ok(None);
        };
        if !sizes.contains(&size) {
            return Err(TreeError::Size {
                store: self.name.clone(),
                key: key.clone(),
                size,
                wanted: sizes,
            });
        }
        // One byte more is asked for, to see the end.
        let room = usize::try_from(size)
            .ok()
            .and_then(|size| size.checked_add(1));
        let room = room.ok_or_else(|| self.too_long(key, size))?;
        let value = self.read(&file, key, room, 0)?;
        match value.len() as u64 == size {
            true => Ok(Some(self.buffers.lend(value))),
            false => Err(TreeError::Changed {
                store: self.name.clone(),
                key: key.clone(),
            }),
        }
    }

    fn read(
        &self,
        file: &OwnedFd,
        key: &TreeKey,
        length: usize,
        offset: u64,
    ) -> Result<Vec<u8>, TreeError> {
        let fail = |errno| self.failed("read", key.as_str(), errno);
        let mut bytes = self.buffers.take(length).map_err(|_| fail(Errno::NOMEM))?;
        files::read_at(at(file), &mut bytes, length, offset).map_err(fail)?;
        Ok(bytes)
    }

    pub(super) fn size(&self, key: &TreeKey) -> Result<Option<u64>, TreeError> {
        Ok(self.file(key)?.map(|(_, size)| size))
    }

    fn too_long(&self, key: &TreeKey, size: u64) -> TreeError {
        TreeError::TooLong {
            store: self.name.clone(),
            key: key.clone(),
            size,
        }
    }

    pub(super) fn io(&self, action: &'static str, name: &str, source: std::io::Error) -> TreeError {
        TreeError::Io {
            action,
            store: self.name.clone(),
            name: name.to_owned(),
            source,
        }
    }

    pub(super) fn failed(&self, action: &'static str, name: &str, errno: Errno) -> TreeError {
        match errno {
            Errno::ROFS => TreeError::ReadOnly {
                store: self.name.clone(),
            },
            _ => self.io(action, name, errno.into()),
        }
    }

    pub(super) fn stopped(&self, action: &'static str, name: &str, stop: Stop) -> TreeError {
        let (store, owned) = (self.name.clone(), name.to_owned());
        match stop {
            Stop::Link => TreeError::Link { store, name: owned },
            Stop::Outside => TreeError::LinkOutside { store, name: owned },
            Stop::Circle => self.failed(action, name, Errno::LOOP),
            Stop::Absent => self.failed(action, name, Errno::NOENT),
            Stop::System(errno) => self.failed(action, name, errno),
        }
    }

    pub(super) fn unnameable(&self, key: &TreeKey, source: crate::NameError) -> TreeError {
        TreeError::Name {
            store: self.name.clone(),
            key: key.to_string(),
            source,
        }
    }

    pub(super) fn not_a_file(&self, name: &str, kind: EntryKind) -> TreeError {
        TreeError::NotAFile {
            store: self.name.clone(),
            name: name.to_owned(),
            found: kind.name(),
        }
    }
}

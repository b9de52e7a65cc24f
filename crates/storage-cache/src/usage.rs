//! How many bytes a cache has, as all its processes count them together, and whose turn it is to write or to delete.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use crate::layout::CacheLayout;

/// How long one waits for the count, in steps: a process holds it for microseconds, unless it is stopped.
const WAITS: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(16),
];

/// Bytes that a file takes on the disk, about.
pub(crate) fn on_disk(file_len: u64) -> u64 {
    file_len.checked_next_multiple_of(4096).unwrap_or(u64::MAX)
}

/// The right to write entries, or alone to delete them. It ends with the value, or with the process.
#[derive(Debug)]
pub(crate) struct Turn(File);

impl Turn {
    /// Takes the right to write, which many may have; `None` while another process deletes.
    pub(crate) fn to_write(layout: &CacheLayout) -> io::Result<Option<Self>> {
        let file = own_file(&layout.lock())?;
        Self::taken(file.try_lock_shared(), file)
    }

    /// Takes the right to delete; `None` while anything else has a turn.
    pub(crate) fn to_delete(layout: &CacheLayout) -> io::Result<Option<Self>> {
        let file = own_file(&layout.lock())?;
        Self::taken(file.try_lock(), file)
    }

    fn taken(locked: Result<(), TryLockError>, file: File) -> io::Result<Option<Self>> {
        match locked {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Not left to the close: a child forked at this moment has a copy of the descriptor.
        let _refused = self.0.unlock();
    }
}

/// The count of bytes, locked.
#[derive(Debug)]
struct Count {
    file: File,
}

impl Count {
    /// Returns the count; `None` if another process has it and does not give it back soon.
    fn open(layout: &CacheLayout) -> io::Result<Option<Self>> {
        let file = own_file(&layout.usage())?;
        let mut waits = WAITS.iter();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { file })),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            match waits.next() {
                Some(wait) => thread::sleep(*wait),
                None => return Ok(None),
            }
        }
    }

    /// Returns the count, `None` if it is not known.
    fn read(&self) -> io::Result<Option<u64>> {
        let mut bytes = [0; 16];
        match self.file.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            done => done?,
        }
        let (count, sum) = bytes.split_at(8);
        Ok((sum == xxh3_64(count).to_le_bytes())
            .then(|| u64::from_le_bytes(count.try_into().unwrap_or_default())))
    }

    fn write(&self, count: u64) -> io::Result<()> {
        let mut bytes = [0; 16];
        let count = count.to_le_bytes();
        bytes[..8].copy_from_slice(&count);
        bytes[8..].copy_from_slice(&xxh3_64(&count).to_le_bytes());
        self.file.write_all_at(&bytes, 0)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // As for a turn.
        let _refused = self.file.unlock();
    }
}

/// The outcome of adding bytes to the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    Counted,
    /// There is no room for them, or nothing is known of what is there.
    NoRoom,
    /// Another process has the count.
    Busy,
}

/// Counts `bytes` in, if there is room for them.
pub(crate) fn reserve(layout: &CacheLayout, bytes: u64, limit: u64) -> io::Result<Reserved> {
    let Some(count) = Count::open(layout)? else {
        return Ok(Reserved::Busy);
    };
    let after = count.read()?.and_then(|used| used.checked_add(bytes));
    match after.filter(|after| *after <= limit) {
        Some(after) => count.write(after).map(|()| Reserved::Counted),
        None => Ok(Reserved::NoRoom),
    }
}

/// Counts `bytes` out that were reserved and not written. If another process has the count, they stay in it until it is made
/// anew.
pub(crate) fn give_back(layout: &CacheLayout, bytes: u64) -> io::Result<()> {
    let Some(count) = Count::open(layout)? else {
        return Ok(());
    };
    match count.read()? {
        Some(used) => count.write(used.saturating_sub(bytes)),
        None => Ok(()),
    }
}

/// Sets the count to what was found; `false` if another process has it.
pub(crate) fn set(layout: &CacheLayout, bytes: u64) -> io::Result<bool> {
    match Count::open(layout)? {
        Some(count) => count.write(bytes).map(|()| true),
        None => Ok(false),
    }
}

/// Returns the count, `None` if it is not known.
pub(crate) fn used(layout: &CacheLayout) -> io::Result<Option<u64>> {
    match Count::open(layout)? {
        Some(count) => count.read(),
        None => Ok(None),
    }
}

/// Opens a file for the user of this process alone, empty at first.
fn own_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child that is forked has the descriptors of its parent, as a clone has.
    #[test]
    fn a_copy_of_the_descriptor_keeps_no_lock() {
        let directory = tempfile::tempdir().expect("a directory");
        let layout = CacheLayout::new(directory.path());
        std::fs::create_dir(layout.root()).expect("made");
        let turn = Turn::to_delete(&layout).expect("opened").expect("free");
        let _copy = turn.0.try_clone().expect("copied");
        assert!(Turn::to_write(&layout).expect("opened").is_none());
        drop(turn);
        assert!(Turn::to_delete(&layout).expect("opened").is_some());

        let count = Count::open(&layout).expect("opened").expect("free");
        let _copy = count.file.try_clone().expect("copied");
        drop(count);
        let other = own_file(&layout.usage()).expect("opened");
        assert!(other.try_lock().is_ok());
    }
}

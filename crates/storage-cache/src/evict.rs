//! Deleting what was not read for longest.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::layout::CacheLayout;
use crate::usage::{self, Turn, on_disk};

/// Makes room for `needed` bytes below `limit`, counts what is there anew, and deletes what writers that are gone have left
/// half-written. Of the rest it keeps nine tenths of the limit, so that this happens seldom. Returns `false` if another
/// process has a turn, or the count.
pub(crate) fn make_room(layout: &CacheLayout, limit: u64, needed: u64) -> io::Result<bool> {
    let Some(_turn) = Turn::to_delete(layout)? else {
        return Ok(false);
    };
    // No writer has a turn: the writers of these files have ended.
    walk(&layout.writing(), &mut |file, _| remove(&file.path()))?;
    let mut ages: BTreeMap<i64, u64> = BTreeMap::new();
    walk(&layout.entries(), &mut |_, metadata| {
        *ages.entry(metadata.mtime()).or_default() += on_disk(metadata.len());
        Ok(())
    })?;
    let total: u64 = ages.values().sum();
    let keep = (limit - limit / 10).saturating_sub(needed);
    let mut excess = total.saturating_sub(keep);
    let mut deleted = 0;
    if let Some(newest) = newest_to_delete(&ages, excess) {
        walk(&layout.entries(), &mut |file, metadata| {
            let is_older = metadata.mtime() < newest;
            if is_older || (metadata.mtime() == newest && excess > 0) {
                remove(&file.path())?;
                let bytes = on_disk(metadata.len());
                deleted += bytes;
                excess = excess.saturating_sub(bytes);
            }
            Ok(())
        })?;
        remove_empty(&layout.entries());
    }
    let is_set = usage::set(layout, total.saturating_sub(deleted))?;
    tracing::debug!(total, deleted, limit, "entries of the cache were deleted");
    Ok(is_set)
}

/// Returns the second in which the youngest entries that must go were read last; `None` if all may stay.
fn newest_to_delete(ages: &BTreeMap<i64, u64>, excess: u64) -> Option<i64> {
    let mut sum = 0;
    (excess > 0).then(|| {
        let reached = ages.iter().find(|(_, bytes)| {
            sum += **bytes;
            sum >= excess
        });
        reached.map_or(i64::MAX, |(second, _)| *second)
    })
}

/// Shows all files below a folder; one that is gone meanwhile is passed over. Links are not followed: what is behind them is
/// no entry.
fn walk(
    folder: &Path,
    show: &mut dyn FnMut(&DirEntry, &Metadata) -> io::Result<()>,
) -> io::Result<()> {
    let is_folder = unless_gone(fs::symlink_metadata(folder))?.is_some_and(|it| it.is_dir());
    let entries = match is_folder {
        true => unless_gone(fs::read_dir(folder))?,
        false => None,
    };
    for entry in entries.into_iter().flatten() {
        let entry = entry?;
        let Some(metadata) = unless_gone(entry.metadata())? else {
            continue;
        };
        if metadata.is_dir() {
            walk(&entry.path(), show)?;
        } else {
            show(&entry, &metadata)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    unless_gone(fs::remove_file(path)).map(|_| ())
}

/// Removes the folders below this one in which nothing is left.
fn remove_empty(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
            // A folder that is not empty stays.
            let _refused = fs::remove_dir(entry.path());
        }
    }
}

fn unless_gone<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_seconds_that_are_enough_go() {
        let ages = BTreeMap::from([(10, 100), (20, 50), (30, 70)]);
        assert_eq!(newest_to_delete(&ages, 0), None);
        assert_eq!(newest_to_delete(&ages, 1), Some(10));
        assert_eq!(newest_to_delete(&ages, 100), Some(10));
        assert_eq!(newest_to_delete(&ages, 101), Some(20));
        assert_eq!(newest_to_delete(&ages, 220), Some(30));
        assert_eq!(newest_to_delete(&ages, 999), Some(i64::MAX));
    }
}

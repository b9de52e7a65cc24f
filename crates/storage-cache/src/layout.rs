//! Where things lie in the directory of a cache.
//!
//! ```text
//! PATH/icefield-cache-1/lock            held shared while an entry is written, alone while some are deleted
//!                      /CACHEDIR.TAG    tells backups to leave the folder out
//!                      /usage           bytes of all entries, and a checksum of that
//!                      /writing/RANDOM  entries that are being written
//!                      /entries/REPOSITORY/XX/KIND-ID                      a whole object
//!                                            /KIND-ID.parts/START-END      a range of one
//! ```
//!
//! Another layout has another number: two versions of the program in one directory do not meet.

use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use icefield_storage::Key;
use xxhash_rust::xxh3::xxh3_128;

use crate::entry::EntryId;
use crate::policy::SeenSpec;

const FOLDER: &str = "icefield-cache-1";
/// Entries with ranges of one object among which one is sought that has all of another range.
const MAX_LISTED: usize = 256;

/// The paths of one cache.
#[derive(Clone, Debug)]
pub(crate) struct CacheLayout {
    root: PathBuf,
}

impl CacheLayout {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            root: path.join(FOLDER),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub(crate) fn tag(&self) -> PathBuf {
        self.root.join("CACHEDIR.TAG")
    }

    pub(crate) fn usage(&self) -> PathBuf {
        self.root.join("usage")
    }

    pub(crate) fn writing(&self) -> PathBuf {
        self.root.join("writing")
    }

    pub(crate) fn entries(&self) -> PathBuf {
        self.root.join("entries")
    }

    /// Returns where the entries of an object are. `repository` names its place for all processes.
    pub(crate) fn object(&self, repository: &str, spec: SeenSpec, key: &Key) -> ObjectPaths {
        // A downgrade writes manifests of version 2 anew under their ids, and may do so where the original was.
        let repository = format!("{repository}\0{}", spec as u8);
        let folder = format!("{:032x}", xxh3_128(repository.as_bytes()));
        let (kind, id) = key.as_str().split_once('/').unwrap_or((key.as_str(), ""));
        // Ids are random, save for the last letter, which has one bit: those before it spread as well as any digest.
        let end = id.len().saturating_sub(1);
        let shelf = id.get(end.saturating_sub(2)..end).unwrap_or("");
        let name = format!("{kind}-{id}");
        ObjectPaths {
            id: EntryId::new(&repository, key.as_str()),
            is_metadata: kind != icefield_format::layout::CHUNKS,
            whole: self.entries().join(folder).join(shelf).join(name),
        }
    }
}

/// Where the entries of one object are.
#[derive(Clone, Debug)]
pub(crate) struct ObjectPaths {
    pub(crate) id: EntryId,
    /// It is a file of the format, with the magic bytes of these. Chunks are whatever codecs make.
    pub(crate) is_metadata: bool,
    pub(crate) whole: PathBuf,
}

impl ObjectPaths {
    /// Returns the folder of the entries with ranges.
    pub(crate) fn parts(&self) -> PathBuf {
        self.whole.with_extension("parts")
    }

    /// Returns the path of the entry with a range of an object of so many bytes.
    pub(crate) fn of_range(&self, range: &Range<u64>, object_size: u64) -> PathBuf {
        match range.start == 0 && range.end == object_size {
            true => self.whole.clone(),
            false => self.part(range),
        }
    }

    /// Returns the path of the entry with this range and nothing else.
    pub(crate) fn part(&self, range: &Range<u64>) -> PathBuf {
        self.parts().join(format!("{}-{}", range.start, range.end))
    }

    /// Finds an entry that has all of a range and more: the smallest one. `None` also if the object has more than
    /// [`MAX_LISTED`] entries: each range that is not there lists them all.
    pub(crate) fn part_around(&self, wanted: &Range<u64>) -> Option<PathBuf> {
        let folder = self.parts();
        let names = std::fs::read_dir(&folder).ok()?.filter_map(Result::ok);
        let mut smallest: Option<Range<u64>> = None;
        for (number, entry) in names.enumerate() {
            if number == MAX_LISTED {
                return None;
            }
            let Some(range) = range_of(&entry.file_name()) else {
                continue;
            };
            let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
            let is_around = range.start <= wanted.start && wanted.end <= range.end;
            if is_around
                && smallest
                    .as_ref()
                    .is_none_or(|it| length(&range) < length(it))
            {
                smallest = Some(range);
            }
        }
        Some(self.part(&smallest?))
    }
}

/// Reads the name of an entry with a range.
fn range_of(name: &OsStr) -> Option<Range<u64>> {
    let (start, end) = name.to_str()?.split_once('-')?;
    Some(start.parse::<u64>().ok()?..end.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_around_a_range_are_sought_among_a_bounded_number() {
        let directory = tempfile::tempdir().expect("a directory");
        let key = Key::parse("chunks/0G0KZ2RT4W2MZ4Q7XKXG").expect("a key");
        let object = CacheLayout::new(directory.path()).object("x", SeenSpec::V2, &key);
        std::fs::create_dir_all(object.parts()).expect("made");
        let put = |range: &Range<u64>| std::fs::write(object.part(range), "").expect("written");
        for number in 2..MAX_LISTED as u64 {
            put(&(number * 1000..number * 1000 + 10));
        }
        put(&(0..900));
        put(&(100..800));
        assert_eq!(
            object.part_around(&(200..300)),
            Some(object.part(&(100..800)))
        );
        assert_eq!(object.part_around(&(50..300)), Some(object.part(&(0..900))));
        assert_eq!(object.part_around(&(50..950)), None);
        put(&(1000..1010));
        assert_eq!(object.part_around(&(200..300)), None);
    }
}

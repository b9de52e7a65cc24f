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

use std::ops::Range;
use std::path::{Path, PathBuf};

use icefield_storage::Key;
use xxhash_rust::xxh3::xxh3_128;

use crate::entry::EntryId;
use crate::policy::SeenSpec;

const FOLDER: &str = "icefield-cache-1";

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
            whole: self.entries().join(folder).join(shelf).join(name),
        }
    }
}

/// Where the entries of one object are.
#[derive(Clone, Debug)]
pub(crate) struct ObjectPaths {
    pub(crate) id: EntryId,
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

    /// Finds an entry that has all of a range and more: the smallest one.
    pub(crate) fn part_around(&self, wanted: &Range<u64>) -> Option<PathBuf> {
        let folder = self.parts();
        let names = std::fs::read_dir(&folder).ok()?.filter_map(Result::ok);
        let ranges = names.filter_map(|entry| {
            let name = entry.file_name();
            let (start, end) = name.to_str()?.split_once('-')?;
            let range = start.parse::<u64>().ok()?..end.parse::<u64>().ok()?;
            (range.start <= wanted.start && wanted.end <= range.end).then_some(range)
        });
        let smallest = ranges.min_by_key(|range| range.end - range.start)?;
        Some(self.part(&smallest))
    }
}

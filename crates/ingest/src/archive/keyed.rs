//! Arrays whose chunks come one by one, by key: from a list of objects, or from a file of references.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use icefield_core::{ChunkIndex, NodePath};
use icefield_zarr_store::ChunkKeys;
use serde_json::{Map, Value};

use super::{Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, ChunkExtents};
use crate::names::is_foreign;
use crate::zarr2::offset::{self, OFFSET};
use crate::{Ignored, SourceError, Unsupported};

/// Longest key that is looked at, in bytes.
const MAX_KEY: usize = 8 << 10;

/// Nodes, and the chunks that came so far.
#[derive(Debug, Default)]
pub(crate) struct KeyedNodes {
    groups: BTreeMap<NodePath, Map<String, Value>>,
    arrays: Vec<KeyedArray>,
    /// Positions of the arrays by the directory of their keys, without a final slash.
    directories: HashMap<String, usize>,
    ignored: Ignored,
    warnings: Vec<String>,
    unsupported: Vec<Unsupported>,
}

#[derive(Debug)]
struct KeyedArray {
    path: NodePath,
    array: ArchiveArray,
    keys: ChunkKeys,
    /// The number under which chunk 0 is stored per dimension, where that is not 0.
    offset: Option<Vec<i64>>,
    /// Chunks in the store that lie outside of the window that the offset says.
    outside: u64,
    grid: Vec<u64>,
    extents: ChunkExtents,
    made: Vec<(ChunkIndex, Bytes)>,
}

/// A chunk that a key names.
#[derive(Debug, PartialEq)]
pub(crate) struct ChunkPlace {
    /// Position of the array.
    pub(crate) array: usize,
    pub(crate) index: ChunkIndex,
}

impl KeyedArray {
    /// Finds the chunk of a key below the array's directory; `None` outside of a window.
    fn find(&self, key: &str) -> Result<Option<ChunkIndex>, String> {
        // VirtualiZarr names the only chunk of a scalar by nothing at all.
        if self.grid.is_empty() && key.is_empty() {
            return Ok(Some(ChunkIndex::from(Vec::new())));
        }
        if let Some(offset) = &self.offset {
            return offset::decode(key, offset, &self.grid);
        }
        let index = self.keys.decode(key).map_err(|problem| {
            let example = self.keys.key(&vec![0; self.grid.len()]);
            format!("{problem}; its chunks have keys such as {example}")
        })?;
        let mut pairs = index.iter().zip(&self.grid);
        match pairs.all(|(at, end)| u64::from(*at) < *end) {
            true => Ok(Some(index)),
            false => Err(format!("{} has {:?} chunks", self.path, self.grid)),
        }
    }

    /// Returns a chunk that came more than once.
    fn twice(&self) -> Option<&[u32]> {
        let in_files = self.extents.rows().map(|row| row.index);
        let mut all: Vec<&[u32]> = in_files
            .chain(self.made.iter().map(|(index, _)| &**index))
            .collect();
        all.sort_unstable();
        let same = all.windows(2).find(|pair| pair.first() == pair.last());
        same.and_then(|pair| pair.first().copied())
    }
}

impl KeyedNodes {
    pub(crate) fn add_group(&mut self, path: NodePath, attributes: Map<String, Value>) {
        self.groups.insert(path, attributes);
    }

    /// Adds an array; what chunks it has is not looked at. No two have one path. `offset` is what chunk 0 is stored under.
    pub(crate) fn add_array(
        &mut self,
        path: NodePath,
        array: ArchiveArray,
        keys: ChunkKeys,
        offset: Option<Vec<i64>>,
    ) {
        let directory = path.as_str().trim_start_matches('/').to_owned();
        self.directories.insert(directory, self.arrays.len());
        self.arrays.push(KeyedArray {
            path,
            grid: array.grid(),
            extents: ChunkExtents::new(array.rank()),
            made: Vec::new(),
            array,
            keys,
            offset,
            outside: 0,
        });
    }

    /// Notes an array that Zarr has no words for. Its chunks are left out with it.
    ///
    /// # Errors
    /// That of the root.
    pub(crate) fn refuse(
        &mut self,
        name: &str,
        path: NodePath,
        reason: String,
    ) -> Result<(), SourceError> {
        let refused = Unsupported::of(SourceError::variable(name, &path, reason))?;
        self.unsupported.push(refused);
        Ok(())
    }

    /// Fails with the first node that was refused, unless they are listed.
    pub(crate) fn check_unsupported(&self, are_listed: bool) -> Result<(), SourceError> {
        match self.unsupported.first().filter(|_| !are_listed) {
            Some(first) => Err(first.error()),
            None => Ok(()),
        }
    }

    /// Tells whether a key lies below an array that was refused.
    fn is_refused(&self, key: &str) -> bool {
        let mut refused = self.unsupported.iter().map(|it| &it.path.as_str()[1..]);
        refused.any(|node| {
            key.strip_prefix(node)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Iterates over the arrays.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (&NodePath, &ArchiveArray)> {
        self.arrays.iter().map(|keyed| (&keyed.path, &keyed.array))
    }

    /// Notes something that belongs to no array.
    pub(crate) fn ignore(&mut self, name: impl Into<String>) {
        self.ignored.note(name);
    }

    /// Adds a warning of the import.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.arrays.is_empty()
    }

    /// Finds the chunk of a key. `None` is something that belongs to no array, lies outside of its window, or that programs
    /// leave lying about; it is counted.
    ///
    /// # Errors
    /// Something lies among the chunks of an array that is none. `name` is what messages call it.
    pub(crate) fn place(
        &mut self,
        key: &str,
        name: impl Fn() -> String,
    ) -> Result<Option<ChunkPlace>, SourceError> {
        let refuse = |problem: String| {
            let name = name();
            Err(SourceError::NotAChunk { name, problem })
        };
        if key.len() > MAX_KEY {
            return refuse(format!("its key has {} bytes", key.len()));
        }
        if self.is_refused(key) {
            return Ok(None);
        }
        let Some((position, rest)) = self.array_of(key) else {
            self.ignore(name());
            return Ok(None);
        };
        let Some(keyed) = self.arrays.get_mut(position) else {
            return Ok(None);
        };
        match keyed.find(rest) {
            Ok(Some(index)) => Ok(Some(ChunkPlace {
                array: position,
                index,
            })),
            Ok(None) => {
                keyed.outside += 1;
                Ok(None)
            }
            Err(_) if rest.rsplit('/').next().is_some_and(is_foreign) => {
                self.ignore(name());
                Ok(None)
            }
            Err(problem) => refuse(problem),
        }
    }

    /// The array that a key lies below, and the rest of the key.
    fn array_of<'k>(&self, key: &'k str) -> Option<(usize, &'k str)> {
        let slashes = key.rmatch_indices('/');
        let below =
            slashes.filter_map(|(slash, _)| Some((key.get(..slash)?, key.get(slash + 1..)?)));
        below.chain([("", key)]).find_map(|(directory, rest)| {
            let position = self.directories.get(directory)?;
            Some((*position, rest))
        })
    }

    /// Returns the position of the array with this directory.
    #[cfg(feature = "kerchunk-parquet")]
    pub(crate) fn array_at(&self, directory: &str) -> Option<usize> {
        self.directories.get(directory).copied()
    }

    /// Returns how many chunks the grid of an array has.
    #[cfg(feature = "kerchunk-parquet")]
    pub(crate) fn chunks_of(&self, array: usize) -> u64 {
        let grid = self.arrays.get(array).map_or(&[][..], |keyed| &keyed.grid);
        crate::regions::product(grid)
    }

    /// Finds a chunk by its place in the order of the elements; `None` beyond the last one.
    #[cfg(feature = "kerchunk-parquet")]
    pub(crate) fn place_of(&self, array: usize, mut number: u64) -> Option<ChunkPlace> {
        let grid = &self.arrays.get(array)?.grid;
        let mut index = vec![0_u32; grid.len()];
        for (at, length) in index.iter_mut().zip(grid).rev() {
            *at = u32::try_from(number.checked_rem(*length)?).ok()?;
            number = number.checked_div(*length)?;
        }
        let index = index.into();
        (number == 0).then_some(ChunkPlace { array, index })
    }

    /// Returns the path of the array that a chunk belongs to.
    pub(crate) fn path_of(&self, place: &ChunkPlace) -> NodePath {
        let keyed = self.arrays.get(place.array);
        keyed.map_or_else(NodePath::root, |keyed| keyed.path.clone())
    }

    /// Adds a chunk that lies in a file.
    pub(crate) fn add_extent(&mut self, place: &ChunkPlace, file: u32, offset: u64, length: u64) {
        if let Some(keyed) = self.arrays.get_mut(place.array) {
            keyed.extents.push(&place.index, file, offset, length);
        }
    }

    /// Adds a chunk whose bytes are here.
    pub(crate) fn add_made(&mut self, place: ChunkPlace, bytes: Bytes) {
        if let Some(keyed) = self.arrays.get_mut(place.array) {
            keyed.made.push((place.index, bytes));
        }
    }

    /// Checks that every chunk has bytes, all of them in its file, and that none came twice. `name` is what messages
    /// call the references.
    pub(crate) fn check(&self, files: &[ArchiveFile], name: &str) -> Result<(), SourceError> {
        for keyed in &self.arrays {
            let called =
                |index: &[u32]| format!("chunk {} of {}", keyed.keys.key(index), keyed.path);
            for row in keyed.extents.rows() {
                let Some(file) = files.get(row.file as usize) else {
                    continue;
                };
                let end = row.offset.checked_add(row.length);
                if row.length == 0 || end.is_none_or(|end| end > file.size()) {
                    let (chunk, url, size) = (called(row.index), file.url(), file.size());
                    let problem = format!(
                        "{chunk} should be {} bytes from byte {} of {url}, which has {size} bytes",
                        row.length, row.offset
                    );
                    return Err(SourceError::damaged(name, problem));
                }
            }
            if let Some(index) = keyed.twice() {
                let problem = format!("it has {} twice", called(index));
                return Err(SourceError::damaged(name, problem));
            }
        }
        Ok(())
    }

    /// Returns the archive.
    pub(crate) fn into_archive(mut self, files: Vec<ArchiveFile>) -> Archive {
        let windows = self.arrays.iter().filter(|keyed| keyed.outside > 0);
        self.warnings.extend(windows.map(|keyed| {
            let (path, count) = (&keyed.path, keyed.outside);
            format!("{count} chunks of {path} were left out: by its {OFFSET} they lie outside of its window")
        }));
        let groups = self.groups.into_iter();
        let groups = groups.map(|(path, attributes)| (path, ArchiveNode::Group(attributes)));
        let arrays = self.arrays.into_iter().map(|mut keyed| {
            keyed.extents.shrink();
            keyed.array.chunks = match keyed.made.is_empty() {
                true => ArchiveChunks::InFiles(keyed.extents),
                false => ArchiveChunks::Mixed {
                    extents: keyed.extents,
                    made: keyed.made,
                },
            };
            (keyed.path, ArchiveNode::Array(Box::new(keyed.array)))
        });
        Archive {
            may_repeat: false,
            files,
            nodes: groups.chain(arrays).collect(),
            ignored: self.ignored,
            warnings: self.warnings,
            unsupported: self.unsupported,
        }
    }
}

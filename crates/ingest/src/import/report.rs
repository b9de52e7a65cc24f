//! The report of an import.

use icefield_core::{CommitOutcome, NodePath};

use super::choices::{DifferingAttribute, Gap, Lacking, Rounded};
use crate::{Ignored, Unsupported};

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The number of groups that were created, including those that only their children implied.
    pub new_groups: u64,
    /// The number of arrays that were created.
    pub new_arrays: u64,
    /// The arrays that grew.
    pub extended_arrays: Vec<NodePath>,
    /// The groups that stayed as they were although a source has other metadata for them.
    pub kept_groups: Vec<NodePath>,
    /// The number of chunks that were copied.
    pub chunks: u64,
    /// The bytes of the copied chunks.
    pub bytes: u64,
    /// The number of chunks that are referred to where they lie.
    pub virtual_chunks: u64,
    /// The bytes of these chunks.
    pub virtual_bytes: u64,
    /// The number of copied chunks that were put together of elements: at seams between sources, and where chunk grids
    /// or codecs differ.
    pub assembled_chunks: u64,
    /// The number of chunks that were decoded for that.
    pub decoded_chunks: u64,
    /// The number of copied chunks that an earlier attempt had stored; see
    /// [`Import::resumable`](crate::Import::resumable).
    pub resumed_chunks: u64,
    /// The number of chunks that were compared with present ones.
    pub compared_chunks: u64,
    /// The arrays of which a source had times in other units, by their paths in the sources.
    pub converted_arrays: Vec<NodePath>,
    /// The arrays of which a source stored numbers otherwise, by their paths in the sources.
    pub reencoded_arrays: Vec<NodePath>,
    /// The arrays whose numbers were rounded for that; see [`Encoding::Within`](crate::Encoding::Within).
    pub rounded_arrays: Vec<Rounded>,
    /// The steps between sources that are longer than usual.
    pub gaps: Vec<Gap>,
    /// The arrays that sources lack; see [`Import::missing`](crate::Import::missing).
    pub lacking: Vec<Lacking>,
    /// The attributes that differ from source to source; see [`Import::attributes`](crate::Import::attributes).
    pub attributes: Vec<DifferingAttribute>,
    /// The names of sources that were in the repository already; see
    /// [`Import::skip_existing`](crate::Import::skip_existing).
    pub skipped: Vec<String>,
    /// The files or objects of the source that belong to no node.
    pub ignored: Ignored,
    /// Warnings of the sources.
    pub warnings: Vec<String>,
    /// The nodes that were left out because Zarr cannot express them; see
    /// [`Import::skip_unsupported`](crate::Import::skip_unsupported).
    pub omitted: Vec<Unsupported>,
}

impl ImportReport {
    /// Adds the counts and lists of another part of the same import.
    pub fn add(&mut self, other: Self) {
        self.new_groups += other.new_groups;
        self.new_arrays += other.new_arrays;
        self.chunks += other.chunks;
        self.bytes += other.bytes;
        self.virtual_chunks += other.virtual_chunks;
        self.virtual_bytes = self.virtual_bytes.saturating_add(other.virtual_bytes);
        self.assembled_chunks += other.assembled_chunks;
        self.decoded_chunks += other.decoded_chunks;
        self.compared_chunks += other.compared_chunks;
        self.resumed_chunks += other.resumed_chunks;
        self.skipped.extend(other.skipped);
        self.extended_arrays.extend(other.extended_arrays);
        self.kept_groups.extend(other.kept_groups);
        self.converted_arrays.extend(other.converted_arrays);
        self.reencoded_arrays.extend(other.reencoded_arrays);
        for one in other.rounded_arrays {
            let mut known = self.rounded_arrays.iter_mut();
            match known.find(|it| it.path == one.path) {
                Some(same) => same.largest_error = same.largest_error.max(one.largest_error),
                None => self.rounded_arrays.push(one),
            }
        }
        self.rounded_arrays
            .sort_by(|one, other| one.path.cmp(&other.path));
        self.lacking.extend(other.lacking);
        self.attributes.extend(other.attributes);
        self.gaps.extend(other.gaps);
        self.ignored.merge(other.ignored);
        self.warnings.extend(other.warnings);
        self.omitted.extend(other.omitted);
    }
}

/// A finished import.
#[derive(Debug)]
#[must_use = "the branch may have moved, or the outcome may be unknown"]
pub struct Imported {
    /// The report of the staged edits.
    pub report: ImportReport,
    /// The outcome of the commit.
    pub commit: CommitOutcome,
}

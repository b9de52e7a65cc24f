//! An open file: its superblock, and how its errors are told.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;
use std::rc::Rc;

use hdf5_reader::error::Error;
use hdf5_reader::io::Cursor;
use hdf5_reader::superblock::Superblock;
use hdf5_reader::{Storage, StorageBuffer};
use icefield_core::NodePath;

use super::datatype::DataType;
use super::held::Held;
use super::messages::Header;
use super::parsed::Parsed;
use super::ranges::{Ranges, Within};
use crate::{SourceError, Unsupported};

/// Why a group of the old kind is not read. `hdf5-reader` takes the position of a name for as long as an address, and
/// HDF5 writes it as long as a length.
pub(super) const MIXED_SIZES: &str = "its addresses and lengths have different sizes, in a group of the old kind: rewrite the file with h5repack";

/// The flag of a superblock that a program sets when it opens the file for writing, and takes away at the end.
const OPEN_FOR_WRITING: u32 = 1;
/// Why such a file is not read; HDF5 refuses it, too.
const UNFINISHED: &str = "it is marked as open for writing: wait for the program that writes it; if that was stopped, look at the file and run `h5clear -s`";
/// Warnings of one file.
const MAX_WARNINGS: usize = 100;

/// A file whose superblock was found.
pub(super) struct Hdf5 {
    ranges: Ranges,
    name: String,
    root: u64,
    /// Bytes of an address, and of a length.
    pub(super) offset_size: u8,
    pub(super) length_size: u8,
    /// Headers that were read, by address.
    pub(super) headers: RefCell<HashMap<u64, Rc<Header>>>,
    /// Committed data types, by the reference to them.
    pub(super) data_types: RefCell<HashMap<Vec<u8>, DataType>>,
    /// The memory of all parts that are kept.
    pub(super) held: Held,
    warnings: RefCell<Vec<String>>,
    /// Nodes that were left out, if that is allowed.
    unsupported: Option<RefCell<Vec<Unsupported>>>,
}

impl Hdf5 {
    /// Finds the superblock, also behind a user block.
    pub(super) fn open(mut ranges: Ranges, name: String) -> Result<Self, SourceError> {
        let superblock = Superblock::parse_from_storage(&ranges);
        let parsed = superblock.and_then(|superblock| {
            let root = superblock.root_object_header_address()?;
            Ok((superblock, root))
        });
        let (superblock, root) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                let failure = ranges.take_failure();
                return Err(failure.unwrap_or_else(|| {
                    SourceError::damaged(&name, format!("it is no HDF5 file: {error}"))
                }));
            }
        };
        if superblock.version < 2 && superblock.offset_size != superblock.length_size {
            return Err(SourceError::variable(&name, &NodePath::root(), MIXED_SIZES));
        }
        if superblock.version >= 3 && superblock.consistency_flags & OPEN_FOR_WRITING != 0 {
            return Err(SourceError::damaged(&name, UNFINISHED));
        }
        ranges.set_base(superblock.base_address);
        Ok(Self {
            headers: RefCell::default(),
            data_types: RefCell::default(),
            held: Held::new(ranges.len()),
            warnings: RefCell::default(),
            unsupported: None,
            ranges,
            name,
            root,
            offset_size: superblock.offset_size,
            length_size: superblock.length_size,
        })
    }

    /// Lists the nodes that Zarr has no words for, or has the first one be an error.
    pub(super) fn listing_unsupported(mut self, lists: bool) -> Self {
        self.unsupported = lists.then(RefCell::default);
        self
    }

    /// Returns what a part of the file was read to; `None` of a node that was left out and listed.
    pub(super) fn supported<T>(
        &self,
        read: Result<T, SourceError>,
    ) -> Result<Option<T>, SourceError> {
        let (Err(error), Some(all)) = (&read, &self.unsupported) else {
            return read.map(Some);
        };
        let SourceError::Variable { path, reason, .. } = error else {
            return read.map(Some);
        };
        let weight =
            size_of::<Unsupported>() + self.name.len() + path.as_str().len() + reason.len();
        let held = self.held.add(weight);
        held.map_err(|error| self.failed(path, "the list of its members", error))?;
        let Err(error) = read else { return Ok(None) };
        let node = Unsupported::of(error)?;
        let mut all = all.borrow_mut();
        let is_below =
            |it: &Unsupported| it.path == node.path || it.path.is_ancestor_of(&node.path);
        if !all.iter().any(is_below) {
            all.push(node);
        }
        Ok(None)
    }

    /// Returns the nodes that were left out.
    pub(super) fn take_unsupported(&self) -> Vec<Unsupported> {
        let all = self.unsupported.as_ref();
        all.map_or_else(Vec::new, RefCell::take)
    }

    /// Tells whether a node was left out, or a group that it lies in.
    pub(super) fn is_left_out(&self, path: &NodePath) -> bool {
        self.unsupported.as_ref().is_some_and(|all| {
            let all = all.borrow();
            all.iter()
                .any(|it| it.path == *path || it.path.is_ancestor_of(path))
        })
    }

    /// Returns what the parser reads from.
    pub(super) fn storage(&self) -> &dyn Storage {
        &self.ranges
    }

    /// Returns the file for the parser of one structure, which refers to each of its parts once.
    pub(super) fn structure(&self) -> Within<'_> {
        Within::new(&self.ranges)
    }

    /// Adds a warning of a node.
    pub(super) fn warn(&self, path: &NodePath, what: impl Display) {
        let mut warnings = self.warnings.borrow_mut();
        match warnings.len() {
            ..MAX_WARNINGS => warnings.push(format!("{path} of {}: {what}", self.name)),
            MAX_WARNINGS => warnings.push(format!("{}: there are more warnings", self.name)),
            _ => {}
        }
    }

    /// Returns all warnings.
    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }

    /// Returns what messages call the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of the header of the root group.
    pub(super) fn root(&self) -> u64 {
        self.root
    }

    /// Reads a range.
    pub(super) fn read(&self, address: u64, length: u64) -> Parsed<StorageBuffer> {
        let bytes = usize::try_from(length).map_err(|_| Error::OffsetOutOfBounds(address))?;
        self.ranges.read_range(address, bytes)
    }

    /// Returns where in the file a range of addresses begins, if all of it is in the file.
    pub(super) fn position(&self, address: u64, length: u64) -> Option<u64> {
        let end = address.checked_add(length)?;
        let inside = end <= self.ranges.len();
        inside.then(|| self.ranges.base().saturating_add(address))
    }

    /// Returns the address of a position in the file.
    pub(super) fn address(&self, position: u64) -> u64 {
        position.saturating_sub(self.ranges.base())
    }

    /// Tells whether an address says that there is nothing.
    pub(super) fn is_undefined(&self, address: u64) -> bool {
        Cursor::is_undefined_offset(address, self.offset_size)
    }

    /// Returns the error of a node whose part `what` cannot be understood.
    pub(super) fn failed(&self, path: &NodePath, what: impl Display, error: Error) -> SourceError {
        if let Some(failure) = self.ranges.take_failure() {
            return failure;
        }
        if unsupported(&error) {
            return self.refused(path, format!("{what}: {error}"));
        }
        SourceError::damaged(&self.name, format!("{what} of {path}: {error}"))
    }

    /// Returns the error of a node that has no counterpart in Zarr.
    pub(super) fn refused(&self, path: &NodePath, reason: impl Into<String>) -> SourceError {
        SourceError::variable(&self.name, path, reason)
    }
}

/// Tells whether a sound file may hold this.
fn unsupported(error: &Error) -> bool {
    matches!(
        error,
        Error::UnsupportedEncoding(_)
            | Error::UnsupportedLinkType(_)
            | Error::UnsupportedChunkIndexType(_)
            | Error::UnsupportedFilter(_)
    )
}

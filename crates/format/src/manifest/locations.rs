//! The compressed locations of a manifest, decompressed.
//!
//! All of them are read when the manifest is decoded: what is wrong with one is told then, accessors do not fail, and what a
//! manifest takes in memory is known from the beginning. A location that several refs share is read and kept once.

use std::collections::HashMap;

use super::location_dictionary::{LocationReader, MAX_FRAME};
use crate::error::{FormatError, FormatFile, LocationError};
use crate::id::NodeId;

/// The location of a ref.
#[derive(Debug, Clone, Copy)]
struct Span {
    /// Where in the body the table of the ref is.
    table: u32,
    start: u32,
    len: u16,
}

/// Locations of refs, by where in the body their tables are.
#[derive(Debug, Default)]
pub(super) struct Locations {
    text: String,
    spans: Vec<Span>,
}

impl Locations {
    /// Returns the location of the ref at a position of the body.
    pub(super) fn get(&self, table: usize) -> Option<&str> {
        let table = u32::try_from(table).ok()?;
        let at = self.spans.binary_search_by_key(&table, |span| span.table);
        let Span { start, len, .. } = self.spans[at.ok()?];
        let start = start as usize;
        self.text.get(start..start + usize::from(len))
    }

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.spans)
    }
}

/// Reads locations while refs are verified.
pub(super) struct Collector<'a> {
    file: FormatFile,
    reader: Option<LocationReader>,
    /// Frames that were read, with what was in them.
    known: HashMap<&'a [u8], (u32, u16)>,
    found: Locations,
    /// Bytes of text that may still be read.
    left: u64,
    limit: u64,
}

impl<'a> Collector<'a> {
    /// Begins with the dictionary of a manifest, if it has one, and the bytes that all texts may take.
    pub(super) fn new(
        dictionary: Option<&[u8]>,
        limit: u64,
        file: FormatFile,
    ) -> Result<Self, FormatError> {
        let reader = dictionary.map(LocationReader::new).transpose();
        Ok(Self {
            file,
            reader: reader.map_err(|reason| FormatError::LocationDictionary { file, reason })?,
            known: HashMap::new(),
            found: Locations::default(),
            left: limit,
            limit,
        })
    }

    /// Reads the location of the ref at a position of the body; the other numbers name the ref in errors.
    pub(super) fn read(
        &mut self,
        table: usize,
        frame: &'a [u8],
        (node, position): (NodeId, usize),
    ) -> Result<(), FormatError> {
        let file = self.file;
        let wrong = |reason| FormatError::CompressedLocation {
            file,
            node,
            position,
            reason,
        };
        let Some(reader) = &mut self.reader else {
            return Err(wrong(LocationError::NoDictionary));
        };
        // Before the frame is looked at: overlapping ones could make that cost much.
        if frame.len() > MAX_FRAME {
            return Err(wrong(LocationError::TooLong { len: frame.len() }));
        }
        let (start, len) = match self.known.get(frame) {
            Some(known) => *known,
            None => {
                let text = reader.read(frame).map_err(wrong)?;
                let limit = self.limit;
                let left = self.left.checked_sub(text.len() as u64);
                self.left = left.ok_or(FormatError::TooLarge { file, limit })?;
                let start = u32::try_from(self.found.text.len());
                let start = start.map_err(|_| FormatError::TooLarge { file, limit })?;
                // A reader returns no more than 1024 bytes.
                let place = (start, u16::try_from(text.len()).unwrap_or(u16::MAX));
                self.found.text.push_str(text);
                self.known.insert(frame, place);
                place
            }
        };
        // Bodies are smaller than 2 GiB.
        let table = u32::try_from(table).unwrap_or(u32::MAX);
        self.found.spans.push(Span { table, start, len });
        Ok(())
    }

    pub(super) fn finish(self) -> Locations {
        let mut found = self.found;
        found.spans.sort_unstable_by_key(|span| span.table);
        found.spans.dedup_by_key(|span| span.table);
        found.spans.shrink_to_fit();
        found.text.shrink_to_fit();
        found
    }
}

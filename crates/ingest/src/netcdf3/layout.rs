//! Where the chunks of a variable lie.

use crate::SourceError;
use crate::archive::{ArchiveFile, ChunkExtents, advance, pieces};

use super::header::{Header, Variable};

/// The records of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    /// How many there are.
    count: u64,
    /// From the beginning of one to that of the next, in bytes.
    stride: u64,
}

/// Where a variable lies, and how it is cut.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) chunk_shape: Vec<u64>,
    /// Chunks per dimension.
    grid: Vec<u64>,
    begin: u64,
    /// Bytes of a chunk.
    chunk: u64,
    /// Chunks that follow each other without a gap: those of a record, or all.
    in_piece: u64,
    /// From the beginning of one such piece to that of the next.
    stride: u64,
}

impl Records {
    /// Finds the number of records and what they take.
    pub(super) fn of(header: &Header, file: &ArchiveFile) -> Result<Self, SourceError> {
        let variables = || header.variables.iter().filter(|one| one.is_record);
        let damaged = |problem: &str| SourceError::damaged(file.url(), problem);
        let is_alone = variables().nth(1).is_none();
        let mut stride: u64 = 0;
        for variable in variables() {
            let length = record_bytes(header, variable);
            // Every variable begins at a whole word, unless it is the only one: then records follow each other
            // without a gap.
            let length = match is_alone {
                true => length,
                false => length.and_then(|length| length.checked_next_multiple_of(4)),
            };
            let sum = length.and_then(|length| stride.checked_add(length));
            stride = sum.ok_or_else(|| damaged("its records would be longer than any file"))?;
        }
        let count = match header.records {
            Some(count) => count,
            None => streamed(header, stride, file.size())
                .ok_or_else(|| damaged("it ends within a record: what wrote it was stopped"))?,
        };
        Ok(Self { count, stride })
    }

    /// Returns the shape of a variable.
    pub(super) fn shape(&self, header: &Header, variable: &Variable) -> Vec<u64> {
        let dimensions = header.dimensions_of(variable);
        dimensions
            .map(|dimension| dimension.length.unwrap_or(self.count))
            .collect()
    }
}

/// The number of records up to the end of a file. `None` if a part of one is left over; what fills up the last one may
/// be missing.
fn streamed(header: &Header, stride: u64, file_size: u64) -> Option<u64> {
    let variables = || header.variables.iter().filter(|one| one.is_record);
    let Some(begin) = variables().map(|one| one.begin).min() else {
        return Some(0);
    };
    let ends = variables().map(|one| one.begin.checked_add(record_bytes(header, one)?));
    let end = ends.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
    // The bytes of a record but for what fills up the last variable.
    let data = end.checked_sub(begin)?.min(stride);
    let room = file_size.saturating_sub(begin);
    match room.checked_sub(data) {
        None if room == 0 => Some(0),
        None => None,
        Some(more) => {
            let left = more.checked_rem(stride)?;
            let is_whole = left <= stride.saturating_sub(data);
            is_whole.then_some(more.checked_div(stride)?.checked_add(1)?)
        }
    }
}

/// The bytes of one record of a variable, or of all of a variable without records.
fn record_bytes(header: &Header, variable: &Variable) -> Option<u64> {
    let lengths = header.dimensions_of(variable).filter_map(|one| one.length);
    let mut lengths = lengths;
    lengths.try_fold(variable.kind.bytes(), u64::checked_mul)
}

impl Layout {
    /// Decides how a variable is cut into chunks.
    pub(super) fn of(
        header: &Header,
        records: &Records,
        variable: &Variable,
        shape: &[u64],
    ) -> Result<Self, String> {
        let too_long = || "it would be longer than any file".to_owned();
        let piece = record_bytes(header, variable).ok_or_else(too_long)?;
        let element = variable.kind.bytes();
        let (mut chunk_shape, inner) = match (variable.is_record, shape.split_first()) {
            (true, Some((_, inner))) => (vec![1], inner),
            _ => (Vec::new(), shape),
        };
        chunk_shape.extend(pieces(inner, element));
        let grid: Vec<u64> = shape
            .iter()
            .zip(&chunk_shape)
            .map(|(all, one)| all.div_ceil(*one))
            .collect();
        if let Some(many) = grid.iter().find(|many| u32::try_from(**many).is_err()) {
            return Err(format!(
                "it would have {many} chunks along one dimension, and an array has at most 4294967295"
            ));
        }
        // A divisor of the piece, which was computed just now.
        let chunk = chunk_shape.iter().product::<u64>() * element;
        Ok(Self {
            grid,
            begin: variable.begin,
            in_piece: piece.checked_div(chunk).unwrap_or(1),
            chunk,
            stride: match variable.is_record {
                true => records.stride,
                false => 0,
            },
            chunk_shape,
        })
    }

    /// Lists the chunks, all of which must lie in the file.
    pub(super) fn extents(&self, file_size: u64) -> Result<ChunkExtents, String> {
        let mut extents = ChunkExtents::new(self.grid.len());
        if self.grid.contains(&0) {
            return Ok(extents);
        }
        let chunks = self
            .grid
            .iter()
            .try_fold(1_u64, |all, one| all.checked_mul(*one));
        let end =
            chunks.and_then(|chunks| self.offset(chunks.checked_sub(1)?)?.checked_add(self.chunk));
        match end {
            Some(end) if end <= file_size => {}
            Some(end) => {
                return Err(format!(
                    "should have data up to byte {end}, and the file ends at byte {file_size}"
                ));
            }
            None => return Err("would be longer than any file".to_owned()),
        }
        let mut index = vec![0_u32; self.grid.len()];
        for number in 0..chunks.unwrap_or(0) {
            let Some(offset) = self.offset(number) else {
                break;
            };
            extents.push(&index, 0, offset, self.chunk);
            advance(&mut index, &self.grid);
        }
        extents.shrink();
        Ok(extents)
    }

    /// The first byte of a chunk, counted in the order of the elements.
    fn offset(&self, number: u64) -> Option<u64> {
        let (piece, within) = (number.checked_div(self.in_piece)?, number % self.in_piece);
        let piece = piece.checked_mul(self.stride)?;
        let within = within.checked_mul(self.chunk)?;
        self.begin.checked_add(piece)?.checked_add(within)
    }
}

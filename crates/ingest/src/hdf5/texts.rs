//! The chunks of arrays of texts, which are made when a file is read.

use icefield_core::ChunkIndex;

use super::behind::PastRecords;
use super::chunks::{Stored, StoredBytes};
use super::datatype::{DataType, ElementKind};
use super::filters;
use super::parsed::invalid;
use super::reader::{Described, Reader};
use super::text::{self, NoTexts};
use super::walk::FoundNode;
use crate::{ArchiveChunks, SourceError};

impl Reader<'_> {
    /// Makes the chunks of an array of texts.
    pub(super) fn texts(
        &mut self,
        node: &FoundNode,
        described: &Described,
        stored: &Stored,
        behind: &PastRecords<'_>,
    ) -> Result<ArchiveChunks, SourceError> {
        let data_type = &described.data_type;
        let zeros = vec![0; data_type.size];
        let fill = described.fill.as_deref().unwrap_or(&zeros);
        filters::check_decoded(&described.filters)
            .map_err(|reason| self.file.refused(&node.path, reason))?;
        let mut chunks = Vec::new();
        let extents = match &stored.place {
            StoredBytes::Header(bytes) => {
                let index = vec![0; stored.chunk_shape.len()];
                chunks.push(self.text_chunk(node, &described.data_type, index.into(), bytes)?);
                None
            }
            StoredBytes::File(extents) => Some(extents),
        };
        let rows = extents.into_iter().flat_map(|extents| extents.rows());
        for (row, extent) in rows.enumerate() {
            // Nothing is decoded that could not be kept.
            if stored.chunk_bytes > self.most {
                return Err(self.too_long(node));
            }
            let index = ChunkIndex::from(extent.index);
            let damaged = |error| {
                self.file
                    .failed(&node.path, format!("the chunk {index}"), error)
            };
            let start = self.file.address(extent.offset);
            let bytes = self.file.read(start, extent.length).map_err(damaged)?;
            let length = usize::try_from(stored.chunk_bytes).unwrap_or(usize::MAX);
            let left_out = stored.left_out.get(&row).copied().unwrap_or(0);
            let mut decoded = filters::decoded(&bytes, &described.filters, left_out, length)
                .map_err(|problem| damaged(invalid(problem)))?;
            if decoded.len() < length {
                return Err(damaged(invalid("it is shorter than the array's chunks")));
            }
            decoded.truncate(length);
            behind.fill(extent.index, &mut decoded, fill);
            chunks.push(self.text_chunk(node, &described.data_type, index, &decoded)?);
        }
        let reason = match described.data_type.kind {
            ElementKind::LongText => "its texts of variable length lie in heaps of the file",
            _ => "Zarr has no codec for texts of fixed length",
        };
        Ok(ArchiveChunks::Made {
            chunks,
            reason: reason.to_owned(),
        })
    }

    fn text_chunk(
        &mut self,
        node: &FoundNode,
        data_type: &DataType,
        index: ChunkIndex,
        bytes: &[u8],
    ) -> Result<(ChunkIndex, bytes::Bytes), SourceError> {
        match text::encoded(data_type, bytes, &self.heaps, self.most) {
            Ok(encoded) => {
                self.spend(node, encoded.len() as u64)?;
                Ok((index, encoded))
            }
            Err(NoTexts::TooLong) => Err(self.too_long(node)),
            Err(NoTexts::Damaged(error)) => {
                let what = format!("the texts in chunk {index}");
                Err(self.file.failed(&node.path, what, error))
            }
            Err(NoTexts::NotUtf8) => {
                let reason = format!("a text in its chunk {index} is not UTF-8");
                Err(self.file.refused(&node.path, reason))
            }
        }
    }
}

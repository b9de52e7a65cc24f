//! Arrays of an import whose chunks are put together: at seams between sources, and where grids or codecs differ.

use std::sync::Arc;

use icefield_core::Session;
use serde_json::Value;

use super::layout::{Grown, Layout, Part};
use crate::assemble::{Assembly, OfSession, OfSource, Sink};
use crate::codec::Codec;
use crate::plan::document_error;
use crate::{ImportError, Limits, PlanError, Source, assemble};

/// Describes what is put together of an array. `sources` are all those of the import.
///
/// # Errors
/// [`PlanError::PartialChunk`] or [`PlanError::NotRecoded`] for codecs that are not understood here.
pub(super) fn assembly(
    session: &Session,
    (grown, layout): (&Grown, &Layout),
    sink: Sink,
    sources: &[Arc<dyn Source>],
    (dimension, limits): (&str, Limits),
) -> Result<Assembly, ImportError> {
    let path = &grown.path;
    let codec_of = |document: &[u8], part: Option<&Part>| -> Result<Codec, ImportError> {
        let document: Value = serde_json::from_slice(document).map_err(document_error(path))?;
        let codec = Codec::of(&document);
        Ok(codec.map_err(|reason| refused(grown, part, dimension, reason))?)
    };
    let to = (path.clone(), &grown.array);
    let codec = codec_of(&grown.document, grown.recoded())?;
    let source = |part: &Part| {
        let growth = &part.growth;
        let array = (growth.from.clone(), growth.array.clone());
        Arc::new(OfSource::new(
            Arc::clone(&sources[part.source]),
            array,
            path.clone(),
        ))
    };
    let documents = grown.parts.iter().map(|part| &part.growth.document);
    if let ([part], 0) = (&grown.parts[..], grown.existing)
        && part.growth.recoded.is_some()
        && part.growth.kept == (0..part.growth.array.shape[grown.axis])
        && part.growth.length() == grown.array.shape[grown.axis]
    {
        let chunk_shape = part.growth.array.chunk_shape.clone();
        let of_part = (codec_of(&part.growth.document, Some(part))?, chunk_shape);
        let chunks = source(part);
        let assembly = Assembly::of_one_part(to, codec, of_part, chunks, sink, limits);
        return Ok(assembly.with_documents(&grown.document, documents));
    }
    let mut parts = Vec::new();
    if grown.existing > 0 {
        parts.push(assemble::Part {
            chunk_shape: grown.array.chunk_shape.clone(),
            at: 0,
            kept: 0..grown.existing,
            codec: codec_of(&grown.document, None)?,
            chunks: Arc::new(OfSession {
                session: session.clone(),
                path: path.clone(),
            }),
            is_moved: false,
        });
    }
    for (number, part) in grown.parts.iter().enumerate() {
        let growth = &part.growth;
        if growth.length() > 0 {
            parts.push(assemble::Part {
                chunk_shape: growth.array.chunk_shape.clone(),
                at: growth.at,
                kept: growth.kept.clone(),
                codec: codec_of(&growth.document, Some(part))?,
                chunks: source(part),
                is_moved: part.is_borrowed
                    || layout.taken.iter().any(|(taken, _)| *taken == number),
            });
        }
    }
    let along = (grown.axis, layout.assembled.clone());
    let assembly = Assembly::new(to, codec, along, parts, sink);
    Ok(assembly.with_documents(&grown.document, documents))
}

/// The error of codecs that are not understood.
fn refused(grown: &Grown, part: Option<&Part>, dimension: &str, reason: String) -> PlanError {
    match part.and_then(|part| part.growth.recoded.as_ref()) {
        Some(difference) => PlanError::NotRecoded {
            path: grown.path.clone(),
            difference: difference.clone(),
            reason,
        },
        None => PlanError::PartialChunk {
            path: grown.path.clone(),
            dimension: dimension.to_owned(),
            length: grown.first_seam(),
            chunk: grown.chunk(),
            reason,
        },
    }
}

impl Grown {
    /// The first part whose chunks cannot be taken as they are.
    fn recoded(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.growth.recoded.is_some())
    }

    /// The first length along the axis that is no multiple of the chunk length, of those behind which something is put.
    fn first_seam(&self) -> u64 {
        let parts = self.parts.iter().map(|part: &Part| part.growth.at);
        let mut lengths = std::iter::once(self.existing).chain(parts);
        lengths
            .find(|length| length % self.chunk() != 0)
            .unwrap_or(self.existing)
    }
}

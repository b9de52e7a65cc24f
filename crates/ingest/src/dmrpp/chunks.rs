//! Where the chunks of an array lie.

use std::collections::HashMap;

use icefield_core::NodePath;
use roxmltree::Node;

use super::filters::Filters;
use super::places::Places;
use super::xml::{Unreadable, children, number, numbers, text_of};
use crate::ChunkExtents;
use crate::archive::{advance, pieces};

/// Most pieces that contiguous elements are cut into: of 4 MiB each, of more than any file has.
const MOST_PIECES: u64 = 1 << 24;

/// The chunks that a document lists.
#[derive(Debug)]
pub(super) struct Chunks {
    pub(super) chunk_shape: Vec<u64>,
    pub(super) extents: ChunkExtents,
    pub(super) filters: Filters,
    /// The filters that single chunks went without.
    pub(super) left_out: HashMap<Vec<u32>, u32>,
}

/// An array, as far as it matters here.
pub(super) struct Space<'a> {
    pub(super) path: &'a NodePath,
    pub(super) shape: &'a [u64],
    /// Bytes of an element.
    pub(super) element: u64,
    /// Whether the document says which version it is.
    pub(super) is_versioned: bool,
}

/// A chunk, as the document has it.
struct Listed {
    index: Vec<u32>,
    file: u32,
    offset: u64,
    length: u64,
    left_out: u32,
}

impl Chunks {
    /// Reads the element `chunks` of a variable, or the single `chunk` that stands in its place.
    pub(super) fn read(
        space: &Space<'_>,
        element: Node<'_, '_>,
        places: &mut Places,
    ) -> Result<Self, Unreadable> {
        let is_single = element.tag_name().name() == "chunk";
        let attribute = |name: &str| element.attribute(name).unwrap_or("");
        if children(element).any(|it| it.tag_name().name() == "block")
            || attribute("LBChunk") == "true"
        {
            return Err(Unreadable::Refused(
                "its chunks lie in several blocks".to_owned(),
            ));
        }
        let level = match attribute("deflateLevel") {
            "" => attribute("deflate_level"),
            level => level,
        };
        let filters = Filters::parse(attribute("compressionType"), level, space.is_versioned);
        let filters = filters.map_err(Unreadable::Refused)?;
        let sizes = children(element).filter(|it| it.tag_name().name() == "chunkDimensionSizes");
        let sizes = sizes.last().map(text_of);
        let listed: Vec<Node<'_, '_>> = match is_single {
            true => vec![element],
            false => children(element)
                .filter(|it| it.tag_name().name() == "chunk")
                .collect(),
        };
        let Some(sizes) = sizes else {
            return one_piece(space, &listed, filters, places);
        };
        let chunk_shape = numbers(&sizes)?;
        if chunk_shape.len() != space.shape.len() || chunk_shape.contains(&0) {
            let problem = format!("has chunks of {sizes:?} and the shape {:?}", space.shape);
            return Err(Unreadable::Damaged(problem));
        }
        let chunk_bytes = bytes_of(&chunk_shape, space.element)?;
        let mut rows = Vec::with_capacity(listed.len());
        for chunk in listed {
            let listed = Listed::read(space, &chunk_shape, chunk, places)?;
            let all = filters.codecs(0, space.element).len();
            let went = filters.codecs(listed.left_out, space.element).len();
            let is_plain = filters.is_empty() || (went == 0 && all > 0);
            if is_plain && listed.length != chunk_bytes {
                let (found, at) = (listed.length, &listed.index);
                let problem =
                    format!("has a chunk {at:?} of {found} bytes instead of {chunk_bytes}");
                return Err(Unreadable::Damaged(problem));
            }
            rows.push(listed);
        }
        rows.sort_unstable_by(|one, other| one.index.cmp(&other.index));
        if let Some([twice, _]) = rows.array_windows().find(|[a, b]| a.index == b.index) {
            let problem = format!("has the chunk {:?} twice", twice.index);
            return Err(Unreadable::Damaged(problem));
        }
        let (mut extents, mut left_out) = (ChunkExtents::new(chunk_shape.len()), HashMap::new());
        for row in rows {
            extents.push(&row.index, row.file, row.offset, row.length);
            if row.left_out != 0 {
                left_out.insert(row.index, row.left_out);
            }
        }
        Ok(Self {
            chunk_shape,
            extents,
            filters,
            left_out,
        })
    }
}

impl Listed {
    fn read(
        space: &Space<'_>,
        chunk_shape: &[u64],
        chunk: Node<'_, '_>,
        places: &mut Places,
    ) -> Result<Self, Unreadable> {
        let (offset, length) = extent(chunk)?;
        let position = chunk.attribute("chunkPositionInArray");
        let position = match position {
            Some(text) => numbers(text)?,
            None => vec![0; chunk_shape.len()],
        };
        let is_known = position.len() == chunk_shape.len();
        let axes = position.iter().zip(chunk_shape).zip(space.shape);
        let index = axes.map(|((at, one), all)| {
            let is_start = at.is_multiple_of(*one) && at < all;
            u32::try_from(at / one).ok().filter(|_| is_start)
        });
        let index = index.collect::<Option<Vec<u32>>>().filter(|_| is_known);
        let index = index.ok_or_else(|| {
            Unreadable::Damaged(format!(
                "has a chunk at {position:?}, where none begins in chunks of {chunk_shape:?}"
            ))
        })?;
        let left_out = match chunk.attribute("fm") {
            None => 0,
            Some(mask) => number(mask)?,
        };
        Ok(Self {
            file: places
                .number(chunk.attribute("href"), space.path)
                .map_err(Unreadable::Damaged)?,
            index,
            offset,
            length,
            left_out: u32::try_from(left_out).map_err(|_| {
                Unreadable::Damaged("has a filter mask of more than 32 bits".to_owned())
            })?,
        })
    }
}

/// Takes an array that is not cut into chunks: contiguous, without a byte in the file, or one filtered piece.
fn one_piece(
    space: &Space<'_>,
    listed: &[Node<'_, '_>],
    filters: Filters,
    places: &mut Places,
) -> Result<Chunks, Unreadable> {
    let whole: Vec<u64> = space.shape.iter().map(|length| (*length).max(1)).collect();
    let mut chunks = Chunks {
        chunk_shape: whole,
        extents: ChunkExtents::new(space.shape.len()),
        filters,
        left_out: HashMap::new(),
    };
    let chunk = match listed {
        [] => return Ok(chunks),
        [chunk] => *chunk,
        _ => {
            let problem = "has several chunks and no chunkDimensionSizes";
            return Err(Unreadable::Damaged(problem.to_owned()));
        }
    };
    let (offset, length) = extent(chunk)?;
    let total = bytes_of(space.shape, space.element)?;
    if total == 0 {
        return Ok(chunks);
    }
    let file = places.number(chunk.attribute("href"), space.path);
    let file = file.map_err(Unreadable::Damaged)?;
    if !chunks.filters.is_empty() {
        let index = vec![0; space.shape.len()];
        chunks.extents.push(&index, file, offset, length);
        return Ok(chunks);
    }
    if length != total || offset.checked_add(length).is_none() {
        let problem = format!("has {length} bytes instead of {total}");
        return Err(Unreadable::Damaged(problem));
    }
    chunks.chunk_shape = pieces(space.shape, space.element);
    let chunk_bytes = bytes_of(&chunks.chunk_shape, space.element)?;
    let axes = space.shape.iter().zip(&chunks.chunk_shape);
    let grid: Vec<u64> = axes.map(|(all, one)| all.div_ceil(*one)).collect();
    let pieces = grid
        .iter()
        .try_fold(1_u64, |all, one| all.checked_mul(*one));
    if pieces.is_none_or(|pieces| pieces > MOST_PIECES) {
        return Err(Unreadable::Damaged(
            "would be longer than any file".to_owned(),
        ));
    }
    let (mut index, mut at) = (vec![0; grid.len()], offset);
    loop {
        chunks.extents.push(&index, file, at, chunk_bytes);
        // Its end was looked at.
        at = at.saturating_add(chunk_bytes);
        if !advance(&mut index, &grid) {
            return Ok(chunks);
        }
    }
}

/// Returns the first byte of a chunk, and how many it has.
fn extent(chunk: Node<'_, '_>) -> Result<(u64, u64), Unreadable> {
    let attribute = |name: &str| {
        let missing = || Unreadable::Damaged(format!("has a chunk without {name}"));
        number(chunk.attribute(name).ok_or_else(missing)?)
    };
    match (attribute("offset")?, attribute("nBytes")?) {
        (_, 0) => Err(Unreadable::Damaged("has a chunk without a byte".to_owned())),
        extent => Ok(extent),
    }
}

pub(super) fn bytes_of(shape: &[u64], element: u64) -> Result<u64, Unreadable> {
    let mut lengths = shape.iter();
    let bytes = lengths.try_fold(element, |all, one| all.checked_mul(*one));
    bytes.ok_or_else(|| Unreadable::Damaged("would be longer than any file".to_owned()))
}

//! An image as an array.

use bytes::Bytes;
use icefield_core::ChunkIndex;
use serde_json::{Map, Value, json};

use super::decode;
use super::image::{Compression, Image, MAX_DECODED, Predictor};
use super::window::Order;
use crate::archive::pieces;
use crate::{ArchiveArray, ArchiveChunks, ArchiveFile, ChunkExtents, Recode, SourceError};

/// The level at which tiles are encoded anew.
const RECODED_LEVEL: i32 = 3;
/// Bytes of last strips that are held in memory.
const MAX_LAST: u64 = 64 << 20;

/// Why an image cannot be had.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// Zarr has no words for it, or it is not decoded here.
    Refused(String),
    /// The file breaks its own rules: what the image has, without its name.
    Damaged(String),
    /// The error of reading it.
    Source(SourceError),
}

/// A tile of an image.
struct Tile {
    plane: u64,
    down: u64,
    across: u64,
    offset: u64,
    length: u64,
}

/// Makes an array of an image. Its fill value is zero, and it has no attributes yet.
pub(super) async fn array(
    mut image: Image,
    file: &ArchiveFile,
) -> Result<ArchiveArray, Unreadable> {
    let tiles = tiles(&mut image, file)?;
    if image.compression == Compression::None
        && image.predictor == Predictor::None
        && image.sample.bits >= 8
        && let [tile] = tiles.as_slice()
        && image.tile == (image.height, image.width)
        && image.samples_of_tile() == image.samples
    {
        return cut(&image, tile);
    }
    let (rows, columns) = image.tile;
    let mut array = described(&image, (rows, columns));
    let is_last = |tile: &Tile| image.is_cut && tile.down + 1 == image.grid().0;
    let last: u64 = tiles
        .iter()
        .filter(|it| is_last(it))
        .map(|_| image.tile_bytes().unwrap_or(u64::MAX))
        .fold(0, u64::saturating_add);
    let tile_bytes = image.tile_bytes().unwrap_or(u64::MAX);
    let reason = match why_decoded(&image) {
        None if last > MAX_LAST && tile_bytes > MAX_DECODED => {
            let problem = "its last strips would have to be decoded, and have more than 256 MiB";
            return Err(Unreadable::Refused(problem.to_owned()));
        }
        None if last > MAX_LAST => {
            Some("its last strips are shorter than the others, and long".to_owned())
        }
        reason => reason,
    };
    let mut extents = ChunkExtents::new(array.rank());
    let mut made = Vec::new();
    for tile in &tiles {
        let index = index(&image, tile);
        if reason.is_some() || !is_last(tile) {
            extents.push(&index, 0, tile.offset, tile.length);
            continue;
        }
        let end = tile.offset.saturating_add(tile.length);
        let bytes = file
            .read(tile.offset..end)
            .await
            .map_err(Unreadable::Source)?;
        let plain = whole(&image, &index, &bytes);
        let encoded = plain.and_then(|plain| encoded(&image.compression, plain));
        let encoded = encoded.map_err(|problem| {
            Unreadable::Damaged(format!("has a last strip of which {problem}"))
        })?;
        made.push((ChunkIndex::from(index), encoded));
    }
    extents.shrink();
    array.chunks = match (reason, made.is_empty()) {
        (None, true) => ArchiveChunks::InFiles(extents),
        (None, false) => ArchiveChunks::Mixed { extents, made },
        (Some(reason), _) => {
            let order = decoded_order(&image);
            array.codecs = codecs(&image, order, &Compression::Zstd);
            ArchiveChunks::Recoded {
                extents,
                recode: recode(image),
                reason,
            }
        }
    };
    Ok(array)
}

/// Lists the tiles that are there, and checks that they lie in the file.
fn tiles(image: &mut Image, file: &ArchiveFile) -> Result<Vec<Tile>, Unreadable> {
    let (down, across) = image.grid();
    let per_plane = down.saturating_mul(across).max(1);
    let planes = if image.is_chunky { 1 } else { image.samples };
    let (offsets, lengths) = (
        std::mem::take(&mut image.offsets),
        std::mem::take(&mut image.lengths),
    );
    let mut tiles = Vec::new();
    let all = per_plane.saturating_mul(planes);
    for (number, (offset, length)) in (0..all).zip(offsets.into_iter().zip(lengths)) {
        // A tile that was never written.
        if offset == 0 || length == 0 {
            continue;
        }
        let within = number % per_plane;
        let mut tile = Tile {
            plane: number / per_plane,
            down: within / across.max(1),
            across: within % across.max(1),
            offset,
            length,
        };
        if image.compression == Compression::None {
            let needed = stored_bytes(image, tile.down);
            if length < needed {
                let (row, column) = (tile.down, tile.across);
                return Err(Unreadable::Damaged(format!(
                    "has {length} bytes in tile {row}/{column} instead of {needed}"
                )));
            }
            tile.length = needed;
        }
        let end = offset.checked_add(tile.length);
        if end.is_none_or(|end| end > file.size()) {
            let (size, length) = (file.size(), tile.length);
            return Err(Unreadable::Damaged(format!(
                "has a tile of {length} bytes from byte {offset}, and the file has {size} bytes"
            )));
        }
        tiles.push(tile);
    }
    Ok(tiles)
}

/// Returns the rows of the tiles in a row of them.
fn rows_of(image: &Image, down: u64) -> u64 {
    match image.is_cut {
        true => image.tile.0.min(
            image
                .height
                .saturating_sub(down.saturating_mul(image.tile.0)),
        ),
        false => image.tile.0,
    }
}

/// Returns the bytes of a tile without compression.
fn stored_bytes(image: &Image, down: u64) -> u64 {
    let columns = image.tile.1.saturating_mul(image.samples_of_tile());
    let row = columns
        .saturating_mul(u64::from(image.sample.bits))
        .div_ceil(8);
    row.saturating_mul(rows_of(image, down))
}

/// Returns why tiles are decoded, if they are.
fn why_decoded(image: &Image) -> Option<String> {
    if !image.is_decoded() {
        return None;
    }
    let compression = match &image.compression {
        Compression::Lzw => "LZW",
        Compression::PackBits => "PackBits",
        Compression::Jpeg { .. } => "JPEG",
        _ if image.sample.bits < 8 => {
            return Some(format!("its samples have {} bits", image.sample.bits));
        }
        _ => {
            return Some("no codec of Zarr undoes its predictor".to_owned());
        }
    };
    Some(format!(
        "no codec of Zarr undoes {compression} as TIFF has it"
    ))
}

/// Describes an array with chunks of so many rows and columns, encoded as tiles are.
fn described(image: &Image, (rows, columns): (u64, u64)) -> ArchiveArray {
    let (mut shape, mut chunk_shape) = (vec![image.height, image.width], vec![rows, columns]);
    let mut names = vec![Some("y".to_owned()), Some("x".to_owned())];
    if image.samples > 1 {
        shape.insert(0, image.samples);
        chunk_shape.insert(0, image.samples_of_tile());
        names.insert(0, Some("band".to_owned()));
    }
    ArchiveArray {
        chunks: ArchiveChunks::InFiles(ChunkExtents::new(shape.len())),
        shape,
        chunk_shape,
        data_type: image.sample.data_type().into(),
        fill_value: match image.sample.kind {
            super::image::SampleKind::Complex => json!([0.0, 0.0]),
            super::image::SampleKind::Float => json!(0.0),
            _ => json!(0),
        },
        codecs: codecs(image, image.order, &image.compression),
        dimension_names: names,
        attributes: Map::new(),
    }
}

fn codecs(image: &Image, order: Order, compression: &Compression) -> Vec<Value> {
    let mut codecs = Vec::new();
    if image.is_chunky && image.samples > 1 {
        // Bands come last in a tile.
        codecs.push(json!({ "name": "transpose", "configuration": { "order": [1, 2, 0] } }));
    }
    codecs.push(image.sample.bytes_codec(order));
    match compression {
        Compression::Deflate => {
            codecs.push(json!({ "name": "numcodecs.zlib", "configuration": { "level": 6 } }));
        }
        Compression::Zstd => {
            let configuration = json!({ "level": RECODED_LEVEL, "checksum": false });
            codecs.push(json!({ "name": "zstd", "configuration": configuration }));
        }
        _ => {}
    }
    codecs
}

/// Returns the coordinates of a tile in the grid of the array.
fn index(image: &Image, tile: &Tile) -> Vec<u32> {
    // Lengths of images have 32 bits, and numbers of samples 16.
    let mut index = vec![tile.down as u32, tile.across as u32];
    if image.samples > 1 {
        index.insert(0, tile.plane as u32);
    }
    index
}

/// Cuts an image in one piece into chunks of whole rows.
fn cut(image: &Image, tile: &Tile) -> Result<ArchiveArray, Unreadable> {
    let too_long = || Unreadable::Refused("it would be longer than any file".to_owned());
    let row = image
        .tile
        .1
        .checked_mul(image.samples)
        .ok_or_else(too_long)?;
    let size = image.sample.bytes();
    let row_bytes = row.checked_mul(size).ok_or_else(too_long)?;
    let rows = match pieces(&[image.tile.0, row], size).as_slice() {
        // A row is never cut.
        [rows, columns] if *columns == row => *rows,
        _ => 1,
    };
    let mut array = described(image, (rows, image.tile.1));
    let mut extents = ChunkExtents::new(array.rank());
    let chunk = row_bytes.checked_mul(rows).ok_or_else(too_long)?;
    let mut at = tile.offset;
    for number in 0..image.tile.0 / rows.max(1) {
        let mut index = vec![0; array.rank()];
        if let Some(down) = index.iter_mut().nth_back(1) {
            *down = number as u32;
        }
        extents.push(&index, 0, at, chunk);
        // The end of the piece was looked at.
        at = at.saturating_add(chunk);
    }
    array.chunks = ArchiveChunks::InFiles(extents);
    Ok(array)
}

/// Returns the order of bytes of decoded samples.
fn decoded_order(image: &Image) -> Order {
    match image.predictor {
        Predictor::FloatingPoint => Order::Little,
        Predictor::None | Predictor::Differences => image.order,
    }
}

/// Decodes a tile, as long as all others.
fn whole(image: &Image, index: &[u32], encoded: &[u8]) -> Result<Vec<u8>, String> {
    let down = index.iter().rev().nth(1).copied().unwrap_or(0);
    let mut plain = decode::tile(image, encoded, rows_of(image, down.into()))?;
    let bytes = image.tile_bytes().and_then(|it| usize::try_from(it).ok());
    plain.resize(bytes.ok_or("it has too many bytes")?, 0);
    Ok(plain)
}

fn encoded(compression: &Compression, plain: Vec<u8>) -> Result<Bytes, String> {
    use std::io::Write;
    let failed = |error: std::io::Error| error.to_string();
    match compression {
        Compression::Deflate => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(&plain).map_err(failed)?;
            encoder.finish().map(Bytes::from).map_err(failed)
        }
        Compression::Zstd => {
            let encoded = zstd::bulk::compress(&plain, RECODED_LEVEL);
            encoded.map(Bytes::from).map_err(failed)
        }
        _ => Ok(plain.into()),
    }
}

fn recode(image: Image) -> Recode {
    Recode::new(move |index, chunk, _| {
        Ok(encoded(&Compression::Zstd, whole(&image, index, chunk)?)?)
    })
}

//! The structure of an image: samples of a type, in tiles or strips.

use serde_json::{Value, json};

use super::directory::Directory;
use super::tag;
use super::window::Order;

/// Bytes of a tile or strip, decoded, that is decoded here.
pub(super) const MAX_DECODED: u64 = 256 << 20;
/// Samples of a pixel.
const MAX_SAMPLES: u64 = 65_535;

/// An image of a file.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) width: u64,
    pub(super) height: u64,
    /// Samples of a pixel.
    pub(super) samples: u64,
    /// Whether the samples of a pixel lie behind one another.
    pub(super) is_chunky: bool,
    pub(super) sample: Sample,
    pub(super) order: Order,
    pub(super) compression: Compression,
    pub(super) predictor: Predictor,
    /// Elements per tile: rows and columns. Strips are as wide as the image.
    pub(super) tile: (u64, u64),
    /// Whether the last rows of tiles are shorter than others where the image ends: strips are, tiles are not.
    pub(super) is_cut: bool,
    pub(super) offsets: Vec<u64>,
    pub(super) lengths: Vec<u64>,
}

/// The type of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) kind: SampleKind,
    pub(super) bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleKind {
    Unsigned,
    Signed,
    Float,
    Complex,
}

/// How a tile is compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Deflate,
    Zstd,
    Lzw,
    PackBits,
    /// The tables of all tiles; whether the colours of pixels are to be converted to RGB.
    Jpeg {
        tables: Vec<u8>,
        converts: bool,
    },
}

/// The transformation of samples before they were compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    None,
    /// Each is the difference to the one before it in its row.
    Differences,
    /// The same of the bytes of floats, sorted by significance.
    FloatingPoint,
}

impl Sample {
    /// Returns the bytes of an element; those of fewer bits than a byte become bytes.
    pub(super) fn bytes(self) -> u64 {
        u64::from(self.bits.div_ceil(8))
    }

    /// Returns the `data_type` of Zarr.
    pub(super) fn data_type(self) -> String {
        let bits = self.bytes() * 8;
        match self.kind {
            SampleKind::Unsigned => format!("uint{bits}"),
            SampleKind::Signed => format!("int{bits}"),
            SampleKind::Float => format!("float{bits}"),
            SampleKind::Complex => format!("complex{bits}"),
        }
    }

    /// Returns the codec of elements in an order of bytes.
    pub(super) fn bytes_codec(self, order: Order) -> Value {
        match (self.bytes(), order) {
            (1, _) => json!({ "name": "bytes" }),
            (_, Order::Little) => {
                json!({ "name": "bytes", "configuration": { "endian": "little" } })
            }
            (_, Order::Big) => json!({ "name": "bytes", "configuration": { "endian": "big" } }),
        }
    }

    /// Reads the type, the same of all samples of a pixel.
    fn parse(directory: &Directory) -> Result<Self, String> {
        let same = |tag: u16, usual: u64| match directory.numbers(tag) {
            None => Ok(usual),
            Some(all) => match all.first() {
                Some(first) if all.iter().all(|it| it == first) => Ok(*first),
                _ => Err("its samples are of several types".to_owned()),
            },
        };
        let (bits, format) = (same(tag::BITS, 1)?, same(tag::SAMPLE_FORMAT, 1)?);
        let (kind, name, widths): (_, _, &[u64]) = match format {
            1 | 4 => (
                SampleKind::Unsigned,
                "unsigned integers",
                &[1, 2, 4, 8, 16, 32, 64],
            ),
            2 => (SampleKind::Signed, "integers", &[8, 16, 32, 64]),
            3 => (SampleKind::Float, "floats", &[16, 32, 64]),
            6 => (SampleKind::Complex, "complex floats", &[64, 128]),
            5 => return Err("its samples are complex integers".to_owned()),
            other => return Err(format!("its samples have the unknown format {other}")),
        };
        match widths.contains(&bits) {
            true => Ok(Self {
                kind,
                bits: bits as u32,
            }),
            false => Err(format!("its samples are {name} of {bits} bits")),
        }
    }
}

impl Image {
    /// Reads what a directory says, or why the image cannot be had. `order` is that of the file.
    pub(super) fn parse(directory: &Directory, order: Order) -> Result<Self, String> {
        let number = |tag: u16, usual: u64| directory.number(tag).unwrap_or(usual);
        let (width, height) = (number(tag::WIDTH, 0), number(tag::HEIGHT, 0));
        let samples = number(tag::SAMPLES, 1);
        if width == 0 || height == 0 || width.max(height) > u64::from(u32::MAX) {
            return Err(format!("it has {width} columns and {height} rows"));
        }
        if samples == 0 || samples > MAX_SAMPLES {
            return Err(format!("its pixels have {samples} samples"));
        }
        let sample = Sample::parse(directory)?;
        let is_chunky = match number(tag::PLANAR, 1) {
            1 => true,
            2 => false,
            other => return Err(format!("its planar configuration is {other}")),
        };
        if number(tag::FILL_ORDER, 1) != 1 {
            return Err("the bits of its bytes are in reverse order".to_owned());
        }
        let photometric = number(tag::PHOTOMETRIC, 1);
        let compression = compression(directory, photometric, samples)?;
        let is_jpeg = matches!(compression, Compression::Jpeg { .. });
        let subsampling = directory.numbers(tag::SUBSAMPLING);
        let subsampling = subsampling.unwrap_or_else(|| vec![2, 2]);
        if photometric == 6 && !is_jpeg && subsampling.iter().any(|it| *it != 1) {
            return Err("its colours are stored for blocks of pixels".to_owned());
        }
        let predictor = match (number(tag::PREDICTOR, 1), &compression) {
            // It means something for these alone.
            (_, Compression::None | Compression::PackBits | Compression::Jpeg { .. }) | (1, _) => {
                Predictor::None
            }
            (2, _) if sample.bits >= 8 && sample.kind != SampleKind::Complex => {
                Predictor::Differences
            }
            (3, _) if sample.kind == SampleKind::Float => Predictor::FloatingPoint,
            (other, _) => return Err(format!("its predictor {other} is none of its samples")),
        };
        let is_tiled = directory.numbers(tag::TILE_OFFSETS).is_some();
        let (tile, places) = match is_tiled {
            true => {
                let tile = (number(tag::TILE_HEIGHT, 0), number(tag::TILE_WIDTH, 0));
                (tile, (tag::TILE_OFFSETS, tag::TILE_LENGTHS))
            }
            false => {
                let rows = number(tag::ROWS_PER_STRIP, height).min(height);
                ((rows, width), (tag::STRIP_OFFSETS, tag::STRIP_LENGTHS))
            }
        };
        if tile.0 == 0 || tile.1 == 0 || tile.0.max(tile.1) > u64::from(u32::MAX) {
            return Err(format!(
                "its tiles have {} rows and {} columns",
                tile.0, tile.1
            ));
        }
        let image = Self {
            width,
            height,
            samples,
            is_chunky: is_chunky || samples == 1,
            sample,
            order,
            compression,
            predictor,
            tile,
            is_cut: !is_tiled && !height.is_multiple_of(tile.0),
            offsets: directory.numbers(places.0).unwrap_or_default(),
            lengths: directory.numbers(places.1).unwrap_or_default(),
        };
        let planes = if image.is_chunky { 1 } else { samples };
        let (down, across) = image.grid();
        let tiles = down
            .checked_mul(across)
            .and_then(|it| it.checked_mul(planes));
        let (offsets, lengths) = (image.offsets.len() as u64, image.lengths.len() as u64);
        if tiles.is_none_or(|tiles| offsets < tiles || lengths < tiles) {
            return Err(format!(
                "it should have {down} times {across} tiles in {planes} planes, and names {offsets} places of {lengths} lengths"
            ));
        }
        let bytes = image.tile_bytes();
        if image.is_decoded() && bytes.is_none_or(|bytes| bytes > MAX_DECODED) {
            return Err(
                "a tile of it that would have to be decoded has more than 256 MiB".to_owned(),
            );
        }
        match bytes {
            Some(_) => Ok(image),
            None => Err("a tile of it would be longer than any file".to_owned()),
        }
    }

    /// Returns the tiles down and across.
    pub(super) fn grid(&self) -> (u64, u64) {
        let (rows, columns) = self.tile;
        (self.height.div_ceil(rows), self.width.div_ceil(columns))
    }

    /// Returns the samples of a pixel that are in a tile.
    pub(super) fn samples_of_tile(&self) -> u64 {
        if self.is_chunky { self.samples } else { 1 }
    }

    /// Returns the bytes of a tile, decoded; `None` beyond counting.
    pub(super) fn tile_bytes(&self) -> Option<u64> {
        let (rows, columns) = self.tile;
        let row = self.samples_of_tile().checked_mul(columns)?;
        row.checked_mul(rows)?.checked_mul(self.sample.bytes())
    }

    /// Tells whether tiles are decoded here, because no codecs of Zarr say what they are.
    pub(super) fn is_decoded(&self) -> bool {
        let is_codec = matches!(
            self.compression,
            Compression::None | Compression::Deflate | Compression::Zstd
        );
        !is_codec || self.predictor != Predictor::None || self.sample.bits < 8
    }
}

fn compression(
    directory: &Directory,
    photometric: u64,
    samples: u64,
) -> Result<Compression, String> {
    let name = match directory.number(tag::COMPRESSION).unwrap_or(1) {
        1 => return Ok(Compression::None),
        5 => return Ok(Compression::Lzw),
        7 => {
            if samples > 3 || samples == 2 {
                return Err(format!(
                    "it is JPEG with {samples} samples in a pixel; 1 and 3 are decoded"
                ));
            }
            let tables = directory.bytes(tag::JPEG_TABLES);
            return Ok(Compression::Jpeg {
                tables: tables.map(Into::into).unwrap_or_default(),
                converts: photometric == 6,
            });
        }
        8 | 32_946 => return Ok(Compression::Deflate),
        32_773 => return Ok(Compression::PackBits),
        50_000 => return Ok(Compression::Zstd),
        2..=4 => "fax (CCITT)",
        6 => "old-style JPEG (never fully specified)",
        34_676 | 34_677 => "SGI LogLuv",
        34_712 => "JPEG 2000",
        34_887 => "LERC",
        34_925 => "LZMA",
        50_001 => "WebP",
        50_002 | 52_546 => "JPEG XL",
        other => return Err(format!("its compression {other} is not known")),
    };
    Err(format!("its compression is {name}, which is not decoded"))
}

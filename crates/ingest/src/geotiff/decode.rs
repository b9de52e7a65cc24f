//! Decodes tiles and strips.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use weezl::decode::Decoder;
use weezl::{BitOrder, LzwStatus};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::image::{Compression, Image, Predictor};
use super::predictor;

/// Decodes a tile to so many rows, at most those of a tile; the samples are in the order of [`Image::decoded_order`].
///
/// # Errors
/// The problem with its bytes.
pub(super) fn tile(image: &Image, encoded: &[u8], rows: u64) -> Result<Vec<u8>, String> {
    let columns = image.tile.1.saturating_mul(image.samples_of_tile());
    let bits = columns.saturating_mul(u64::from(image.sample.bits));
    let row = usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX);
    let length = row.saturating_mul(usize::try_from(rows).unwrap_or(usize::MAX));
    let mut plain = decompressed(image, encoded, rows, length)?;
    if plain.len() < length {
        return Err(format!(
            "it decodes to {} bytes instead of {length}",
            plain.len()
        ));
    }
    plain.truncate(length);
    let size = image.sample.bytes() as usize;
    let samples = image.samples_of_tile() as usize;
    match image.predictor {
        Predictor::None => {}
        Predictor::Differences => {
            for row in plain.chunks_exact_mut(row) {
                predictor::add(row, samples, size, image.order);
            }
        }
        Predictor::FloatingPoint => {
            for row in plain.chunks_exact_mut(row) {
                predictor::join(row, samples, size);
            }
        }
    }
    Ok(match image.sample.bits {
        8.. => plain,
        bits => spread(&plain, row, columns as usize, bits),
    })
}

/// Undoes the compression. What comes beyond `length` bytes is left.
fn decompressed(
    image: &Image,
    encoded: &[u8],
    rows: u64,
    length: usize,
) -> Result<Vec<u8>, String> {
    let inflated = |from: &mut dyn Read| {
        let mut plain = Vec::new();
        let read = from.take(length as u64).read_to_end(&mut plain);
        read.map(|_| plain)
    };
    match &image.compression {
        Compression::None => Ok(encoded.to_vec()),
        Compression::Deflate => inflated(&mut flate2::read::ZlibDecoder::new(encoded))
            .map_err(|error| format!("deflate: {error}")),
        Compression::Zstd => zstd::Decoder::new(encoded)
            .and_then(|mut decoder| inflated(&mut decoder))
            .map_err(|error| format!("Zstandard: {error}")),
        Compression::Lzw => guarded("LZW", || lzw(encoded, length)),
        Compression::PackBits => packbits(encoded, length),
        Compression::Jpeg { tables, converts } => {
            guarded("JPEG", || jpeg(image, encoded, tables, *converts, rows))
        }
    }
}

/// Runs a decoder that is not ours: what makes it panic is the file's fault.
fn guarded<T>(name: &str, decode: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let done = catch_unwind(AssertUnwindSafe(decode));
    done.unwrap_or_else(|_| {
        Err(format!(
            "{name}: the decoder met something impossible in it and stopped"
        ))
    })
}

fn lzw(encoded: &[u8], length: usize) -> Result<Vec<u8>, String> {
    // Codes of before TIFF 6 have their bits the other way round: the first one, which clears, shows it.
    if matches!(encoded, [0, second, ..] if second & 1 == 1) {
        return Err("LZW: its codes are of the style before TIFF 6".to_owned());
    }
    let mut decoder = Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
    let mut plain = vec![0; length];
    let (mut from, mut to) = (0, 0);
    while to < length {
        let input = encoded.get(from..).unwrap_or_default();
        let output = plain.get_mut(to..).unwrap_or_default();
        let done = decoder.decode_bytes(input, output);
        from = done.consumed_in.saturating_add(from);
        to = done.consumed_out.saturating_add(to);
        match done.status {
            Ok(LzwStatus::Ok) => {}
            Ok(LzwStatus::Done | LzwStatus::NoProgress) => break,
            Err(error) => return Err(format!("LZW: {error}")),
        }
    }
    plain.truncate(to);
    Ok(plain)
}

/// Runs: a byte n up to 127 and n + 1 bytes, or a byte n from 129 and one that comes 257 - n times.
fn packbits(encoded: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let cut = || "PackBits: it is cut short".to_owned();
    let (mut plain, mut rest) = (Vec::new(), encoded);
    while plain.len() < length {
        let (control, behind) = rest.split_first().ok_or_else(cut)?;
        match *control {
            0..128 => {
                let count = usize::from(*control) + 1;
                let (literal, behind) = behind.split_at_checked(count).ok_or_else(cut)?;
                plain.extend_from_slice(literal);
                rest = behind;
            }
            128 => rest = behind,
            _ => {
                let (byte, behind) = behind.split_first().ok_or_else(cut)?;
                plain.resize(plain.len() + 257 - usize::from(*control), *byte);
                rest = behind;
            }
        }
    }
    Ok(plain)
}

/// Decodes a JPEG stream, of which the tables may be those of all tiles.
fn jpeg(
    image: &Image,
    encoded: &[u8],
    tables: &[u8],
    converts: bool,
    rows: u64,
) -> Result<Vec<u8>, String> {
    const START: [u8; 2] = [0xff, 0xd8];
    const END: [u8; 2] = [0xff, 0xd9];
    let tables = tables.strip_suffix(&END).unwrap_or(tables);
    let whole = match tables.starts_with(&START) {
        true => [tables, encoded.strip_prefix(&START).unwrap_or(encoded)].concat(),
        false => encoded.to_vec(),
    };
    let (height, width) = image.tile;
    let options = DecoderOptions::default()
        .set_max_width(width as usize)
        .set_max_height(height as usize);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(&whole[..]), options);
    let failed = |error| format!("JPEG: {error:?}");
    decoder.decode_headers().map_err(failed)?;
    let info = decoder.info().ok_or("JPEG: it has no header")?;
    let components = u64::from(info.components);
    let found = (u64::from(info.width), u64::from(info.height));
    if found.0 != width || found.1 < rows || components != image.samples_of_tile() {
        return Err(format!(
            "JPEG: it has {} times {} pixels of {components} samples in a tile of {width} times {height}",
            found.0, found.1
        ));
    }
    let stored = decoder
        .input_colorspace()
        .ok_or("JPEG: it has no colours")?;
    let colours = match (components, converts) {
        (1, _) => ColorSpace::Luma,
        (_, true) => ColorSpace::RGB,
        (_, false) => stored,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    decoder.decode().map_err(failed)
}

/// Gives each sample of fewer bits a byte of its own. Rows of so many bytes begin at whole bytes.
fn spread(packed: &[u8], row: usize, columns: usize, bits: u32) -> Vec<u8> {
    let in_byte = (8 / bits) as usize;
    let mask = (1_u8 << bits) - 1;
    let rows = packed.chunks_exact(row.max(1));
    let spread = rows.flat_map(|row| {
        (0..columns).map(move |column| {
            let byte = row.get(column / in_byte).copied().unwrap_or(0);
            let shift = 8 - bits * (column % in_byte + 1) as u32;
            byte >> shift & mask
        })
    });
    spread.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_decoded() {
        let encoded = [1, 7, 8, 254, 9, 128, 0, 5];
        assert_eq!(packbits(&encoded, 6), Ok(vec![7, 8, 9, 9, 9, 5]));
        for end in 0..encoded.len() {
            assert!(packbits(&encoded[..end], 6).is_err(), "{end}");
        }
    }

    #[test]
    fn bits_become_bytes() {
        assert_eq!(
            spread(&[0b1010_0000, 0b0110_0000], 1, 3, 1),
            [1, 0, 1, 0, 1, 1]
        );
        assert_eq!(spread(&[0x12, 0x30], 2, 3, 4), [1, 2, 3]);
        assert_eq!(spread(&[0b1101_0000], 1, 2, 2), [3, 1]);
    }

    #[test]
    fn codes_are_bounded() {
        let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8);
        let encoded = encoder.encode(&[7; 100_000]).expect("in memory");
        assert_eq!(lzw(&encoded, 100_000), Ok(vec![7; 100_000]));
        assert_eq!(lzw(&encoded, 10), Ok(vec![7; 10]));
        assert!(lzw(&[0, 1, 2], 10).is_err());
        assert!(lzw(&[], 10).is_ok_and(|plain| plain.is_empty()));
    }

    #[test]
    fn a_panic_is_an_error() {
        let said = guarded("LZW", || -> Result<(), String> { panic!("impossible") });
        assert!(said.is_err_and(|it| it.contains("LZW")));
    }
}

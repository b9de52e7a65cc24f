//! One zstd frame in, one body out, within a limit, and back.
//!
//! The frame is walked block by block before anything is allocated. That tells its exact end, so
//! that whatever follows is refused, and an upper bound of its contents even where no size is
//! declared, so that it decompresses in one pass into one buffer, without the window copy of a
//! streaming decoder.

use std::cell::Cell;
use std::io::Cursor;
use std::thread::LocalKey;

use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

use crate::error::{FormatError, FormatFile};

const FRAME_MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;
/// Largest block of the zstd format, decompressed.
const MAX_BLOCK: u64 = 128 << 10;
/// Largest compression context that a thread keeps, in bytes. Those of small bodies stay below it.
const KEPT: usize = 512 << 10;

thread_local! {
    // To make and clear a context costs more than to decompress a snapshot of a few nodes.
    static COMPRESSION: Cell<Option<CCtx<'static>>> = const { Cell::new(None) };
    static DECOMPRESSION: Cell<Option<DCtx<'static>>> = const { Cell::new(None) };
}

/// The sizes in the headers of a frame and its blocks.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    /// Bytes of the whole frame.
    len: usize,
    /// The frame holds at most this much.
    bound: u64,
    /// Declared size of the contents. libzstd checks it.
    declared: Option<u64>,
}

/// Reads little-endian fields; running out of bytes is a truncated file.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    file: FormatFile,
}

impl Reader<'_> {
    fn uint(&mut self, width: usize) -> Result<u64, FormatError> {
        let end = self.skip(width)?;
        let field = &self.bytes[end - width..end];
        Ok(field
            .iter()
            .rev()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    fn skip(&mut self, width: usize) -> Result<usize, FormatError> {
        let end = self.at + width;
        if end > self.bytes.len() {
            let header = crate::file::HEADER_LEN;
            return Err(FormatError::Truncated {
                file: self.file,
                needed: header + end,
                found: header + self.bytes.len(),
            });
        }
        self.at = end;
        Ok(end)
    }
}

fn walk(bytes: &[u8], file: FormatFile) -> Result<Frame, FormatError> {
    let mut reader = Reader { bytes, at: 0, file };
    let magic = reader.uint(4)? as u32;
    if magic & 0xffff_fff0 == SKIPPABLE_MAGIC {
        return Err(FormatError::SkippableFrame { file });
    }
    if magic != FRAME_MAGIC {
        return Err(FormatError::Zstd {
            file,
            reason: "not a zstd frame",
        });
    }
    let descriptor = reader.uint(1)?;
    if descriptor & 0b1000 != 0 {
        return Err(FormatError::Zstd {
            file,
            reason: "reserved bit set",
        });
    }
    let single_segment = descriptor & 0b10_0000 != 0;
    let mut window = u64::MAX;
    if !single_segment {
        let byte = reader.uint(1)?;
        let base = 1u64 << (10 + (byte >> 3));
        window = base + base / 8 * (byte & 7);
    }
    let dictionary = reader.uint([0, 1, 2, 4][descriptor as usize & 3])?;
    if dictionary != 0 {
        return Err(FormatError::DictionaryFrame {
            file,
            dictionary: dictionary as u32,
        });
    }
    let declared = match descriptor >> 6 {
        0 if !single_segment => None,
        0 => Some(reader.uint(1)?),
        1 => Some(reader.uint(2)? + 256),
        2 => Some(reader.uint(4)?),
        _ => Some(reader.uint(8)?),
    };
    if single_segment {
        window = declared.unwrap_or(0);
    }
    let block_max = window.min(MAX_BLOCK);
    let mut bound: u64 = 0;
    loop {
        let block = reader.uint(3)?;
        let size = block >> 3;
        let (stored, contents) = match (block >> 1) & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, block_max),
            _ => {
                return Err(FormatError::Zstd {
                    file,
                    reason: "reserved block type",
                });
            }
        };
        if size > block_max {
            return Err(FormatError::Zstd {
                file,
                reason: "block larger than the window",
            });
        }
        // Neither can overflow: sizes have 21 bits, and there is a block per three bytes at most.
        bound += contents;
        reader.skip(stored as usize)?;
        if block & 1 != 0 {
            break;
        }
    }
    if descriptor & 0b100 != 0 {
        reader.skip(4)?;
    }
    Ok(Frame {
        len: reader.at,
        bound,
        declared,
    })
}

/// Decompresses `bytes`, which must be exactly one frame of at most `limit` bytes of contents.
pub(crate) fn decompress(
    bytes: &[u8],
    limit: u64,
    file: FormatFile,
) -> Result<Vec<u8>, FormatError> {
    let frame = walk(bytes, file)?;
    if frame.len < bytes.len() {
        return Err(FormatError::TrailingData {
            file,
            bytes: bytes.len() - frame.len,
        });
    }
    if frame.declared.is_some_and(|declared| declared > limit) {
        return Err(FormatError::TooLarge { file, limit });
    }
    // Reserving is cheap: pages that stay untouched cost no memory, and the rest is given back
    // below. One byte at least, so that zstd gets a buffer.
    let most = frame.bound.min(limit).max(1) as usize;
    // Few small bodies need the whole bound of a block, 128 KiB; the bound of many blocks is close.
    let likely = if most > MAX_BLOCK as usize {
        most
    } else {
        bytes.len() * 16
    };
    let mut body = buffer(most.min(likely), file)?;
    let mut outcome = decompress_into(&mut body, bytes);
    if outcome.is_err() && body.capacity() < most {
        // The small one first goes.
        drop(std::mem::take(&mut body));
        body = buffer(most, file)?;
        outcome = decompress_into(&mut body, bytes);
    }
    if let Err(reason) = outcome {
        let code_of_small_buffer = "Destination buffer is too small";
        return Err(if reason == code_of_small_buffer && frame.bound > limit {
            FormatError::TooLarge { file, limit }
        } else {
            FormatError::Zstd { file, reason }
        });
    }
    body.shrink_to_fit();
    Ok(body)
}

/// Returns an empty buffer, or an error where `Vec::with_capacity` would end the process.
pub(crate) fn buffer(bytes: usize, file: FormatFile) -> Result<Vec<u8>, FormatError> {
    let mut buffer = Vec::new();
    match buffer.try_reserve_exact(bytes) {
        Ok(()) => Ok(buffer),
        Err(_) => Err(FormatError::OutOfMemory { file, bytes }),
    }
}

fn decompress_into(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), &'static str> {
    let mut context = taken(&DECOMPRESSION)
        .or_else(DCtx::try_create)
        .ok_or("out of memory")?;
    let outcome = context.decompress(body, bytes);
    keep(&DECOMPRESSION, context);
    outcome.map(|_| ()).map_err(zstd_safe::get_error_name)
}

/// Takes the context that this thread has kept.
fn taken<T>(kept: &'static LocalKey<Cell<Option<T>>>) -> Option<T> {
    // A thread that ends has none.
    kept.try_with(Cell::take).ok().flatten()
}

/// Keeps a context for the next file that this thread reads or writes. Every use begins a new frame, so nothing of one
/// file, or of a failure, is left in it.
fn keep<T>(kept: &'static LocalKey<Cell<Option<T>>>, context: T) {
    // A thread that ends drops it.
    let _ended = kept.try_with(|kept| kept.set(Some(context)));
}

/// Returns `header` followed by `body` as one frame without content size and checksum, as the
/// format wants.
pub(crate) fn compress_after(
    header: &[u8],
    body: &[u8],
    level: i32,
    file: FormatFile,
) -> Result<Vec<u8>, FormatError> {
    let fail = |code| FormatError::Zstd {
        file,
        reason: zstd_safe::get_error_name(code),
    };
    let level = level.clamp(zstd_safe::min_c_level(), zstd_safe::max_c_level());
    let mut context = taken(&COMPRESSION)
        .or_else(CCtx::try_create)
        .ok_or(FormatError::Zstd {
            file,
            reason: "out of memory",
        })?;
    context
        .set_parameter(CParameter::CompressionLevel(level))
        .map_err(fail)?;
    context
        .set_parameter(CParameter::ContentSizeFlag(false))
        .map_err(fail)?;
    context
        .set_parameter(CParameter::ChecksumFlag(false))
        .map_err(fail)?;
    let mut bytes = buffer(header.len() + zstd_safe::compress_bound(body.len()), file)?;
    bytes.extend_from_slice(header);
    let mut end = Cursor::new(bytes);
    end.set_position(header.len() as u64);
    context.compress2(&mut end, body).map_err(fail)?;
    if context.sizeof() <= KEPT {
        keep(&COMPRESSION, context);
    }
    let mut bytes = end.into_inner();
    bytes.shrink_to_fit();
    Ok(bytes)
}

#[cfg(test)]
mod tests;

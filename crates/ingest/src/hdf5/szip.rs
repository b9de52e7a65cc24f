//! Szip: Rice codes of CCSDS 121.0-B with the conventions of the library of that name.
//!
//! ```text
//! u32  bytes of the chunk, decoded, little-endian
//! …    the codes
//! ```
//! Numbers of 32 and 64 bits are coded as bytes: first the first ones of all numbers, and so on. Lines that are no multiple of a
//! block are filled up to one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rust_aec::{AecFlags, AecParams};

/// Bits of the first parameter.
const MOST_SIGNIFICANT_FIRST: u32 = 16;
const PREDICTED: u32 = 32;

/// Says what of the parameters is not decoded, if anything.
pub(super) fn check(parameters: &[u32]) -> Result<(), String> {
    match *parameters {
        [_, block, ..] if !matches!(block, 8 | 16 | 32) => Err(format!(
            "szip: its blocks have {block} numbers, and those of 8, 16 and 32 are decoded"
        )),
        [_, _, 1..=24 | 32 | 64, line, ..] if line > 0 => Ok(()),
        _ => Err("szip: its parameters describe no code".to_owned()),
    }
}

/// Decodes a chunk, to at most so many bytes.
pub(super) fn decoded(chunk: &[u8], parameters: &[u32], most: usize) -> Result<Vec<u8>, String> {
    let [mask, block, bits, line, ..] = *parameters else {
        return Err("szip: it lacks parameters".to_owned());
    };
    let (total, codes) = chunk
        .split_first_chunk::<4>()
        .ok_or("szip: the chunk is cut short")?;
    let total = u32::from_le_bytes(*total) as usize;
    if total > most {
        return Err(format!("szip: a chunk of {most} bytes cannot have {total}"));
    }
    check(parameters)?;
    let is_bytes = matches!(bits, 32 | 64);
    let sample = match bits {
        ..=8 | 32 | 64 => 1,
        ..=16 => 2,
        _ => 4,
    };
    let blocks = line.div_ceil(block);
    let wrong = || "szip: its lines are longer than its chunks".to_owned();
    let padded = (blocks as usize)
        .checked_mul(block as usize)
        .ok_or_else(wrong)?;
    let lines = (total / sample).div_ceil(line as usize);
    let is_padded = !line.is_multiple_of(block);
    let samples = match is_padded {
        false => total / sample,
        // At most a block more for each line, and a line is no longer than its chunk.
        true => lines
            .checked_mul(padded)
            .filter(|it| *it <= most.saturating_mul(33))
            .ok_or_else(wrong)?,
    };
    let mut flags = AecFlags::empty();
    if mask & MOST_SIGNIFICANT_FIRST != 0 {
        flags |= AecFlags::MSB;
    }
    if mask & PREDICTED != 0 {
        flags |= AecFlags::DATA_PREPROCESS;
    }
    let code_bits = if is_bytes { 8 } else { bits as u8 };
    let code = AecParams::new(code_bits, block, blocks, flags);
    // The decoder is not ours: what makes it panic is the file's fault.
    let decoded = catch_unwind(AssertUnwindSafe(|| rust_aec::decode(codes, code, samples)));
    let mut plain = decoded
        .map_err(|_| "szip: the decoder met something impossible in it and stopped".to_owned())?
        .map_err(|error| format!("szip: {error}"))?;
    if is_padded {
        let (whole, kept) = (
            padded.saturating_mul(sample),
            (line as usize).saturating_mul(sample),
        );
        let kept = plain
            .chunks(whole)
            .flat_map(|it| it.get(..kept).unwrap_or(it));
        plain = kept.copied().collect();
    }
    plain.truncate(total);
    if plain.len() != total {
        return Err("szip: the chunk decodes to fewer bytes than it says".to_owned());
    }
    Ok(match is_bytes {
        true => joined(&plain, bits as usize / 8),
        false => plain,
    })
}

/// Puts numbers together of their first bytes, their second ones, and so on.
fn joined(bytes: &[u8], size: usize) -> Vec<u8> {
    let count = bytes.len() / size;
    let mut numbers = vec![0; bytes.len()];
    for (at, number) in numbers.chunks_exact_mut(size).enumerate() {
        for (which, byte) in number.iter_mut().enumerate() {
            *byte = bytes.get(which * count + at).copied().unwrap_or(0);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_put_together_of_their_bytes() {
        assert_eq!(
            joined(&[1, 5, 2, 6, 3, 7, 4, 8], 4),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
    }

    #[test]
    fn what_lies_is_an_error() {
        let sound = [4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff];
        for parameters in [
            &[141, 16, 8][..],
            &[141, 0, 8, 16],
            &[141, 3, 8, 16],
            &[141, 64, 8, 16],
            &[141, 16, 8, 0],
            &[141, 16, 33, 16],
            &[141, 16, 8, u32::MAX],
        ] {
            assert!(decoded(&sound, parameters, 4).is_err(), "{parameters:?}");
        }
        assert!(decoded(&sound, &[141, 16, 8, 16], 3).is_err());
        assert!(decoded(&sound[..3], &[141, 16, 8, 16], 4).is_err());
    }
}

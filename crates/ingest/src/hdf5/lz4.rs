//! The framing of LZ4 in HDF5.
//!
//! ```text
//! u64  bytes of the chunk, decoded        all numbers big-endian
//! u32  bytes of a block, decoded          the last one may be shorter
//! u32  bytes of the next block, encoded   as many as decoded: the block is stored
//! …    the block
//! ```

/// Decodes a chunk, to at most so many bytes.
pub(super) fn decoded(chunk: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let cut = || "LZ4: the chunk is cut short".to_owned();
    let (total, rest) = chunk.split_first_chunk::<8>().ok_or_else(cut)?;
    let (block, mut rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let total = usize::try_from(u64::from_be_bytes(*total)).unwrap_or(usize::MAX);
    let block = u32::from_be_bytes(*block) as usize;
    // LZ4 makes at most 255 bytes of one.
    if total > most || total > chunk.len().saturating_mul(256) || (block == 0 && total > 0) {
        return Err(format!("LZ4: a chunk of {most} bytes cannot have {total}"));
    }
    let mut bytes = Vec::with_capacity(total);
    while bytes.len() < total {
        let wanted = block.min(total - bytes.len());
        let (length, behind) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (encoded, behind) = behind.split_at_checked(length).ok_or_else(cut)?;
        if length == wanted {
            bytes.extend_from_slice(encoded);
        } else {
            let decoded = lz4_flex::block::decompress(encoded, wanted);
            let decoded = decoded.map_err(|error| format!("LZ4: {error}"))?;
            if decoded.len() != wanted {
                return Err("LZ4: a block has another length than the chunk says".to_owned());
            }
            bytes.extend_from_slice(&decoded);
        }
        rest = behind;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(bytes: &[u8], block: usize, stored: bool) -> Vec<u8> {
        let mut chunk = (bytes.len() as u64).to_be_bytes().to_vec();
        chunk.extend((block as u32).to_be_bytes());
        for part in bytes.chunks(block) {
            let encoded = match stored {
                true => part.to_vec(),
                false => lz4_flex::block::compress(part),
            };
            chunk.extend((encoded.len() as u32).to_be_bytes());
            chunk.extend(encoded);
        }
        chunk
    }

    #[test]
    fn blocks_are_decoded_or_taken_as_they_are() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| (n / 7 % 50) as u8).collect();
        for (block, stored) in [(10_000, false), (4096, false), (4096, true)] {
            let chunk = framed(&bytes, block, stored);
            assert_eq!(decoded(&chunk, bytes.len()), Ok(bytes.clone()));
            assert!(decoded(&chunk, bytes.len() - 1).is_err());
        }
    }

    #[test]
    fn a_cut_or_lying_chunk_is_an_error() {
        let chunk = framed(&[7; 5000], 1024, false);
        for end in 0..chunk.len() {
            assert!(decoded(&chunk[..end], 5000).is_err(), "{end}");
        }
        let mut lies = chunk;
        lies[..8].copy_from_slice(&u64::MAX.to_be_bytes());
        assert!(decoded(&lies, usize::MAX).is_err());
    }
}

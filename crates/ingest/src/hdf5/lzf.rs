//! LZF, as h5py has it in files: a stream without a frame.
//!
//! ```text
//! 000LLLLL                 L + 1 bytes follow as they are
//! LLLooooo oooooooo        L + 2 bytes that came o + 1 bytes before, L from 1 to 6
//! 111ooooo LLLLLLLL oo…    L + 9 bytes
//! ```

/// Decodes a chunk, to at most so many bytes.
pub(super) fn decoded(chunk: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let cut = || "LZF: the chunk is cut short".to_owned();
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = chunk;
    while let Some((control, behind)) = rest.split_first() {
        rest = behind;
        let control = usize::from(*control);
        let length = match control >> 5 {
            0 => control + 1,
            7 => {
                let (more, behind) = rest.split_first().ok_or_else(cut)?;
                rest = behind;
                usize::from(*more) + 9
            }
            length => length + 2,
        };
        if length > most.saturating_sub(bytes.len()) {
            return Err(format!("LZF: a chunk of {most} bytes has more"));
        }
        if control < 32 {
            let (literal, behind) = rest.split_at_checked(length).ok_or_else(cut)?;
            bytes.extend_from_slice(literal);
            rest = behind;
            continue;
        }
        let (low, behind) = rest.split_first().ok_or_else(cut)?;
        rest = behind;
        let back = ((control & 0x1f) << 8 | usize::from(*low)) + 1;
        let from = bytes.len().checked_sub(back);
        let from = from.ok_or("LZF: the chunk refers to bytes before its beginning")?;
        // The bytes may be some of those that they make.
        for at in from..from + length {
            if let Some(byte) = bytes.get(at).copied() {
                bytes.push(byte);
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_repetitions_are_decoded() {
        // "abc", then nine bytes from three before, then twelve from one before.
        let chunk = [2, b'a', b'b', b'c', 0xe0, 0, 2, 0xe0, 3, 0];
        let bytes = decoded(&chunk, 24).expect("sound");
        assert_eq!(bytes, b"abcabcabcabccccccccccccc"[..24].to_vec());
        assert!(decoded(&chunk, 23).is_err());
        for end in [1, 3, 5, 6, 8, 9] {
            assert!(decoded(&chunk[..end], 24).is_err(), "{end}");
        }
        assert!(decoded(&[0x20, 0], 9).is_err(), "before the beginning");
        assert_eq!(decoded(&[], 9), Ok(Vec::new()));
    }
}

//! The filter N-Bit: of each number, only the bits that its type uses.
//!
//! ```text
//! [count, full, elements, type…]          full: nothing was packed
//! type:  1 size order precision offset    a number
//!        2 size type                      an array
//!        3 size members (offset type)…    a compound
//!        4 size                           bytes as they are
//! ```

use super::bits::Bits;

/// How deep types may lie in each other.
const MAX_DEPTH: u32 = 8;

/// Tells whether the filter did nothing.
pub(super) fn is_full(parameters: &[u32]) -> bool {
    parameters.get(1).is_some_and(|full| *full != 0)
}

/// Decodes a chunk, to at most so many bytes.
pub(super) fn decoded(chunk: &[u8], parameters: &[u32], most: usize) -> Result<Vec<u8>, String> {
    if is_full(parameters) {
        return Ok(chunk.to_vec());
    }
    let wrong = || "N-Bit: its parameters describe no type".to_owned();
    let count = *parameters.get(2).ok_or_else(wrong)? as usize;
    let mut rest = parameters.get(3..).ok_or_else(wrong)?;
    let packed = Packed::parse(&mut rest, 0).ok_or_else(wrong)?;
    let size = packed.size();
    let bytes = count.checked_mul(size).filter(|bytes| *bytes <= most);
    let bytes = bytes.ok_or_else(|| {
        format!("N-Bit: a chunk of {most} bytes cannot have {count} elements of {size}")
    })?;
    let mut plain = vec![0; bytes];
    let mut bits = Bits::new(chunk);
    for element in plain.chunks_exact_mut(size) {
        packed
            .read(&mut bits, element)
            .ok_or("N-Bit: the chunk is cut short")?;
    }
    Ok(plain)
}

/// The kind of an element.
#[derive(Debug)]
enum Packed {
    Number {
        size: usize,
        big: bool,
        precision: u32,
        offset: u32,
    },
    Array {
        size: usize,
        element: Box<Self>,
    },
    Compound {
        size: usize,
        members: Vec<(usize, Self)>,
    },
    Bytes {
        size: usize,
    },
}

impl Packed {
    fn parse(rest: &mut &[u32], depth: u32) -> Option<Self> {
        let mut next = || {
            let (first, behind) = rest.split_first()?;
            *rest = behind;
            Some(*first)
        };
        let (class, size) = (next()?, next()? as usize);
        if size == 0 || depth > MAX_DEPTH {
            return None;
        }
        match class {
            1 => {
                let (big, precision, offset) = (next()? == 1, next()?, next()?);
                let end = precision.checked_add(offset)?;
                let fits = size <= 8 && precision > 0 && end as usize <= size * 8;
                fits.then_some(Self::Number {
                    size,
                    big,
                    precision,
                    offset,
                })
            }
            2 => {
                let element = Box::new(Self::parse(rest, depth + 1)?);
                let fits = size.is_multiple_of(element.size());
                fits.then_some(Self::Array { size, element })
            }
            3 => {
                let count = next()?;
                let mut members = Vec::new();
                for _ in 0..count {
                    let (offset, behind) = rest.split_first()?;
                    *rest = behind;
                    let member = Self::parse(rest, depth + 1)?;
                    let end = (*offset as usize).checked_add(member.size())?;
                    if end > size {
                        return None;
                    }
                    members.push((*offset as usize, member));
                }
                Some(Self::Compound { size, members })
            }
            4 => Some(Self::Bytes { size }),
            _ => None,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Number { size, .. }
            | Self::Array { size, .. }
            | Self::Compound { size, .. }
            | Self::Bytes { size } => *size,
        }
    }

    /// Reads an element into as many bytes as it has.
    fn read(&self, bits: &mut Bits<'_>, element: &mut [u8]) -> Option<()> {
        match self {
            Self::Number {
                size,
                big,
                precision,
                offset,
            } => {
                let value = bits.read(*precision)?.checked_shl(*offset)?;
                element.copy_from_slice(value.to_le_bytes().get(..*size)?);
                if *big {
                    element.reverse();
                }
            }
            Self::Array { element: part, .. } => {
                for bytes in element.chunks_exact_mut(part.size()) {
                    part.read(bits, bytes)?;
                }
            }
            Self::Compound { members, .. } => {
                for (offset, member) in members {
                    let end = offset.checked_add(member.size())?;
                    member.read(bits, element.get_mut(*offset..end)?)?;
                }
            }
            Self::Bytes { .. } => {
                for byte in element {
                    *byte = bits.read(8)? as u8;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_their_bits_back() {
        // Two integers of 12 bits in two bytes, 4 bits up; the second one big-endian.
        let little = [8, 0, 2, 1, 2, 0, 12, 4];
        assert_eq!(
            decoded(&[0xab, 0xc1, 0x23], &little, 4),
            Ok(vec![0xc0, 0xab, 0x30, 0x12])
        );
        let big = [8, 0, 1, 1, 2, 1, 12, 0];
        assert_eq!(decoded(&[0xab, 0xc0], &big, 2), Ok(vec![0x0a, 0xbc]));
        let full = [8, 1, 1, 1, 2, 0, 16, 0];
        assert_eq!(decoded(&[1, 2], &full, 2), Ok(vec![1, 2]));
        let compound = [0, 0, 1, 3, 4, 2, 0, 1, 1, 0, 4, 0, 2, 4, 2];
        assert_eq!(
            decoded(&[0x7a, 0xbc, 0xd0], &compound, 4),
            Ok(vec![7, 0, 0xab, 0xcd])
        );
    }

    #[test]
    fn parameters_that_lie_are_errors() {
        let number = [8, 0, 2, 1, 2, 0, 12, 4];
        assert!(decoded(&[0xab, 0xc1], &number, 4).is_err(), "cut");
        assert!(
            decoded(&[0xab, 0xc1, 0x23], &number, 3).is_err(),
            "too many"
        );
        for wrong in [
            &[8, 0, 2, 1, 2, 0, 12, 5][..],
            &[8, 0, 2, 1, 0, 0, 12, 4],
            &[8, 0, 2, 1, 2, 0, 0, 4],
            &[8, 0, 2, 9, 2],
            &[8, 0, 2, 2, 3, 1, 2, 0, 12, 4],
            &[8, 0, 2, 3, 2, 1, 1, 4, 2],
            &[8, 0, u32::MAX, 4, u32::MAX],
            &[8, 0],
            &[],
        ] {
            assert!(decoded(&[0; 64], wrong, 64).is_err(), "{wrong:?}");
        }
    }
}

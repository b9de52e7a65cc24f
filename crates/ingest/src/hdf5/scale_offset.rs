//! The filter Scale-Offset: numbers less their minimum, in as many bits as the largest of them needs; floats rounded to decimals
//! before.
//!
//! ```text
//! u32  bits of a number            little-endian, all of it
//! u8   8
//! u64  the minimum: an integer, or the bits of a float
//!  8 bytes of anything
//! …    the numbers, packed; as they are if they need all their bits
//! ```
//! With a fill value, the number with all bits set stands for it.

use super::bits::Bits;

/// Bytes before the numbers.
const HEADER: usize = 21;

/// The parameters: `[kind, decimals, elements, class, size, sign, order, has fill, fill…]`.
struct Scaled {
    /// Decimals that are kept; `None` of integers.
    decimals: Option<i32>,
    elements: usize,
    size: usize,
    big: bool,
    /// The bits of the fill value, if there is one.
    fill: Option<u64>,
}

impl Scaled {
    fn parse(parameters: &[u32]) -> Result<Self, String> {
        let [
            kind,
            scale,
            elements,
            class,
            size,
            _,
            order,
            filled,
            fill @ ..,
        ] = parameters
        else {
            return Err("Scale-Offset: it lacks parameters".to_owned());
        };
        let decimals = match (kind, class) {
            (2, 0) => None,
            (0, 1) if matches!(size, 4 | 8) => Some(scale.cast_signed()),
            _ => {
                return Err(
                    "Scale-Offset: its parameters describe neither integers nor rounded floats"
                        .to_owned(),
                );
            }
        };
        if !matches!(size, 1 | 2 | 4 | 8) {
            return Err(format!("Scale-Offset: numbers of {size} bytes"));
        }
        let low = u64::from(fill.first().copied().unwrap_or(0));
        let high = u64::from(fill.get(1).copied().unwrap_or(0));
        let mask = u64::MAX >> (64 - size * 8);
        Ok(Self {
            decimals,
            elements: *elements as usize,
            size: *size as usize,
            big: *order == 1,
            fill: (*filled == 1).then_some((high << 32 | low) & mask),
        })
    }

    /// Returns the bits of a number, given what is packed of it.
    fn number(&self, packed: u64, bits: u32, minimum: u64) -> u64 {
        let all_set = match bits {
            0 => 0,
            bits => u64::MAX >> (64 - bits),
        };
        if let Some(fill) = self.fill.filter(|_| packed == all_set) {
            return fill;
        }
        match (self.decimals, self.size) {
            (None, _) => packed.wrapping_add(minimum),
            (Some(decimals), 4) => {
                let minimum = f32::from_bits(minimum as u32);
                let scale = 10_f32.powi(decimals);
                let number = (packed as u32).cast_signed() as f32 / scale + minimum;
                u64::from(number.to_bits())
            }
            (Some(decimals), _) => {
                let minimum = f64::from_bits(minimum);
                let scale = 10_f64.powi(decimals);
                (packed.cast_signed() as f64 / scale + minimum).to_bits()
            }
        }
    }
}

/// Decodes a chunk, to at most so many bytes.
pub(super) fn decoded(chunk: &[u8], parameters: &[u32], most: usize) -> Result<Vec<u8>, String> {
    let scaled = Scaled::parse(parameters)?;
    let size = scaled.size;
    let total = scaled.elements.checked_mul(size).filter(|it| *it <= most);
    let total = total.ok_or_else(|| {
        let count = scaled.elements;
        format!("Scale-Offset: a chunk of {most} bytes cannot have {count} elements of {size}")
    })?;
    let cut = || "Scale-Offset: the chunk is cut short".to_owned();
    let (header, packed) = chunk.split_at_checked(HEADER).ok_or_else(cut)?;
    let (bits, rest) = header.split_first_chunk::<4>().ok_or_else(cut)?;
    let bits = u32::from_le_bytes(*bits);
    let minimum = rest.get(1..).and_then(|it| it.first_chunk::<8>());
    let minimum = u64::from_le_bytes(*minimum.ok_or_else(cut)?);
    let mut plain = Vec::with_capacity(total);
    let mut push = |number: u64| {
        let bytes = number.to_le_bytes();
        let bytes = bytes.get(..size).unwrap_or(&bytes);
        match scaled.big {
            false => plain.extend(bytes),
            true => plain.extend(bytes.iter().rev()),
        }
    };
    if bits as usize > size * 8 {
        return Err(format!(
            "Scale-Offset: {bits} bits of numbers of {size} bytes"
        ));
    }
    if bits as usize == size * 8 {
        let whole = packed.get(..total).ok_or_else(cut)?;
        for number in whole.chunks_exact(size) {
            let mut bytes = [0; 8];
            for (to, from) in bytes.iter_mut().zip(number) {
                *to = *from;
            }
            push(u64::from_le_bytes(bytes));
        }
        return Ok(plain);
    }
    let mut reader = Bits::new(packed);
    for _ in 0..scaled.elements {
        let packed = reader.read(bits).ok_or_else(cut)?;
        push(scaled.number(packed, bits, minimum));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bits: u32, minimum: u64, packed: &[u8]) -> Vec<u8> {
        let mut chunk = bits.to_le_bytes().to_vec();
        chunk.push(8);
        chunk.extend(minimum.to_le_bytes());
        chunk.extend([0; 8]);
        chunk.extend(packed);
        chunk
    }

    #[test]
    fn numbers_are_their_minimum_and_more() {
        let signed = [2, 0, 3, 0, 2, 1, 0, 0];
        let packed = chunk(4, (-5_i64).cast_unsigned(), &[0x0a, 0xf0]);
        let numbers: Vec<u8> = [-5_i16, 5, 10]
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect();
        assert_eq!(decoded(&packed, &signed, 6), Ok(numbers));
        let filled = [2, 0, 3, 0, 2, 1, 1, 1, 0xfffe];
        let numbers: Vec<u8> = [-5_i16, 5, -2]
            .iter()
            .flat_map(|it| it.to_be_bytes())
            .collect();
        assert_eq!(decoded(&packed, &filled, 6), Ok(numbers));
        let float = [0, 1, 2, 1, 8, 0, 0, 0];
        let packed = chunk(8, 1.5_f64.to_bits(), &[0, 25]);
        let numbers: Vec<u8> = [1.5_f64, 4.0]
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect();
        assert_eq!(decoded(&packed, &float, 16), Ok(numbers));
        let whole = chunk(16, 0, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(decoded(&whole, &signed, 6), Ok(vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn what_lies_is_an_error() {
        let signed = [2, 0, 3, 0, 2, 1, 0, 0];
        let sound = chunk(4, 0, &[0x0a, 0xf0]);
        assert!(decoded(&sound, &signed, 5).is_err(), "too many");
        for end in 0..sound.len() {
            assert!(decoded(&sound[..end], &signed, 6).is_err(), "{end}");
        }
        assert!(decoded(&chunk(17, 0, &[0; 99]), &signed, 6).is_err());
        assert!(decoded(&sound, &[2, 0, 3, 0, 3, 1, 0, 0], 99).is_err());
        assert!(decoded(&sound, &[1, 0, 3, 1, 4, 1, 0, 0], 99).is_err());
        assert!(decoded(&sound, &signed[..6], 99).is_err());
    }
}

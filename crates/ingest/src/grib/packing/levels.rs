//! Template 5.200: runs of numbers of levels, each of which stands for a value. The level 0 is a missing value.

use super::super::octets::Octets;
use super::super::problem::GribProblem;
use super::bits::Bits;

/// Hands on the values of a field with so many of them.
pub(super) fn unpack(
    octets: &Octets<'_>,
    bits: u8,
    packed: &[u8],
    count: usize,
    take: &mut dyn FnMut(f64),
) -> Result<(), GribProblem> {
    if !(1..=16).contains(&bits) {
        return Err(GribProblem::unsupported(
            5,
            "the number of bits of a value",
            bits,
        ));
    }
    let most = octets.u16(13)?;
    let factor = 10_f64.powi(octets.i8(17)?.unsigned_abs().into());
    let is_divided = octets.i8(17)? >= 0;
    let mut values = vec![f64::NAN];
    for level in 0..usize::from(octets.u16(15)?) {
        let value = f64::from(octets.u16(18 + 2 * level)?);
        values.push(match is_divided {
            true => value / factor,
            false => value * factor,
        });
    }
    // Numbers above the highest level are digits of the length of a run.
    let base = (1_u32 << bits).saturating_sub(u32::from(most) + 1);
    let mut reader = Bits::new(packed);
    let (mut done, mut last, mut digit) = (0, None, 1_u64);
    for _ in 0..(packed.len() as u64 * 8) / u64::from(bits) {
        let number = reader.next(bits);
        let (value, times) = match number.checked_sub(u32::from(most) + 1) {
            None => {
                let value = values.get(number as usize).copied();
                let value = value.ok_or_else(|| {
                    GribProblem::damaged(7, format!("it has level {number}, which has no value"))
                })?;
                (last, digit) = (Some(value), 1);
                (value, 1)
            }
            Some(more) => {
                let value = last
                    .ok_or_else(|| GribProblem::damaged(7, "it begins with the length of a run"))?;
                let times = u64::from(more).saturating_mul(digit);
                digit = digit.saturating_mul(base.into());
                (value, times)
            }
        };
        if times > (count - done) as u64 {
            // The last byte is filled up.
            break;
        }
        (0..times).for_each(|_| take(value));
        done += times as usize;
    }
    match done == count {
        true => Ok(()),
        false => {
            let problem = format!("its runs have {done} values and not {count}");
            Err(GribProblem::damaged(7, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A section 5 with levels 1 to 3, which stand for 0.1 to 0.3.
    fn section(most: u8) -> Vec<u8> {
        let mut section = vec![0; 11];
        section.extend([4, 0, most, 0, 3, 1, 0, 1, 0, 2, 0, 3]);
        section
    }

    fn unpacked(packed: &[u8], count: usize) -> Result<Vec<f64>, GribProblem> {
        let (section, mut values) = (section(3), Vec::new());
        let octets = Octets::new(5, &section);
        unpack(&octets, 4, packed, count, &mut |it| values.push(it))?;
        Ok(values)
    }

    #[test]
    fn runs_have_digits() {
        // Level 2, then twice more; level 0; level 1, then 1 + 1 * 12 times more.
        let values = unpacked(&[0x26, 0x01, 0x55], 3 + 1 + 14).expect("it is read");
        assert_eq!(values[..3], [0.2; 3]);
        assert!(values[3].is_nan());
        assert_eq!(values[4..], [0.1; 14]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(unpacked(&[0x26, 0x01, 0x55], 17).is_err());
        assert!(unpacked(&[0x26, 0x01, 0x55], 19).is_err());
        assert!(unpacked(&[0x51], 2).is_err());
        let (section, mut values) = (section(9), Vec::<f64>::new());
        let octets = Octets::new(5, &section);
        let found = unpack(&octets, 4, &[0x50], 1, &mut |it| values.push(it));
        assert!(found.is_err());
    }
}

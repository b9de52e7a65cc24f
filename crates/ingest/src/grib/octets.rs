//! The octets of a section, numbered from 1 as the tables of WMO number them.

use super::problem::GribProblem;

/// A section with its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Octets<'a> {
    section: u8,
    bytes: &'a [u8],
}

impl<'a> Octets<'a> {
    pub(super) fn new(section: u8, bytes: &'a [u8]) -> Self {
        Self { section, bytes }
    }

    /// Returns the number of the section.
    pub(super) fn section(&self) -> u8 {
        self.section
    }

    /// Returns so many octets from the one with this number on.
    pub(super) fn get(&self, first: usize, count: usize) -> Result<&'a [u8], GribProblem> {
        let end = first.saturating_sub(1).saturating_add(count);
        let found = self.bytes.get(first.saturating_sub(1)..end);
        found.ok_or(GribProblem::SectionShort {
            section: self.section,
            length: self.bytes.len() as u64,
            needed: end as u64,
        })
    }

    /// Returns all octets from the one with this number on.
    pub(super) fn rest(&self, first: usize) -> &'a [u8] {
        self.bytes.get(first.saturating_sub(1)..).unwrap_or(&[])
    }

    fn array<const N: usize>(&self, first: usize) -> Result<[u8; N], GribProblem> {
        let mut array = [0; N];
        array.copy_from_slice(self.get(first, N)?);
        Ok(array)
    }

    pub(super) fn u8(&self, octet: usize) -> Result<u8, GribProblem> {
        self.array::<1>(octet).map(|[octet]| octet)
    }

    pub(super) fn u16(&self, first: usize) -> Result<u16, GribProblem> {
        self.array(first).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&self, first: usize) -> Result<u32, GribProblem> {
        self.array(first).map(u32::from_be_bytes)
    }

    /// Returns a number whose first bit is its sign.
    pub(super) fn i8(&self, octet: usize) -> Result<i8, GribProblem> {
        let magnitude = |octet: u8| (octet & 0x7f).cast_signed();
        let octet = self.u8(octet)?;
        Ok(match octet >> 7 {
            0 => magnitude(octet),
            _ => -magnitude(octet),
        })
    }

    /// Returns a number whose first bit is its sign.
    pub(super) fn i16(&self, first: usize) -> Result<i16, GribProblem> {
        let number = self.u16(first)?;
        let magnitude = (number & 0x7fff).cast_signed();
        Ok(match number >> 15 {
            0 => magnitude,
            _ => -magnitude,
        })
    }

    /// Returns a number whose first bit is its sign.
    pub(super) fn i32(&self, first: usize) -> Result<i32, GribProblem> {
        let number = self.u32(first)?;
        let magnitude = (number & 0x7fff_ffff).cast_signed();
        Ok(match number >> 31 {
            0 => magnitude,
            _ => -magnitude,
        })
    }

    pub(super) fn f32(&self, first: usize) -> Result<f32, GribProblem> {
        self.array(first).map(f32::from_be_bytes)
    }

    /// Returns a decimal number: an octet with the power of ten that it was multiplied by, and four with the product. `None`
    /// if it is missing.
    pub(super) fn scaled(&self, first: usize) -> Result<Option<Decimal>, GribProblem> {
        let (scale, value) = (self.u8(first)?, self.u32(first + 1)?);
        if scale == u8::MAX || value == u32::MAX {
            return Ok(None);
        }
        let decimal = Decimal {
            digits: self.i32(first + 1)?,
            scale: self.i8(first)?,
        };
        Ok(Some(decimal))
    }
}

/// A decimal number: `digits` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i32,
    scale: i8,
}

impl Decimal {
    /// Returns the number, divided by ten to this power.
    pub(super) fn shifted(self, power: i32) -> f64 {
        let scale = i32::from(self.scale) + power;
        // Powers up to 22 are exact, and so is the rounding of the quotient.
        let factor = 10_f64.powi(scale.abs());
        match scale >= 0 {
            true => f64::from(self.digits) / factor,
            false => f64::from(self.digits) * factor,
        }
    }

    /// Returns the number.
    pub(super) fn value(self) -> f64 {
        self.shifted(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bit_is_the_sign() {
        let octets = Octets::new(3, &[0x80, 0, 0, 5, 0x81, 0x7f, 0xff, 0x80, 0x01]);
        assert_eq!(octets.i32(1), Ok(-5));
        assert_eq!(octets.i8(5), Ok(-1));
        assert_eq!(octets.i16(6), Ok(0x7fff));
        assert_eq!(octets.i16(8), Ok(-1));
        let short = GribProblem::SectionShort {
            section: 3,
            length: 9,
            needed: 10,
        };
        assert_eq!(octets.u16(9), Err(short));
    }

    #[test]
    fn decimals_are_rounded_once() {
        let octets = [1, 0, 0, 0, 1, 0x82, 0, 0, 3, 0xe8, 255, 0, 0, 0, 0];
        let octets = Octets::new(4, &octets);
        let decimal = |first| octets.scaled(first).map(|it| it.map(Decimal::value));
        assert_eq!(decimal(1), Ok(Some(0.1)));
        assert_eq!(decimal(6), Ok(Some(100_000.0)));
        assert_eq!(decimal(11), Ok(None));
        let decimal = octets.scaled(6).ok().flatten();
        assert_eq!(decimal.map(|it| it.shifted(2)), Some(1000.0));
    }
}

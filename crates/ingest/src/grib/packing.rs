//! Sections 5 to 7: the values of a field.
//!
//! Packed values are whole numbers; `(R + X 2^E) 10^-D` of each is a value. Every unpacker here hands on the numbers
//! `X`, so that the values are computed in one place, in double precision: those of other libraries to the last bit.

mod bits;
mod levels;
mod library;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::bits::Bits;
use super::octets::Octets;
use super::problem::GribProblem;

/// The type of the elements that a field becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    /// `float32`.
    Single,
    /// `float64`: of numbers that single precision has no room for.
    Double,
}

impl Width {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    pub(super) fn data_type(self) -> &'static str {
        match self {
            Self::Single => "float32",
            Self::Double => "float64",
        }
    }
}

/// Digits of `float32`.
const SINGLE_BITS: u8 = 24;

/// A section 5.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packing {
    template: u16,
    /// Values that are packed: those that no bitmap leaves out.
    pub(super) count: u64,
    scaling: Scaling,
    bits: u8,
}

/// How a value is computed of a whole number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scaling {
    reference: f64,
    /// Two to the power of E.
    binary: f64,
    /// Ten to the power of -D.
    decimal: f64,
}

impl Scaling {
    fn of(octets: &Octets<'_>) -> Result<Self, GribProblem> {
        let ten = |power: i32| 10_f64.powi(power);
        let decimal = i32::from(octets.i16(18)?);
        Ok(Self {
            reference: f64::from(octets.f32(12)?),
            binary: 2_f64.powi(octets.i16(16)?.into()),
            decimal: match decimal >= 0 {
                true => 1.0 / ten(decimal),
                false => ten(-decimal),
            },
        })
    }

    fn value(self, number: f64) -> f64 {
        (number * self.binary + self.reference) * self.decimal
    }
}

impl Packing {
    pub(super) fn of(section: &[u8]) -> Result<Self, GribProblem> {
        let octets = Octets::new(5, section);
        let template = octets.u16(10)?;
        let has_scaling = matches!(template, 0 | 2 | 3 | 40 | 41 | 42 | 61);
        let (scaling, bits) = match template {
            _ if has_scaling => (Scaling::of(&octets)?, octets.u8(20)?),
            4 => {
                let precision = octets.u8(12)?;
                let bits = match precision {
                    1 => 32,
                    2 => 64,
                    value => return Err(GribProblem::unsupported(5, "the precision", value)),
                };
                (NO_SCALING, bits)
            }
            200 => (NO_SCALING, octets.u8(12)?),
            number => return Err(GribProblem::Template { section: 5, number }),
        };
        let packing = Self {
            template,
            count: octets.u32(6)?.into(),
            scaling,
            bits,
        };
        if template != 4 && bits > 32 {
            return Err(GribProblem::unsupported(
                5,
                "the number of bits of a value",
                bits,
            ));
        }
        if matches!(template, 2 | 3) {
            library::check_kind(&octets, template)?;
        }
        Ok(packing)
    }

    /// Returns the type that has room for the values.
    pub(super) fn width(&self) -> Width {
        match self.template {
            4 if self.bits == 64 => Width::Double,
            0 if self.bits > SINGLE_BITS => Width::Double,
            _ => Width::Single,
        }
    }

    /// Hands on the values in their order. `section` is that which the packing was read from, `data` is a section 7.
    pub(super) fn unpack(
        &self,
        section: &[u8],
        data: &[u8],
        take: &mut dyn FnMut(f64),
    ) -> Result<(), GribProblem> {
        let octets = Octets::new(5, section);
        let packed = Octets::new(7, data).rest(6);
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let scaling = self.scaling;
        let is_constant = self.bits == 0 && matches!(self.template, 0 | 40 | 41 | 42 | 61);
        match self.template {
            61 => {
                let offset = f64::from(octets.f32(21)?);
                let of = |number: f64| scaling.value(number).exp() - offset;
                match is_constant {
                    true => (0..count).for_each(|_| take(of(0.0))),
                    false => self.simple(packed, count, &mut |number| take(of(number)))?,
                }
            }
            // Other libraries, which write such fields, do not scale the reference value then.
            _ if is_constant => (0..count).for_each(|_| take(scaling.reference)),
            0 => self.simple(packed, count, &mut |number| take(scaling.value(number)))?,
            4 => self.floats(packed, count, take)?,
            200 => levels::unpack(&octets, self.bits, packed, count, take)?,
            _ => {
                // The libraries have been found to panic on damaged data, by arithmetic or an index. What they were
                // given is dropped with them, so nothing that is half done is seen again.
                let unpacked = catch_unwind(AssertUnwindSafe(|| {
                    let mut taken = |number: f64| take(scaling.value(number));
                    library::unpack(self.template, section, data, count, &mut taken)
                }));
                let panicked = "its decoder panicked on it";
                unpacked.unwrap_or_else(|_| Err(GribProblem::damaged(7, panicked)))?;
            }
        }
        Ok(())
    }

    fn simple(
        &self,
        packed: &[u8],
        count: usize,
        take: &mut dyn FnMut(f64),
    ) -> Result<(), GribProblem> {
        let mut bits = Bits::new(packed);
        bits.check(count, self.bits)?;
        for _ in 0..count {
            take(f64::from(bits.next(self.bits)));
        }
        Ok(())
    }

    fn floats(
        &self,
        packed: &[u8],
        count: usize,
        take: &mut dyn FnMut(f64),
    ) -> Result<(), GribProblem> {
        Bits::new(packed).check(count, self.bits)?;
        match self.bits {
            32 => {
                let (floats, _) = packed.as_chunks::<4>();
                let floats = floats.iter().take(count);
                floats.for_each(|it| take(f32::from_be_bytes(*it).into()));
            }
            _ => {
                let (floats, _) = packed.as_chunks::<8>();
                let floats = floats.iter().take(count);
                floats.for_each(|it| take(f64::from_be_bytes(*it)));
            }
        }
        Ok(())
    }
}

const NO_SCALING: Scaling = Scaling {
    reference: 0.0,
    binary: 1.0,
    decimal: 1.0,
};

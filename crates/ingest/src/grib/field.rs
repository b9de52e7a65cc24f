//! The elements of a field, as its array has them.

use std::ops::Range;
use std::sync::Arc;

use super::octets::Octets;
use super::order::Order;
use super::packing::{Packing, Width};
use super::problem::GribProblem;
use super::scan::{Bitmap, Field};

/// The parameters for decoding one field.
#[derive(Clone, Debug)]
pub(super) struct Decoder {
    /// The number of its message.
    pub(super) message: u64,
    /// The first byte of its message.
    pub(super) offset: u64,
    section: Arc<[u8]>,
    packing: Packing,
    /// Where its bitmap and its data lie, among the bytes that are read for it.
    bitmap: Option<Range<usize>>,
    data: Range<usize>,
    order: Order,
    points: u64,
}

/// Returns the bytes of a file that hold the bitmap and the data of a field.
pub(super) fn extent(field: &Field) -> Range<u64> {
    match &field.bitmap {
        // That of an earlier field of the message lies before it.
        Bitmap::At(range) => range.start..field.data.end,
        _ => field.data.clone(),
    }
}

impl Decoder {
    /// Checks what can be checked without the data.
    pub(super) fn of(field: &Field, order: Order, points: u64) -> Result<Self, GribProblem> {
        let packing = Packing::of(&field.packing)?;
        let begin = extent(field).start;
        let within =
            |range: &Range<u64>| (range.start - begin) as usize..(range.end - begin) as usize;
        let bitmap = match &field.bitmap {
            Bitmap::None => None,
            Bitmap::At(range) => Some(within(range)),
            Bitmap::Predefined(value) => {
                return Err(GribProblem::Unsupported {
                    section: 6,
                    what: "the bitmap indicator",
                    value: (*value).into(),
                });
            }
        };
        let stated = packing.count;
        if stated > points || (bitmap.is_none() && stated != points) {
            let problem = format!("it states {stated} values of {points} points");
            return Err(GribProblem::damaged(5, problem));
        }
        Ok(Self {
            message: field.message,
            offset: field.offset,
            section: Arc::clone(&field.packing),
            packing,
            bitmap,
            data: within(&field.data),
            order,
            points,
        })
    }

    /// Returns the type that has room for the values.
    pub(super) fn width(&self) -> Width {
        self.packing.width()
    }

    /// Decodes the bytes that [`extent`] names, to little-endian elements of a width.
    pub(super) fn elements(&self, bytes: &[u8], width: Width) -> Result<Vec<u8>, GribProblem> {
        let points = usize::try_from(self.points).unwrap_or(usize::MAX);
        let missing = || GribProblem::damaged(7, "its bytes are not all there");
        let bitmap = match &self.bitmap {
            None => None,
            Some(range) => {
                let section = bytes.get(range.clone()).ok_or_else(missing)?;
                Some(self.mask(section, points)?)
            }
        };
        let data = bytes.get(self.data.clone()).ok_or_else(missing)?;
        let mut elements = Elements {
            bytes: vec![0; points.saturating_mul(width.bytes())],
            width,
            order: self.order,
            mask: bitmap,
            next: 0,
            points,
        };
        self.packing
            .unpack(&self.section, data, &mut |value| elements.take(value))?;
        Ok(elements.finish())
    }

    /// The bits of a section 6, of which those of values must be as many as the packing states.
    fn mask<'a>(&self, section: &'a [u8], points: usize) -> Result<&'a [u8], GribProblem> {
        let mask = Octets::new(6, section).get(7, points.div_ceil(8))?;
        let (whole, rest) = (points / 8, points % 8);
        let ones = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|it| u64::from(it.count_ones()))
                .sum::<u64>()
        };
        let mut set = ones(&mask[..whole]);
        if rest > 0 {
            set += ones(&[mask[whole] >> (8 - rest)]);
        }
        match set == self.packing.count {
            true => Ok(mask),
            false => {
                let stated = self.packing.count;
                let problem = format!("its bitmap has {set} values, and {stated} are stated");
                Err(GribProblem::damaged(6, problem))
            }
        }
    }
}

/// The elements of an array, as they come in.
struct Elements<'a> {
    bytes: Vec<u8>,
    width: Width,
    order: Order,
    mask: Option<&'a [u8]>,
    /// The next point, in the order of the file.
    next: usize,
    points: usize,
}

impl Elements<'_> {
    fn is_left_out(&self) -> bool {
        let bit = |mask: &[u8]| {
            mask.get(self.next / 8)
                .map(|it| it & (0x80 >> (self.next % 8)))
        };
        self.mask.is_some_and(|mask| bit(mask) == Some(0))
    }

    fn put(&mut self, value: f64) {
        let place = self.order.place(self.next) * self.width.bytes();
        let place = self.bytes.get_mut(place..place + self.width.bytes());
        match (place, self.width) {
            (Some(place), Width::Single) => place.copy_from_slice(&(value as f32).to_le_bytes()),
            (Some(place), Width::Double) => place.copy_from_slice(&value.to_le_bytes()),
            (None, _) => {}
        }
        self.next += 1;
    }

    /// Puts a value at the next point that has one.
    fn take(&mut self, value: f64) {
        self.skip();
        if self.next < self.points {
            self.put(value);
        }
    }

    fn skip(&mut self) {
        while self.next < self.points && self.is_left_out() {
            self.put(f64::NAN);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.skip();
        self.bytes
    }
}

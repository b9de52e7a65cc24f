//! Reading FlexBuffers as JSON.

use serde_json::{Map, Number, Value};

use super::error::FlexBuffersError;
use super::type_code;
use crate::budget::Budget;

/// Deepest nesting that is read, so that hostile bytes cannot exhaust the stack.
pub(super) const MAX_DEPTH_READ: usize = 256;

/// Where a value is named, and as what.
#[derive(Clone, Copy)]
struct Slot {
    at: usize,
    /// Bytes of the slot: of a value in place, or of the offset to one.
    width: usize,
    kind: u8,
    /// Bytes of what the offset leads to: of a number, or of each item and the length before them.
    target_width: usize,
}

struct Reader<'a> {
    document: &'a [u8],
    budget: &'a Budget,
}

pub(super) fn decode(document: &[u8], budget: &Budget) -> Result<Value, FlexBuffersError> {
    let [root @ .., packed, width] = document else {
        return Err(FlexBuffersError::NoRoot);
    };
    let width = usize::from(*width);
    if !matches!(width, 1 | 2 | 4 | 8) {
        return Err(FlexBuffersError::NoRoot);
    }
    let at = root.len().checked_sub(width);
    let slot = Slot {
        at: at.ok_or(FlexBuffersError::NoRoot)?,
        width,
        kind: packed >> 2,
        target_width: 1 << (packed & 3),
    };
    Reader { document, budget }.value(slot, 0)
}

impl Reader<'_> {
    fn spend(&self, text: usize) -> Result<(), FlexBuffersError> {
        match self.budget.spend(text) {
            true => Ok(()),
            false => Err(FlexBuffersError::TooLarge),
        }
    }

    /// Returns bytes of the document; `named` is where in it the value at fault is.
    fn bytes(&self, at: usize, len: usize, named: usize) -> Result<&[u8], FlexBuffersError> {
        let end = at.checked_add(len);
        end.and_then(|end| self.document.get(at..end))
            .ok_or(FlexBuffersError::OutOfBounds { at: named })
    }

    fn uint(&self, at: usize, width: usize, named: usize) -> Result<u64, FlexBuffersError> {
        let bytes = self.bytes(at, width, named)?.iter().rev();
        Ok(bytes.fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    fn int(&self, at: usize, width: usize, named: usize) -> Result<i64, FlexBuffersError> {
        let unused = 64 - 8 * width as u32;
        let value = self.uint(at, width, named)?;
        Ok((value << unused).cast_signed() >> unused)
    }

    fn float(&self, at: usize, width: usize, named: usize) -> Result<f64, FlexBuffersError> {
        let bits = self.uint(at, width, named)?;
        match width {
            8 => Ok(f64::from_bits(bits)),
            4 => Ok(f64::from(f32::from_bits(bits as u32))),
            2 => Ok(half(bits as u16)),
            _ => Err(FlexBuffersError::Width {
                at: named,
                width: width as u64,
            }),
        }
    }

    /// Returns where the offset at a place leads to: back.
    fn target(&self, at: usize, width: usize, named: usize) -> Result<usize, FlexBuffersError> {
        let back = usize::try_from(self.uint(at, width, named)?).ok();
        back.and_then(|back| at.checked_sub(back))
            .ok_or(FlexBuffersError::OutOfBounds { at: named })
    }

    /// Returns the number before a place that counts what is there.
    fn length(&self, at: usize, width: usize, named: usize) -> Result<usize, FlexBuffersError> {
        let outside = FlexBuffersError::OutOfBounds { at: named };
        let Some(before) = at.checked_sub(width) else {
            return Err(outside);
        };
        usize::try_from(self.uint(before, width, named)?).map_err(|_| outside)
    }

    fn value(&self, slot: Slot, depth: usize) -> Result<Value, FlexBuffersError> {
        let Slot {
            at,
            width,
            kind,
            target_width,
        } = slot;
        if depth >= MAX_DEPTH_READ {
            let limit = MAX_DEPTH_READ;
            return Err(FlexBuffersError::TooDeep { limit });
        }
        let target = || self.target(at, width, at);
        let text = |text: &str| {
            self.spend(text.len())?;
            Ok(Value::from(text))
        };
        match kind {
            type_code::STRING => text(self.string(target()?, target_width, at)?),
            type_code::KEY => text(self.key(target()?, at)?),
            type_code::MAP => self.map(target()?, target_width, at, depth),
            type_code::VECTOR => {
                let items = target()?;
                let len = self.length(items, target_width, at)?;
                self.untyped(items, len, target_width, at, depth)
            }
            type_code::VECTOR_INT..=type_code::VECTOR_STRING | type_code::VECTOR_BOOL => {
                let items = target()?;
                let len = self.length(items, target_width, at)?;
                let item = match kind {
                    type_code::VECTOR_BOOL => type_code::BOOL,
                    _ => kind - type_code::VECTOR_INT + type_code::INT,
                };
                self.typed(items, len, target_width, item, depth)
            }
            type_code::PAIR_INT..=type_code::QUADRUPLE_FLOAT => {
                let len = usize::from((kind - type_code::PAIR_INT) / 3 + 2);
                let item = (kind - type_code::PAIR_INT) % 3 + type_code::INT;
                self.typed(target()?, len, target_width, item, depth)
            }
            _ => {
                self.spend(0)?;
                match kind {
                    type_code::NULL => Ok(Value::Null),
                    type_code::BOOL => Ok(Value::from(self.uint(at, width, at)? != 0)),
                    type_code::INT => Ok(Value::from(self.int(at, width, at)?)),
                    type_code::UINT => Ok(Value::from(self.uint(at, width, at)?)),
                    type_code::FLOAT => Ok(number(self.float(at, width, at)?)),
                    type_code::INDIRECT_INT => {
                        Ok(Value::from(self.int(target()?, target_width, at)?))
                    }
                    type_code::INDIRECT_UINT => {
                        Ok(Value::from(self.uint(target()?, target_width, at)?))
                    }
                    type_code::INDIRECT_FLOAT => {
                        Ok(number(self.float(target()?, target_width, at)?))
                    }
                    found => Err(FlexBuffersError::Type { at, found }),
                }
            }
        }
    }

    /// Returns the text of a string, which has its length before it.
    fn string(&self, at: usize, width: usize, named: usize) -> Result<&str, FlexBuffersError> {
        let len = self.length(at, width, named)?;
        let bytes = self.bytes(at, len, named)?;
        str::from_utf8(bytes).map_err(|_| FlexBuffersError::Utf8 { at })
    }

    /// Returns the text of a key, which ends with a zero byte.
    fn key(&self, at: usize, named: usize) -> Result<&str, FlexBuffersError> {
        let rest = self.document.get(at..).unwrap_or_default();
        let len = rest.iter().position(|byte| *byte == 0);
        let len = len.ok_or(FlexBuffersError::OutOfBounds { at: named })?;
        str::from_utf8(&rest[..len]).map_err(|_| FlexBuffersError::Utf8 { at })
    }

    /// Reads items of one type. Numbers are in place; the length of a string, which has no width of its own here, has one byte.
    fn typed(
        &self,
        items: usize,
        len: usize,
        width: usize,
        kind: u8,
        depth: usize,
    ) -> Result<Value, FlexBuffersError> {
        self.spend(0)?;
        let item = |number: usize| {
            let slot = Slot {
                at: items + number * width,
                width,
                kind,
                target_width: 1,
            };
            self.value(slot, depth + 1)
        };
        self.items(items, len, width, item)
    }

    /// Reads items each of which has its type behind all of them.
    fn untyped(
        &self,
        items: usize,
        len: usize,
        width: usize,
        named: usize,
        depth: usize,
    ) -> Result<Value, FlexBuffersError> {
        self.spend(0)?;
        let item = |number: usize| self.item(items, len, width, number, named, depth);
        self.items(items, len, width, item)
    }

    /// Reads one of so many items. None lies out of the document: the caller has compared the length with it.
    fn item(
        &self,
        items: usize,
        len: usize,
        width: usize,
        number: usize,
        named: usize,
        depth: usize,
    ) -> Result<Value, FlexBuffersError> {
        let packed = self.uint(items + len * width + number, 1, named)? as u8;
        let slot = Slot {
            at: items + number * width,
            width,
            kind: packed >> 2,
            target_width: 1 << (packed & 3),
        };
        self.value(slot, depth + 1)
    }

    fn items(
        &self,
        at: usize,
        len: usize,
        width: usize,
        item: impl Fn(usize) -> Result<Value, FlexBuffersError>,
    ) -> Result<Value, FlexBuffersError> {
        self.check_len(at, len, width)?;
        (0..len).map(item).collect()
    }

    fn check_len(&self, at: usize, len: usize, width: usize) -> Result<(), FlexBuffersError> {
        let room = self.document.len().saturating_sub(at);
        match len.checked_mul(width) {
            Some(bytes) if bytes <= room => Ok(()),
            _ => Err(FlexBuffersError::OutOfBounds { at }),
        }
    }

    /// Reads a map: values as in an untyped vector, and before their length the offset to the vector of the keys and the
    /// width of that.
    fn map(
        &self,
        values: usize,
        width: usize,
        named: usize,
        depth: usize,
    ) -> Result<Value, FlexBuffersError> {
        self.spend(0)?;
        let len = self.length(values, width, named)?;
        self.check_len(values, len, width)?;
        let outside = FlexBuffersError::OutOfBounds { at: named };
        let (Some(offset_at), Some(width_at)) =
            (values.checked_sub(3 * width), values.checked_sub(2 * width))
        else {
            return Err(outside);
        };
        let keys = self.target(offset_at, width, named)?;
        let key_width = match self.uint(width_at, width, named)? {
            found @ (1 | 2 | 4 | 8) => found as usize,
            width => return Err(FlexBuffersError::Width { at: named, width }),
        };
        self.check_len(keys, len, key_width)?;
        let mut map = Map::new();
        for number in 0..len {
            let key = self.target(keys + number * key_width, key_width, named)?;
            let key = self.key(key, named)?;
            self.spend(key.len())?;
            let value = self.item(values, len, width, number, named, depth)?;
            if map.insert(key.to_owned(), value).is_some() {
                return Err(FlexBuffersError::DuplicateKey(key.to_owned()));
            }
        }
        Ok(Value::Object(map))
    }
}

fn number(float: f64) -> Value {
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// Returns the value of a float of two bytes.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    sign * match exponent {
        0 => fraction * 2_f64.powi(-14),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

//! Writing JSON as FlexBuffers.

use std::collections::HashMap;

use serde_json::Value;

use super::error::FlexBuffersError;
use super::type_code;

/// Deepest nesting that is written. The same as that of JSON texts, through which values come in.
pub(super) const MAX_DEPTH_WRITTEN: usize = 128;

/// A value that is named by the next vector, or by the root.
#[derive(Clone, Copy)]
enum Item {
    /// In the slot itself: a number of so many bytes, and its type.
    InPlace { bits: u64, width: usize, kind: u8 },
    /// Already written, at a place, with items of so many bytes.
    Written { at: usize, width: usize, kind: u8 },
}

struct Writer<'a> {
    document: Vec<u8>,
    /// Keys that are written already, by their text.
    keys: HashMap<&'a str, usize>,
}

/// Writes a value as a document. Equal values have equal bytes: maps are sorted by their keys.
///
/// # Errors
/// [`FlexBuffersError::TooDeep`], [`FlexBuffersError::ZeroInKey`].
pub fn encode_flexbuffers(value: &Value) -> Result<Vec<u8>, FlexBuffersError> {
    let mut writer = Writer {
        document: Vec::new(),
        keys: HashMap::new(),
    };
    let root = writer.value(value, MAX_DEPTH_WRITTEN)?;
    let width = writer.width_in_vector(&root, 0);
    writer.align(width);
    writer.slot(&root, width);
    writer.document.push(packed(&root, width));
    writer.document.push(width as u8);
    Ok(writer.document)
}

/// Returns the fewest bytes that hold a number: 1, 2, 4 or 8.
fn width_of(number: u64) -> usize {
    match number {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

fn width_of_signed(number: i64) -> usize {
    // One bit more than the number without its sign.
    let magnitude = if number < 0 { !number } else { number };
    width_of(magnitude.cast_unsigned() << 1)
}

/// Returns the byte that tells the type of an item and the width of what it leads to; numbers in place have that of the
/// slot.
fn packed(item: &Item, slot_width: usize) -> u8 {
    let (kind, width) = match *item {
        Item::InPlace { kind, .. } => (kind, slot_width),
        Item::Written { width, kind, .. } => (kind, width),
    };
    kind << 2 | width.trailing_zeros() as u8
}

impl<'a> Writer<'a> {
    fn value(&mut self, value: &'a Value, depth: usize) -> Result<Item, FlexBuffersError> {
        let limit = MAX_DEPTH_WRITTEN;
        let below = depth.checked_sub(1);
        let below = below.ok_or(FlexBuffersError::TooDeep { limit })?;
        match value {
            Value::Null => Ok(in_place(type_code::NULL, 0, 1)),
            Value::Bool(is) => Ok(in_place(type_code::BOOL, u64::from(*is), 1)),
            Value::Number(number) => Ok(if let Some(number) = number.as_u64() {
                in_place(type_code::UINT, number, width_of(number))
            } else if let Some(number) = number.as_i64() {
                let width = width_of_signed(number);
                in_place(type_code::INT, number.cast_unsigned(), width)
            } else {
                float(number.as_f64().unwrap_or_default())
            }),
            Value::String(text) => Ok(self.string(text)),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(item, below));
                let items = items.collect::<Result<Vec<_>, _>>()?;
                Ok(self.vector(&items, None))
            }
            Value::Object(entries) => {
                // In memory they have this order or that of insertion, by a feature of `serde_json`.
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                let mut keys = Vec::with_capacity(entries.len());
                let mut items = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    keys.push(self.key(key)?);
                    items.push(self.value(value, below)?);
                }
                let keys = self.vector_of_keys(&keys);
                Ok(self.vector(&items, Some(&keys)))
            }
        }
    }

    /// Fills up to a place that is a multiple of the width.
    fn align(&mut self, width: usize) {
        let len = self.document.len().next_multiple_of(width);
        self.document.resize(len, 0);
    }

    fn number(&mut self, bits: u64, width: usize) {
        self.document
            .extend_from_slice(&bits.to_le_bytes()[..width]);
    }

    fn string(&mut self, text: &str) -> Item {
        let width = width_of(text.len() as u64);
        self.align(width);
        self.number(text.len() as u64, width);
        let at = self.document.len();
        self.document.extend_from_slice(text.as_bytes());
        self.document.push(0);
        let kind = type_code::STRING;
        Item::Written { at, width, kind }
    }

    fn key(&mut self, text: &'a str) -> Result<Item, FlexBuffersError> {
        if text.contains('\0') {
            return Err(FlexBuffersError::ZeroInKey(text.to_owned()));
        }
        let document = &mut self.document;
        let at = *self.keys.entry(text).or_insert_with(|| {
            let at = document.len();
            document.extend_from_slice(text.as_bytes());
            document.push(0);
            at
        });
        let (width, kind) = (1, type_code::KEY);
        Ok(Item::Written { at, width, kind })
    }

    /// Returns the bytes that an item needs as one of a vector that begins at the end of the document, or a little behind
    /// it, with so many slots before the item.
    fn width_in_vector(&self, item: &Item, before: usize) -> usize {
        let at = match *item {
            Item::InPlace { width, .. } => return width,
            Item::Written { at, .. } => at,
        };
        let fits = |width: &usize| {
            let start = self.document.len().next_multiple_of(*width);
            width_of((start + before * width - at) as u64) <= *width
        };
        [1, 2, 4].into_iter().find(fits).unwrap_or(8)
    }

    /// Writes what is in a slot: a number, or how far back something is.
    fn slot(&mut self, item: &Item, width: usize) {
        let bits = match *item {
            Item::InPlace { bits, kind, .. } if kind == type_code::FLOAT => {
                widened(bits, item, width)
            }
            Item::InPlace { bits, .. } => bits,
            Item::Written { at, .. } => (self.document.len() - at) as u64,
        };
        self.number(bits, width);
    }

    fn vector_of_keys(&mut self, keys: &[Item]) -> Item {
        let offsets = keys.iter().enumerate();
        let offsets = offsets.map(|(number, key)| self.width_in_vector(key, number + 1));
        let width = offsets.fold(width_of(keys.len() as u64), usize::max);
        self.align(width);
        self.number(keys.len() as u64, width);
        let at = self.document.len();
        for key in keys {
            self.slot(key, width);
        }
        // The map names only its width.
        let kind = type_code::KEY;
        Item::Written { at, width, kind }
    }

    /// Writes an untyped vector; with keys, a map.
    fn vector(&mut self, items: &[Item], keys: Option<&Item>) -> Item {
        let before = if keys.is_some() { 3 } else { 1 };
        let offsets = items.iter().enumerate();
        let offsets = offsets.map(|(number, item)| self.width_in_vector(item, number + before));
        let mut width = offsets.fold(width_of(items.len() as u64), usize::max);
        if let Some(keys) = keys {
            width = width.max(self.width_in_vector(keys, 0));
        }
        self.align(width);
        if let Some(keys @ Item::Written { width: of_keys, .. }) = keys {
            self.slot(keys, width);
            self.number(*of_keys as u64, width);
        }
        self.number(items.len() as u64, width);
        let at = self.document.len();
        for item in items {
            self.slot(item, width);
        }
        let types = items.iter().map(|item| packed(item, width));
        self.document.extend(types);
        let kind = match keys {
            Some(_) => type_code::MAP,
            None => type_code::VECTOR,
        };
        Item::Written { at, width, kind }
    }
}

fn in_place(kind: u8, bits: u64, width: usize) -> Item {
    Item::InPlace { bits, width, kind }
}

/// Returns a float, in four bytes where that loses nothing.
fn float(value: f64) -> Item {
    let short = value as f32;
    match f64::from(short) == value {
        true => in_place(type_code::FLOAT, u64::from(short.to_bits()), 4),
        false => in_place(type_code::FLOAT, value.to_bits(), 8),
    }
}

/// Returns the bits of a float as a slot of this width has them.
fn widened(bits: u64, item: &Item, width: usize) -> u64 {
    match *item {
        Item::InPlace { width: 4, .. } if width == 8 => {
            f64::from(f32::from_bits(bits as u32)).to_bits()
        }
        _ => bits,
    }
}

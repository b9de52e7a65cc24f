//! Types of elements, from the bytes of a data type message.
//!
//! The parser of `hdf5-reader` keeps the size of a number and not its form. An integer of 12 bits in two bytes or a
//! float of another layout would be read as something else, so the message is read here.

use std::rc::Rc;

use hdf5_reader::io::Cursor;
use serde_json::{Map, Value, json};

use super::file::{Parsed, invalid};
use super::values::integer;

/// How deep types may lie in each other.
const MAX_DEPTH: u32 = 8;
/// Members of an enumeration that go into an attribute.
const MAX_MEMBERS: usize = 4096;

/// The type of an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DataType {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Whether the first byte is the most significant one.
    pub(super) big: bool,
    pub(super) kind: Kind,
}

/// What an element is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Integer {
        signed: bool,
    },
    Float,
    Bool,
    /// Integers with names.
    Enum {
        signed: bool,
        members: Rc<Map<String, Value>>,
    },
    /// Two floats.
    Complex,
    /// Bytes of a text of fixed length.
    Text(Padding),
    /// A reference to a text of any length.
    LongText,
    /// A reference to any number of elements.
    List(Box<DataType>),
    /// The address of an object.
    Reference,
    /// What Zarr does not know, in words.
    Other(String),
}

/// What follows a text in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    /// A zero, and after it anything.
    Terminated,
    Zeros,
    Spaces,
}

impl DataType {
    /// Reads the body of a data type message.
    pub(super) fn parse(body: &[u8]) -> Parsed<Self> {
        data_type(&mut Cursor::new(body), 0)
    }

    /// Returns the `data_type` of Zarr, or why there is none.
    pub(super) fn zarr(&self) -> Result<Value, String> {
        let bits = self.size.saturating_mul(8);
        match &self.kind {
            Kind::Integer { signed: true } | Kind::Enum { signed: true, .. } => {
                Ok(json!(format!("int{bits}")))
            }
            Kind::Integer { .. } | Kind::Enum { .. } => Ok(json!(format!("uint{bits}"))),
            Kind::Float => Ok(json!(format!("float{bits}"))),
            Kind::Complex => Ok(json!(format!("complex{bits}"))),
            Kind::Bool => Ok(json!("bool")),
            Kind::Text(_) if self.size == 1 => Ok(json!({
                "name": "null_terminated_bytes",
                "configuration": { "length_bytes": 1 },
            })),
            Kind::Text(_) | Kind::LongText => Ok(json!("string")),
            Kind::List(_) => Err("its elements are lists of variable length".to_owned()),
            Kind::Reference => Err("its elements are references".to_owned()),
            Kind::Other(what) => Err(format!("its elements are {what}")),
        }
    }

    /// Returns the bytes that its members take.
    pub(super) fn weight(&self) -> usize {
        match &self.kind {
            Kind::Enum { members, .. } => {
                let names = members.keys().map(String::len).sum::<usize>();
                names + members.len() * size_of::<(String, Value, usize)>()
            }
            Kind::List(element) => size_of::<Self>() + element.weight(),
            Kind::Other(what) => what.len(),
            _ => 0,
        }
    }

    /// Tells whether the elements are copied as texts.
    pub(super) fn is_text(&self) -> bool {
        match self.kind {
            Kind::Text(_) => self.size != 1,
            Kind::LongText => true,
            _ => false,
        }
    }

    /// Returns the codec that makes bytes of elements. A single byte has no order.
    pub(super) fn bytes_codec(&self) -> Value {
        let ordered = match self.kind {
            Kind::Complex => true,
            Kind::Text(_) => false,
            _ => self.size > 1,
        };
        match (ordered, self.big) {
            (false, _) => json!({ "name": "bytes" }),
            (true, false) => json!({ "name": "bytes", "configuration": { "endian": "little" } }),
            (true, true) => json!({ "name": "bytes", "configuration": { "endian": "big" } }),
        }
    }
}

fn data_type(cursor: &mut Cursor<'_>, depth: u32) -> Parsed<DataType> {
    if depth > MAX_DEPTH {
        return Err(invalid("data types lie too deep in each other"));
    }
    let [class, low, middle, high] = word(cursor)?;
    let size = cursor.read_u32_le()? as usize;
    if size == 0 {
        return Err(invalid("a data type has elements of no bytes"));
    }
    let flags = u32::from_le_bytes([low, middle, high, 0]);
    let version = class >> 4;
    let (big, kind) = match class & 0x0f {
        0 => (flags & 1 != 0, integers(cursor, size, flags & 8 != 0)?),
        1 => (flags & 1 != 0, floats(cursor, size, flags)?),
        2 => (false, other("times")),
        3 => (false, text(flags)),
        4 => (flags & 1 != 0, integers(cursor, size, false)?),
        5 => (false, other("opaque")),
        6 => compound(cursor, size, flags & 0xffff, version, depth)?,
        7 if flags & 0x0f == 0 => (false, Kind::Reference),
        7 => (false, other("references to regions or attributes")),
        8 => enumeration(cursor, size, flags & 0xffff, version, depth)?,
        9 if flags & 0x0f == 1 => (false, Kind::LongText),
        9 => (false, Kind::List(Box::new(data_type(cursor, depth + 1)?))),
        10 => (false, other("arrays")),
        11 => complex(cursor, size, flags, depth)?,
        class => (
            false,
            other(&format!("of class {class}, which is not known")),
        ),
    };
    Ok(DataType { size, big, kind })
}

fn word(cursor: &mut Cursor<'_>) -> Parsed<[u8; 4]> {
    Ok(cursor.read_u32_le()?.to_le_bytes())
}

fn other(what: &str) -> Kind {
    Kind::Other(what.to_owned())
}

fn integers(cursor: &mut Cursor<'_>, size: usize, signed: bool) -> Parsed<Kind> {
    let (offset, precision) = (cursor.read_u16_le()?, cursor.read_u16_le()?);
    let whole = offset == 0 && usize::from(precision) == size.saturating_mul(8);
    Ok(match size {
        1 | 2 | 4 | 8 if whole => Kind::Integer { signed },
        _ => Kind::Other(format!("integers of {precision} bits in {size} bytes")),
    })
}

fn floats(cursor: &mut Cursor<'_>, size: usize, flags: u32) -> Parsed<Kind> {
    let sign = (flags >> 8) & 0xff;
    let mixed_order = flags & 0x40 != 0;
    let implied_bit = (flags >> 4) & 0x03 == 2;
    let (offset, precision) = (cursor.read_u16_le()?, cursor.read_u16_le()?);
    let [exponent_at, exponent, mantissa_at, mantissa] = word(cursor)?;
    let bias = cursor.read_u32_le()?;
    let form = (precision, sign, exponent_at, exponent, mantissa, bias);
    let ieee = match size {
        2 => form == (16, 15, 10, 5, 10, 15),
        4 => form == (32, 31, 23, 8, 23, 127),
        8 => form == (64, 63, 52, 11, 52, 1023),
        _ => false,
    };
    Ok(
        match ieee && implied_bit && !mixed_order && offset == 0 && mantissa_at == 0 {
            true => Kind::Float,
            false => Kind::Other(format!(
                "floats of {size} bytes with a mantissa of {mantissa} bits, and not of IEEE 754"
            )),
        },
    )
}

fn text(flags: u32) -> Kind {
    Kind::Text(match flags & 0x0f {
        0 => Padding::Terminated,
        1 => Padding::Zeros,
        2 => Padding::Spaces,
        _ => return other("texts with unknown padding"),
    })
}

/// A name that ends with a zero; up to version 2 padded to a multiple of 8 bytes.
fn name(cursor: &mut Cursor<'_>, version: u8) -> Parsed<String> {
    let start = cursor.position();
    let name = cursor.read_null_terminated_string()?;
    if version < 3 {
        let used = cursor.position().saturating_sub(start);
        let padding = used.next_multiple_of(8).saturating_sub(used);
        // Less than 8.
        cursor.skip(padding as usize)?;
    }
    Ok(name)
}

/// Only complex numbers, in the form that h5py and netCDF give them.
fn compound(
    cursor: &mut Cursor<'_>,
    size: usize,
    members: u32,
    version: u8,
    depth: u32,
) -> Parsed<(bool, Kind)> {
    if members != 2 {
        return Ok((false, other("compounds")));
    }
    let mut parts = Vec::new();
    for _ in 0..members {
        let name = name(cursor, version)?;
        let offset = match (version, size) {
            (..3, _) | (_, 0x100_0000..) => u64::from(cursor.read_u32_le()?),
            (_, ..0x100) => cursor.read_uvar(1)?,
            (_, ..0x1_0000) => cursor.read_uvar(2)?,
            _ => cursor.read_uvar(3)?,
        };
        if version == 1 {
            // Dimensions of a member, from before there were array types.
            let rank = cursor.read_u8()?;
            cursor.skip(27)?;
            if rank != 0 {
                return Ok((false, other("compounds")));
            }
        }
        parts.push((name, offset, data_type(cursor, depth + 1)?));
    }
    Ok(match parts.as_slice() {
        [(r, 0, real), (i, offset, imaginary)]
            if r == "r"
                && i == "i"
                && real == imaginary
                && real.kind == Kind::Float
                && matches!(real.size, 4 | 8)
                && *offset == real.size as u64
                && size == 2 * real.size =>
        {
            (real.big, Kind::Complex)
        }
        _ => (false, other("compounds")),
    })
}

/// Complex numbers of HDF5 2: the type of the two parts follows.
fn complex(cursor: &mut Cursor<'_>, size: usize, flags: u32, depth: u32) -> Parsed<(bool, Kind)> {
    let part = data_type(cursor, depth + 1)?;
    let rectangular = flags & 0x07 == 1;
    let known = rectangular && part.kind == Kind::Float && matches!(part.size, 4 | 8);
    Ok(match known && size == 2 * part.size {
        true => (part.big, Kind::Complex),
        false => (false, other("complex numbers of an unusual form")),
    })
}

fn enumeration(
    cursor: &mut Cursor<'_>,
    size: usize,
    count: u32,
    version: u8,
    depth: u32,
) -> Parsed<(bool, Kind)> {
    let base = data_type(cursor, depth + 1)?;
    let Kind::Integer { signed } = base.kind else {
        return Ok((false, other("enumerations of something else than integers")));
    };
    if base.size != size {
        return Err(invalid("an enumeration is not as long as its integers"));
    }
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(name(cursor, version)?);
    }
    let mut members = Map::new();
    for name in names {
        let value = cursor.read_bytes(size)?;
        if members.len() < MAX_MEMBERS {
            members.insert(name, integer(value, base.big, signed));
        }
    }
    let truth = size == 1
        && members.len() == 2
        && members.get("FALSE") == Some(&json!(0))
        && members.get("TRUE") == Some(&json!(1));
    Ok((
        base.big,
        match truth {
            true => Kind::Bool,
            false => Kind::Enum {
                signed,
                members: Rc::new(members),
            },
        },
    ))
}

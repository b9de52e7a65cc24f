//! Types of elements, from the bytes of a data type message.
//!
//! The parser of `hdf5-reader` keeps the size of a number and not its form. An integer of 12 bits in two bytes or a
//! float of another layout would be read as something else, so the message is read here.

use std::rc::Rc;

use hdf5_reader::io::Cursor;
use serde_json::{Map, json};

use super::datatype::{DataType, ElementKind, Member, Padding};
use super::parsed::{Parsed, invalid};
use super::take::Narrow;
use super::values::integer;

/// How deep types may lie in each other.
const MAX_DEPTH: u32 = 8;
/// Members of an enumeration that go into an attribute.
const MAX_MEMBERS: usize = 4096;
/// Bytes of a compound.
const MAX_COMPOUND: usize = 64 << 10;

impl DataType {
    /// Reads the body of a data type message.
    pub(super) fn parse(body: &[u8]) -> Parsed<Self> {
        let mut is_lost = false;
        data_type(&mut Cursor::new(body), 0, &mut is_lost)
    }
}

/// Reads a type. `is_lost` becomes true where the end of one is not known, so that what follows it cannot be read.
fn data_type(cursor: &mut Cursor<'_>, depth: u32, is_lost: &mut bool) -> Parsed<DataType> {
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
        0 => {
            let big = flags & 1 != 0;
            (big, integers(cursor, size, flags & 8 != 0, big)?)
        }
        1 => (flags & 1 != 0, floats(cursor, size, flags)?),
        2 => {
            cursor.skip(2)?;
            (false, other("times"))
        }
        3 => (false, text(flags)),
        4 => {
            let big = flags & 1 != 0;
            (big, integers(cursor, size, false, big)?)
        }
        5 => {
            cursor.skip((flags & 0xff) as usize)?;
            (false, other("opaque"))
        }
        6 => compound(cursor, size, flags & 0xffff, version, depth, is_lost)?,
        7 if flags & 0x0f == 0 => (false, ElementKind::Reference),
        7 => (false, other("references to regions or attributes")),
        8 => enumeration(cursor, size, flags & 0xffff, version, depth, is_lost)?,
        9 if flags & 0x0f == 1 => {
            // The type of its characters.
            *is_lost |= data_type(cursor, depth + 1, &mut false).is_err();
            (false, ElementKind::LongText)
        }
        9 => {
            let element = data_type(cursor, depth + 1, is_lost)?;
            (false, ElementKind::List(Box::new(element)))
        }
        10 => array(cursor, size, version, depth, is_lost)?,
        11 => complex(cursor, size, flags, depth)?,
        class => {
            *is_lost = true;
            let what = format!("of class {class}, which is not known");
            (false, other(&what))
        }
    };
    Ok(DataType { size, big, kind })
}

fn word(cursor: &mut Cursor<'_>) -> Parsed<[u8; 4]> {
    Ok(cursor.read_u32_le()?.to_le_bytes())
}

fn other(what: &str) -> ElementKind {
    ElementKind::Other(what.to_owned())
}

fn integers(cursor: &mut Cursor<'_>, size: usize, signed: bool, big: bool) -> Parsed<ElementKind> {
    let (offset, precision) = (cursor.read_u16_le()?, cursor.read_u16_le()?);
    let whole = offset == 0 && usize::from(precision) == size.saturating_mul(8);
    Ok(match size {
        1 | 2 | 4 | 8 if whole => ElementKind::Integer { signed },
        1 | 2 | 4 | 8
            if precision > 0 && usize::from(offset) + usize::from(precision) <= size * 8 =>
        {
            ElementKind::Narrow(Narrow {
                size,
                big,
                signed,
                offset: offset.into(),
                precision: precision.into(),
            })
        }
        _ => ElementKind::Other(format!("integers of {precision} bits in {size} bytes")),
    })
}

fn floats(cursor: &mut Cursor<'_>, size: usize, flags: u32) -> Parsed<ElementKind> {
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
            true => ElementKind::Float,
            false => ElementKind::Other(format!(
                "floats of {size} bytes with a mantissa of {mantissa} bits, and not of IEEE 754"
            )),
        },
    )
}

fn text(flags: u32) -> ElementKind {
    ElementKind::Text(match flags & 0x0f {
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

/// Members, or complex numbers in the form that h5py and netCDF give them.
fn compound(
    cursor: &mut Cursor<'_>,
    size: usize,
    count: u32,
    version: u8,
    depth: u32,
    is_lost: &mut bool,
) -> Parsed<(bool, ElementKind)> {
    if size > MAX_COMPOUND {
        *is_lost = true;
        let what = format!("compounds of more than {MAX_COMPOUND} bytes");
        return Ok((false, other(&what)));
    }
    let mut members = Vec::new();
    for _ in 0..count {
        let name = name(cursor, version)?;
        let offset = match (version, size) {
            (..3, _) => u64::from(cursor.read_u32_le()?),
            (_, ..0x100) => cursor.read_uvar(1)?,
            (_, ..0x1_0000) => cursor.read_uvar(2)?,
            _ => cursor.read_uvar(3)?,
        };
        let mut lengths = Vec::new();
        if version == 1 {
            // Dimensions of a member, from before there were array types.
            let rank = cursor.read_u8()?;
            cursor.skip(11)?;
            for axis in 0..4 {
                let length = cursor.read_u32_le()?;
                if axis < rank {
                    lengths.push(length);
                }
            }
        }
        let mut data_type = data_type(cursor, depth + 1, is_lost)?;
        if !lengths.is_empty() {
            data_type = array_of(lengths, data_type)?;
        }
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if *is_lost {
            let what = format!("compounds with the member {name:?} of a type that is not known");
            return Ok((false, other(&what)));
        }
        if offset
            .checked_add(data_type.size)
            .is_none_or(|end| end > size)
        {
            return Err(invalid("a member of a compound lies outside of it"));
        }
        members.push(Member {
            name,
            offset,
            data_type,
        });
    }
    if let [r, i] = members.as_slice()
        && (r.name.as_str(), r.offset) == ("r", 0)
        && i.name == "i"
        && r.data_type == i.data_type
        && r.data_type.kind == ElementKind::Float
        && matches!(r.data_type.size, 4 | 8)
        && i.offset == r.data_type.size
        && size == 2 * r.data_type.size
    {
        return Ok((r.data_type.big, ElementKind::Complex));
    }
    Ok((false, ElementKind::Compound(members.into())))
}

/// Elements that are arrays.
fn array(
    cursor: &mut Cursor<'_>,
    size: usize,
    version: u8,
    depth: u32,
    is_lost: &mut bool,
) -> Parsed<(bool, ElementKind)> {
    let rank = cursor.read_u8()?;
    if version < 3 {
        cursor.skip(3)?;
    }
    let mut lengths = Vec::new();
    for _ in 0..rank {
        lengths.push(cursor.read_u32_le()?);
    }
    if version < 3 {
        // The order of the dimensions, which never was another one.
        cursor.skip(4 * usize::from(rank))?;
    }
    let element = data_type(cursor, depth + 1, is_lost)?;
    let array = array_of(lengths, element)?;
    match array.size == size {
        true => Ok((array.big, array.kind)),
        false => Err(invalid("an array type is not as long as its elements")),
    }
}

fn array_of(lengths: Vec<u32>, element: DataType) -> Parsed<DataType> {
    let mut sizes = lengths.iter();
    let size = sizes.try_fold(element.size, |all, one| all.checked_mul(*one as usize));
    let size = size.filter(|size| *size > 0);
    Ok(DataType {
        size: size.ok_or_else(|| invalid("an array type has no elements, or too many"))?,
        big: element.big,
        kind: ElementKind::Array(lengths, Box::new(element)),
    })
}

/// Complex numbers of HDF5 2: the type of the two parts follows.
fn complex(
    cursor: &mut Cursor<'_>,
    size: usize,
    flags: u32,
    depth: u32,
) -> Parsed<(bool, ElementKind)> {
    let mut is_lost = false;
    let part = data_type(cursor, depth + 1, &mut is_lost)?;
    let rectangular = flags & 0x07 == 1;
    let known = rectangular && part.kind == ElementKind::Float && matches!(part.size, 4 | 8);
    Ok(match known && size == 2 * part.size {
        true => (part.big, ElementKind::Complex),
        false => (false, other("complex numbers of an unusual form")),
    })
}

fn enumeration(
    cursor: &mut Cursor<'_>,
    size: usize,
    count: u32,
    version: u8,
    depth: u32,
    is_lost: &mut bool,
) -> Parsed<(bool, ElementKind)> {
    let base = data_type(cursor, depth + 1, is_lost)?;
    let ElementKind::Integer { signed } = base.kind else {
        *is_lost = true;
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
            true => ElementKind::Bool,
            false => ElementKind::Enum {
                signed,
                members: Rc::new(members),
            },
        },
    ))
}

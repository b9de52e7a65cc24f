//! Attributes of groups and arrays.

use hdf5_reader::error::Error;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::dataspace::{self, DataspaceMessage};
use hdf5_reader::messages::{HdfMessage, MSG_ATTRIBUTE, MSG_ATTRIBUTE_INFO, MSG_DATASPACE};
use serde_json::Value;

use super::datatype::{DataType, ElementKind};
use super::file::Hdf5;
use super::heap::GlobalHeaps;
use super::messages::Header;
use super::parsed::{Parsed, invalid};
use super::values::value;

/// An attribute whose value is still bytes.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) data_type: DataType,
    pub(super) shape: Vec<u64>,
    pub(super) data: Vec<u8>,
}

/// An attribute that could not be parsed, by its name if that is known.
pub(super) struct BadAttribute {
    pub(super) name: Option<String>,
    pub(super) error: Error,
}

impl Hdf5 {
    /// Reads all attributes of an object, whichever way they are kept.
    pub(super) fn attributes(
        &self,
        header: &Header,
        unwanted: &[String],
    ) -> Result<Vec<Attribute>, BadAttribute> {
        let nameless = |error| BadAttribute { name: None, error };
        let mut bodies = Vec::new();
        for message in header.all(MSG_ATTRIBUTE) {
            bodies.push(self.resolve(&message).map_err(nameless)?);
        }
        let info = self.message(header, MSG_ATTRIBUTE_INFO).map_err(nameless)?;
        if let Some(HdfMessage::AttributeInfo(info)) = info {
            let index = info.btree_name_index_address;
            let dense = self.dense_objects(info.fractal_heap_address, index);
            bodies.extend(dense.map_err(nameless)?);
        }
        let mut attributes = Vec::new();
        for body in &bodies {
            let parts = AttributeParts::parse(body).map_err(nameless)?;
            if unwanted.contains(&parts.name) {
                continue;
            }
            match self.attribute(&parts) {
                Ok(attribute) => attributes.push(attribute),
                Err(error) => {
                    let name = Some(parts.name);
                    return Err(BadAttribute { name, error });
                }
            }
        }
        Ok(attributes)
    }

    fn attribute(&self, parts: &AttributeParts<'_>) -> Parsed<Attribute> {
        let data_type = match parts.flags & 1 != 0 {
            true => self.shared_data_type(parts.data_type)?,
            false => {
                let data_type = DataType::parse(parts.data_type)?;
                self.held.add(data_type.weight())?;
                data_type
            }
        };
        let shared_space;
        let space = match parts.flags & 2 != 0 {
            true => {
                shared_space = self.shared_body(MSG_DATASPACE, parts.space)?;
                shared_space.as_slice()
            }
            false => parts.space,
        };
        let cursor = &mut Cursor::new(space);
        let space = dataspace::parse(cursor, self.offset_size, self.length_size, space.len())?;
        let length = bytes_of(&space, data_type.size)?;
        let data = parts.data.get(..length);
        let data = data.ok_or_else(|| invalid("its value is cut short"))?;
        self.held
            .add(size_of::<Attribute>() + parts.name.len() + data.len())?;
        Ok(Attribute {
            name: parts.name.clone(),
            data_type,
            shape: space.dims,
            data: data.to_vec(),
        })
    }
}

/// Returns the bytes of all elements.
fn bytes_of(space: &DataspaceMessage, size: usize) -> Parsed<usize> {
    let elements = space.num_elements().map_err(Error::from)?;
    let elements = usize::try_from(elements).ok();
    let bytes = elements.and_then(|elements| elements.checked_mul(size));
    bytes.ok_or_else(|| invalid("its value is longer than any file"))
}

/// The parts of an attribute message.
struct AttributeParts<'a> {
    flags: u8,
    name: String,
    data_type: &'a [u8],
    space: &'a [u8],
    data: &'a [u8],
}

impl<'a> AttributeParts<'a> {
    fn parse(body: &'a [u8]) -> Parsed<Self> {
        let mut cursor = Cursor::new(body);
        let (version, flags) = (cursor.read_u8()?, cursor.read_u8()?);
        if !(1..=3).contains(&version) {
            return Err(Error::UnsupportedAttributeVersion(version));
        }
        let name = usize::from(cursor.read_u16_le()?);
        let data_type = usize::from(cursor.read_u16_le()?);
        let space = usize::from(cursor.read_u16_le()?);
        if version == 3 {
            // The encoding of the name. ASCII is UTF-8, too.
            cursor.skip(1)?;
        }
        let mut part = |length: usize| -> Parsed<&'a [u8]> {
            let bytes = cursor.read_bytes(length)?;
            if version == 1 {
                cursor.skip(length.next_multiple_of(8) - length)?;
            }
            Ok(bytes)
        };
        let name = part(name)?;
        let end = name.iter().position(|byte| *byte == 0);
        let name = name.get(..end.unwrap_or(name.len())).unwrap_or(name);
        let name = String::from_utf8(name.to_vec());
        let (data_type, space) = (part(data_type)?, part(space)?);
        Ok(Self {
            // Version 1 has a reserved byte there.
            flags: if version == 1 { 0 } else { flags },
            name: name.map_err(|_| invalid("the name of an attribute is not UTF-8"))?,
            data_type,
            space,
            data: body.get(cursor.position() as usize..).unwrap_or_default(),
        })
    }
}

impl Attribute {
    /// Returns the first element.
    pub(super) fn first(&self) -> Option<&[u8]> {
        self.data.get(..self.data_type.size)
    }

    /// Returns the text, if it is one.
    pub(super) fn text(&self, heaps: &GlobalHeaps<'_>) -> Option<String> {
        if !matches!(
            self.data_type.kind,
            ElementKind::Text(_) | ElementKind::LongText
        ) {
            return None;
        }
        match value(&self.data_type, self.first()?, heaps) {
            Ok(Some(Value::String(text))) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements as integers, if they are.
    pub(super) fn integers(&self, heaps: &GlobalHeaps<'_>) -> Option<Vec<i64>> {
        if !matches!(self.data_type.kind, ElementKind::Integer { .. }) {
            return None;
        }
        let elements = self.data.chunks_exact(self.data_type.size);
        let values = elements.map(|bytes| value(&self.data_type, bytes, heaps).ok()??.as_i64());
        values.collect()
    }

    /// Returns the value as JSON; `None` if there is no way to write it. One element is a scalar.
    pub(super) fn json(&self, heaps: &GlobalHeaps<'_>) -> Parsed<Option<Value>> {
        let elements = self.data.chunks_exact(self.data_type.size);
        // Counted before they are made: a value takes many times the bytes of a small number.
        heaps.hold(elements.len().saturating_mul(size_of::<Value>()))?;
        let values = elements.map(|bytes| value(&self.data_type, bytes, heaps));
        let Some(mut values) = values.collect::<Parsed<Option<Vec<Value>>>>()? else {
            return Ok(None);
        };
        if let (&[] | &[1], [_]) = (self.shape.as_slice(), values.as_slice()) {
            return Ok(values.pop());
        }
        // The last dimension varies fastest: it is gathered first.
        for length in self.shape.iter().skip(1).rev() {
            let Ok(length @ 1..) = usize::try_from(*length) else {
                return Ok(Some(Value::Array(Vec::new())));
            };
            let rows = values.len() / length;
            heaps.hold(rows.saturating_mul(size_of::<Value>()))?;
            let mut rest = values.into_iter();
            let rows = (0..rows).map(|_| Value::Array(rest.by_ref().take(length).collect()));
            values = rows.collect();
        }
        Ok(Some(Value::Array(values)))
    }
}

//! Types of elements, and what Zarr calls them.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::take::{Narrow, Take};

/// The type of an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DataType {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Whether the first byte is the most significant one.
    pub(super) big: bool,
    pub(super) kind: ElementKind,
}

/// The kind of an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ElementKind {
    Integer {
        signed: bool,
    },
    Float,
    /// Integers that use a part of their bits.
    Narrow(Narrow),
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
    /// Members of any types. They lie within the element.
    Compound(Rc<[Member]>),
    /// As many elements as the product of these lengths.
    Array(Vec<u32>, Box<DataType>),
    /// The feature that Zarr lacks, in words.
    Other(String),
}

/// A member of a compound.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    /// Its first byte in the compound.
    pub(super) offset: usize,
    pub(super) data_type: DataType,
}

/// The padding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    /// A zero, and after it anything.
    Terminated,
    Zeros,
    Spaces,
}

impl DataType {
    /// Returns the `data_type` of Zarr, or why there is none.
    pub(super) fn zarr(&self) -> Result<Value, String> {
        let bits = self.size.saturating_mul(8);
        match &self.kind {
            ElementKind::Integer { signed: true } | ElementKind::Enum { signed: true, .. } => {
                Ok(json!(format!("int{bits}")))
            }
            ElementKind::Integer { .. } | ElementKind::Enum { .. } => Ok(json!(format!("uint{bits}"))),
            ElementKind::Float => Ok(json!(format!("float{bits}"))),
            ElementKind::Complex => Ok(json!(format!("complex{bits}"))),
            ElementKind::Bool => Ok(json!("bool")),
            ElementKind::Text(_) if self.size == 1 => Ok(json!({
                "name": "null_terminated_bytes",
                "configuration": { "length_bytes": 1 },
            })),
            ElementKind::Text(_) | ElementKind::LongText => Ok(json!("string")),
            ElementKind::Narrow(Narrow { signed: true, .. }) => Ok(json!(format!("int{bits}"))),
            ElementKind::Narrow(_) => Ok(json!(format!("uint{bits}"))),
            ElementKind::Compound(_) => self.structured().map_err(|why| {
                format!("its elements are compounds {why}: --split-compound makes an array of each member")
            }),
            ElementKind::Array(..) => Err("its elements are arrays".to_owned()),
            ElementKind::List(_) => Err("its elements are lists of variable length: drop it, or skip what is unsupported".to_owned()),
            ElementKind::Reference => Err("its elements are references".to_owned()),
            ElementKind::Other(what) => Err(format!("its elements are {what}")),
        }
    }

    /// Returns the `data_type` of zarr-python for a compound, or why it has none.
    fn structured(&self) -> Result<Value, String> {
        let ElementKind::Compound(members) = &self.kind else {
            return self.zarr_of_member();
        };
        let (mut at, mut fields) = (0, Vec::new());
        for Member {
            name,
            offset,
            data_type,
        } in members.iter()
        {
            if *offset != at {
                return Err(format!("with a gap or an overlap before {name:?}"));
            }
            let has_order = !matches!(data_type.kind, ElementKind::Compound(_))
                && data_type.element_of_number() > 1;
            if data_type.big && has_order {
                return Err(format!("with the big-endian member {name:?}"));
            }
            if matches!(
                data_type.kind,
                ElementKind::Narrow(_) | ElementKind::Array(..)
            ) {
                return Err(format!(
                    "with the member {name:?} of a type that those of zarr-python lack"
                ));
            }
            fields.push(json!([name, data_type.structured()?]));
            at = at.saturating_add(data_type.size);
        }
        if at != self.size || fields.is_empty() {
            return Err("with a gap at the end".to_owned());
        }
        Ok(json!({ "name": "structured", "configuration": { "fields": fields } }))
    }

    /// Returns the `data_type` of Zarr for an element that lies in a compound: a text of fixed length stays as long.
    pub(super) fn zarr_of_member(&self) -> Result<Value, String> {
        match &self.kind {
            ElementKind::Text(_) => Ok(json!({
                "name": "null_terminated_bytes",
                "configuration": { "length_bytes": self.size },
            })),
            ElementKind::LongText => Err("with texts of variable length".to_owned()),
            _ => self.zarr(),
        }
    }

    /// Returns the bytes of a number, half of those of a complex one.
    fn element_of_number(&self) -> usize {
        match self.kind {
            ElementKind::Complex => self.size / 2,
            ElementKind::Text(_) => 1,
            _ => self.size,
        }
    }

    /// Returns what is made of elements that are not taken as they are.
    pub(super) fn take(&self) -> Option<Take> {
        let narrow = self.narrow()?;
        Some(Take {
            of: self.size,
            offset: 0,
            size: self.size,
            narrow: Some(narrow),
        })
    }

    /// Returns what is made of integers that use a part of their bits.
    pub(super) fn narrow(&self) -> Option<Narrow> {
        match self.kind {
            ElementKind::Narrow(narrow) => Some(narrow),
            _ => None,
        }
    }

    /// Returns the bytes that its members take.
    pub(super) fn weight(&self) -> usize {
        match &self.kind {
            ElementKind::Enum { members, .. } => {
                let names = members.keys().map(String::len).sum::<usize>();
                names + members.len() * size_of::<(String, Value, usize)>()
            }
            ElementKind::List(element) | ElementKind::Array(_, element) => {
                size_of::<Self>() + element.weight()
            }
            ElementKind::Compound(members) => members
                .iter()
                .map(|it| size_of::<Member>() + it.name.len() + it.data_type.weight())
                .sum(),
            ElementKind::Other(what) => what.len(),
            _ => 0,
        }
    }

    /// Tells whether the elements are copied as texts.
    pub(super) fn is_text(&self) -> bool {
        match self.kind {
            ElementKind::Text(_) => self.size != 1,
            ElementKind::LongText => true,
            _ => false,
        }
    }

    /// Returns the codec that makes bytes of elements. A single byte has no order.
    pub(super) fn bytes_codec(&self) -> Value {
        let ordered = match self.kind {
            ElementKind::Complex => true,
            ElementKind::Text(_) | ElementKind::Compound(_) => false,
            _ => self.size > 1,
        };
        match (ordered, self.big) {
            (false, _) => json!({ "name": "bytes" }),
            (true, false) => json!({ "name": "bytes", "configuration": { "endian": "little" } }),
            (true, true) => json!({ "name": "bytes", "configuration": { "endian": "big" } }),
        }
    }
}

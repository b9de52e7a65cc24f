//! A variable of a document as an array.

use icefield_core::{ChunkIndex, NodePath};
use roxmltree::Node;
use serde_json::{Value, json};

use super::chunks::{Chunks, Space, bytes_of};
use super::declarations::Declarations;
use super::filters::{recode, recoded_codecs};
use super::types::Number;
use super::xml::{Unreadable, children, number, text_of};
use super::{attributes, inline};
use crate::{ArchiveArray, ArchiveChunks, ChunkExtents};

/// The kind of an element.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    Number(Number),
    /// Bytes of a text.
    Text(u64),
    /// A text of any length.
    LongText,
}

/// The storage of a variable, as the elements within its element describe it.
#[derive(Default)]
struct Storage<'a, 'i> {
    chunks: Option<Node<'a, 'i>>,
    compact: Option<Node<'a, 'i>>,
    missing: Option<Node<'a, 'i>>,
    texts: Option<Node<'a, 'i>>,
    /// Bytes of texts of fixed length.
    text_bytes: Option<u64>,
}

impl<'a, 'i> Storage<'a, 'i> {
    fn of(node: Node<'a, 'i>) -> Result<Self, Unreadable> {
        let mut storage = Self::default();
        for child in children(node) {
            match child.tag_name().name() {
                "chunks" => storage.chunks = Some(child),
                "chunk" => storage.chunks = storage.chunks.or(Some(child)),
                "compact" => storage.compact = Some(child),
                "missingdata" => storage.missing = Some(child),
                "vlsa" => storage.texts = Some(child),
                "FixedLengthStringArray" => {
                    let length = child.attribute("string_length");
                    storage.text_bytes = length.map(number).transpose()?.filter(|it| *it > 0);
                }
                "specialstructuredata" => {
                    return Err(Unreadable::Refused(
                        "its elements are structures".to_owned(),
                    ));
                }
                _ => {}
            }
        }
        Ok(storage)
    }

    fn of_chunks(&self, attribute: &str) -> Option<&'a str> {
        self.chunks?.attribute(attribute)
    }
}

/// Reads a variable. Its dimensions get names later.
pub(super) fn array(
    declarations: &mut Declarations,
    path: &NodePath,
    node: Node<'_, '_>,
    shape: Vec<u64>,
) -> Result<ArchiveArray, Unreadable> {
    let storage = Storage::of(node)?;
    let mut map = attributes::read(node).map_err(Unreadable::Refused)?;
    let element = element(declarations, path, node, &storage, &shape, &mut map)?;
    let is_big = match storage.of_chunks("byteOrder") {
        None | Some("" | "LE") => false,
        Some("BE") => true,
        Some(other) => return Err(Unreadable::Damaged(format!("has the byte order {other:?}"))),
    };
    let (data_type, size, bytes_codec) = match &element {
        Element::Number(number) => {
            let size = u64::from(number.bytes());
            (number.data_type(), size, number.bytes_codec(is_big))
        }
        Element::Text(size) => {
            let configuration = json!({ "length_bytes": size });
            let name = "null_terminated_bytes";
            let data_type = json!({ "name": name, "configuration": configuration });
            (data_type, *size, json!({ "name": "bytes" }))
        }
        Element::LongText => {
            let codec = json!({ "name": "vlen-utf8", "configuration": {} });
            ("string".into(), 1, codec)
        }
    };
    let mut array = ArchiveArray {
        chunk_shape: shape.iter().map(|length| (*length).max(1)).collect(),
        fill_value: "".into(),
        codecs: vec![bytes_codec.clone()],
        dimension_names: Vec::new(),
        chunks: ArchiveChunks::InFiles(ChunkExtents::new(shape.len())),
        data_type,
        shape,
        attributes: map,
    };
    if let Element::Number(number) = element {
        let fill = attributes::fill_value(node, number).map_err(Unreadable::Refused)?;
        if let Some(fill) = fill {
            array.attributes.insert("_FillValue".to_owned(), fill);
        }
        array.fill_value = 0.into();
    }
    if let Some(made) = in_document(&element, &storage, &array.shape, size)? {
        array.chunks = ArchiveChunks::Made {
            chunks: vec![(ChunkIndex::from(vec![0; array.shape.len()]), made)],
            reason: "its values are a part of the DMR++ document".to_owned(),
        };
        return Ok(array);
    }
    let Some(chunks) = storage.chunks.filter(|_| element != Element::LongText) else {
        let is_empty = array.shape.contains(&0);
        return match (is_empty, element) {
            (true, _) => Ok(array),
            (_, Element::LongText) => Err(Unreadable::Refused(
                "its texts of variable length lie in heaps of the file".to_owned(),
            )),
            _ => Err(Unreadable::Damaged(
                "has neither chunks nor values".to_owned(),
            )),
        };
    };
    let space = Space {
        path,
        shape: &array.shape,
        element: size,
        is_versioned: declarations.is_versioned,
    };
    let found = Chunks::read(&space, chunks, &mut declarations.places)?;
    array.chunk_shape = found.chunk_shape;
    if let Element::Number(number) = element {
        let has_all = array.grid().iter().product::<u64>() == found.extents.len() as u64;
        array.fill_value = fill(number, storage.of_chunks("fillValue"), has_all)?;
    }
    let elements = bytes_of(&array.chunk_shape, 1)?;
    let uneven = found.filters.uneven(elements.saturating_mul(size), size);
    let reason = match found.left_out.keys().next() {
        Some(index) => Some(format!(
            "some filters were left out for its chunk {}",
            ChunkIndex::from(index.clone())
        )),
        None => uneven,
    };
    let Some(reason) = reason else {
        array.codecs.extend(found.filters.codecs(0, size));
        array.chunks = ArchiveChunks::InFiles(found.extents);
        return Ok(array);
    };
    let all = (elements, size);
    let recode = recode(
        &found.filters,
        found.left_out,
        &array.data_type,
        &bytes_codec,
        all,
    );
    array.codecs = recoded_codecs(&bytes_codec);
    array.chunks = ArchiveChunks::Recoded {
        extents: found.extents,
        recode: recode.map_err(|why| Unreadable::Refused(format!("{reason}, and {why}")))?,
        reason,
    };
    Ok(array)
}

/// Returns what chunks hold that are not there.
fn fill(number: Number, text: Option<&str>, has_all: bool) -> Result<Value, Unreadable> {
    let zero = Value::from(0);
    let Some(text) = text.filter(|it| !it.trim().is_empty()) else {
        return Ok(zero);
    };
    match number.value(text) {
        Some(value) => Ok(value),
        None if has_all => Ok(zero),
        None => Err(Unreadable::Refused(format!(
            "it lacks chunks, and its fill value {text:?} is none of its type"
        ))),
    }
}

/// Finds out what the elements are; the names of an enumeration become an attribute.
fn element(
    declarations: &Declarations,
    path: &NodePath,
    node: Node<'_, '_>,
    storage: &Storage<'_, '_>,
    shape: &[u64],
    attributes: &mut serde_json::Map<String, Value>,
) -> Result<Element, Unreadable> {
    let kind = node.tag_name().name();
    if let Some(number) = Number::of(kind) {
        return Ok(Element::Number(number));
    }
    match kind {
        "Char" => Ok(Element::Text(1)),
        "Enum" => {
            let name = node.attribute("enum").unwrap_or_default();
            let found = declarations.enumeration(path, name);
            let missing =
                || Unreadable::Damaged(format!("is of an enumeration {name:?} that is not there"));
            let (number, members) = found.ok_or_else(missing)?;
            attributes.insert("enum_members".to_owned(), members.clone().into());
            Ok(Element::Number(number))
        }
        "String" | "URL" => Ok(match storage.text_bytes {
            Some(bytes) => Element::Text(bytes),
            None => match scalar_text(storage, shape)? {
                Some(bytes) => Element::Text(bytes),
                None => Element::LongText,
            },
        }),
        other => Err(Unreadable::Refused(format!(
            "its elements are of the type {other}"
        ))),
    }
}

/// Returns the bytes of a text without dimensions that lies in the file: those of its chunk.
fn scalar_text(storage: &Storage<'_, '_>, shape: &[u64]) -> Result<Option<u64>, Unreadable> {
    let is_here = storage.compact.is_some() || storage.texts.is_some();
    let Some(chunks) = storage.chunks.filter(|_| shape.is_empty() && !is_here) else {
        return Ok(None);
    };
    let chunk = match chunks.tag_name().name() {
        "chunk" => Some(chunks),
        _ => children(chunks).find(|it| it.tag_name().name() == "chunk"),
    };
    let bytes = chunk.and_then(|it| it.attribute("nBytes")).map(number);
    Ok(bytes.transpose()?.filter(|it| *it > 0))
}

/// Returns the only chunk of an array whose values are in the document.
fn in_document(
    element: &Element,
    storage: &Storage<'_, '_>,
    shape: &[u64],
    size: u64,
) -> Result<Option<bytes::Bytes>, Unreadable> {
    let count = bytes_of(shape, 1)?;
    if count == 0 {
        return Ok(None);
    }
    if let Some(texts) = storage.texts {
        return match element {
            Element::LongText => inline::texts(texts, count)
                .map(Some)
                .map_err(Unreadable::Refused),
            _ => Err(Unreadable::Damaged(
                "is of no texts, and has some".to_owned(),
            )),
        };
    }
    let Some(node) = storage.compact.or(storage.missing) else {
        return Ok(None);
    };
    let text = text_of(node);
    let made = match element {
        Element::LongText if shape.is_empty() => {
            let text = inline::base64(&text).map_err(Unreadable::Refused)?;
            inline::one_text(&text)
        }
        Element::LongText => Err("its texts have no length of their own".to_owned()),
        _ => {
            let length = bytes_of(shape, size)?;
            inline::values(&text, length).map(Into::into)
        }
    };
    made.map(Some).map_err(Unreadable::Refused)
}

//! The JSON file: its parts, and its references one after the other. The text stays as it is; a reference is made of it
//! only when it is looked at.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{SourceError, zarr2};

/// The meaning of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Reference<'a> {
    /// A text: the bytes themselves, perhaps in base64.
    Inline(Cow<'a, str>),
    /// Bytes of a file: offset and length, or all of them.
    InFile {
        url: Cow<'a, str>,
        range: Option<(u64, u64)>,
    },
    /// An object, as a document may be.
    Document(Value),
}

impl Reference<'_> {
    pub(super) fn into_owned(self) -> Reference<'static> {
        match self {
            Self::Inline(text) => Reference::Inline(text.into_owned().into()),
            Self::InFile { url, range } => Reference::InFile {
                url: url.into_owned().into(),
                range,
            },
            Self::Document(document) => Reference::Document(document),
        }
    }
}

/// The parts of a file.
pub(super) struct Outline<'a> {
    /// The map of references.
    references: &'a str,
    pub(super) templates: Option<&'a str>,
    pub(super) generators: Vec<Value>,
    name: &'a str,
}

/// The fields of version 1. In version 0 there are none of them.
#[derive(Deserialize, Serialize)]
struct Fields<'a> {
    version: Option<Value>,
    #[serde(borrow)]
    templates: Option<&'a RawValue>,
    #[serde(rename = "gen")]
    generators: Option<Vec<Value>>,
    #[serde(borrow)]
    refs: Option<&'a RawValue>,
}

/// Returns the text of a file without numbers that JSON lacks, and whether it had any.
pub(super) fn plain(bytes: Bytes, name: &str) -> Result<(Bytes, bool), SourceError> {
    match serde_json::from_slice::<de::IgnoredAny>(&bytes) {
        Ok(_) => Ok((bytes, false)),
        Err(error) => zarr2::quoted_json(&bytes)
            .map(|quoted| (quoted.into(), true))
            .ok_or_else(|| not_json(name, &error)),
    }
}

fn not_json(name: &str, error: &serde_json::Error) -> SourceError {
    SourceError::damaged(
        name,
        format!("it is not a JSON file of references: {error}"),
    )
}

impl<'a> Outline<'a> {
    pub(super) fn read(bytes: &'a [u8], name: &'a str) -> Result<Self, SourceError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| SourceError::damaged(name, "it is not UTF-8, as JSON is"))?;
        let fields: Fields<'a> =
            serde_json::from_str(text).map_err(|error| not_json(name, &error))?;
        let version = fields.version.as_ref().map(Value::as_u64);
        match (version, fields.refs) {
            (None | Some(Some(0)), None) => Ok(Self {
                references: text,
                templates: None,
                generators: Vec::new(),
                name,
            }),
            (None | Some(Some(1)), Some(references)) => Ok(Self {
                references: references.get(),
                templates: fields.templates.map(RawValue::get),
                generators: fields.generators.unwrap_or_default(),
                name,
            }),
            (Some(Some(1)), None) => Err(SourceError::damaged(name, "it has no \"refs\"")),
            _ => {
                let version = fields.version.unwrap_or_default();
                let problem =
                    format!("it is of version {version} of references, of which 0 and 1 are known");
                Err(SourceError::damaged(name, problem))
            }
        }
    }

    /// Returns the keys of all references of the map, sorted.
    pub(super) fn keys(&self) -> Vec<Cow<'a, str>> {
        let mut keys = Vec::new();
        // An error in the text is reported when the references are read.
        let _looked = self.for_each(|key, _| {
            keys.push(key);
            Ok(())
        });
        keys.sort_unstable();
        keys
    }

    /// Returns whether the map has whole numbers beyond 64 bits.
    pub(super) fn has_large_integers(&self) -> bool {
        zarr2::has_large_integers(self.references.as_bytes())
    }

    /// Looks at all references of the map, in the order of the file.
    pub(super) fn for_each(
        &self,
        mut look: impl FnMut(Cow<'a, str>, Reference<'a>) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        let mut stopped = None;
        let walk = ReferenceVisitor {
            look: &mut look,
            stopped: &mut stopped,
        };
        let mut deserializer = serde_json::Deserializer::from_str(self.references);
        let done = walk.deserialize(&mut deserializer);
        match (stopped, done) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            (None, Err(error)) => Err(not_json(self.name, &error)),
        }
    }
}

struct ReferenceVisitor<'f, F> {
    look: &'f mut F,
    /// The error that ended the walk, if it was not the text's.
    stopped: &'f mut Option<SourceError>,
}

impl<'de, F> DeserializeSeed<'de> for ReferenceVisitor<'_, F>
where
    F: FnMut(Cow<'de, str>, Reference<'de>) -> Result<(), SourceError>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F> Visitor<'de> for ReferenceVisitor<'_, F>
where
    F: FnMut(Cow<'de, str>, Reference<'de>) -> Result<(), SourceError>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of references")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            let One(reference) = map.next_value()?;
            if let Err(error) = (self.look)(key, reference) {
                *self.stopped = Some(error);
                return Err(de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

/// A text, borrowed where nothing is escaped in it.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(Texts)
    }
}

struct One<'a>(Reference<'a>);

impl<'de> Deserialize<'de> for One<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Ones)
    }
}

struct Ones;

impl<'de> Visitor<'de> for Ones {
    type Value = One<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, [url] or [url, offset, length]")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<One<'de>, E> {
        Ok(One(Reference::Inline(text.into())))
    }

    fn visit_str<E>(self, text: &str) -> Result<One<'de>, E> {
        Ok(One(Reference::Inline(text.to_owned().into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<One<'de>, A::Error> {
        let missing = || de::Error::custom("a reference is [url] or [url, offset, length]");
        let Text(url) = list.next_element()?.ok_or_else(missing)?;
        let range = match list.next_element::<u64>()? {
            None => None,
            Some(offset) => Some((offset, list.next_element()?.ok_or_else(missing)?)),
        };
        match list.next_element::<de::IgnoredAny>()? {
            None => Ok(One(Reference::InFile { url, range })),
            Some(_) => Err(missing()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<One<'de>, A::Error> {
        let document = Value::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(One(Reference::Document(document)))
    }
}

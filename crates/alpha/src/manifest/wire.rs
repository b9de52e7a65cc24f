//! The one field of a manifest file: a map, whose keys are arrays. JSON has no such keys, so that there it is a list
//! of pairs, or an object whose keys are the JSON of those arrays.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::ChunkIndex;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::entry::{ChunkEntry, Payload};
use crate::AlphaId;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireManifest {
    pub(super) chunks: WireChunks,
}

pub(super) struct WireChunks(pub(super) Vec<ChunkEntry>);

/// The entries so far, with each URL once.
#[derive(Default)]
struct Gathered {
    entries: Vec<ChunkEntry>,
    locations: HashSet<Arc<str>>,
}

impl Gathered {
    fn push(&mut self, key: WireKey, payload: WirePayload) {
        let payload = match payload {
            WirePayload::Inline(WireBytes(bytes)) => Payload::Inline(bytes),
            WirePayload::Ref(WireNative { id, offset, length }) => {
                Payload::Native { id, offset, length }
            }
            WirePayload::Virtual(chunk) => Payload::Virtual {
                location: self.location(chunk.location.0),
                offset: chunk.offset,
                length: chunk.length,
            },
        };
        self.entries.push(ChunkEntry {
            node: key.0,
            index: key.1,
            payload,
        });
    }

    fn location(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.locations.get(text.as_str()) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.locations.insert(Arc::clone(&text));
        text
    }
}

impl<'de> Deserialize<'de> for WireChunks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Chunks;
        impl<'de> Visitor<'de> for Chunks {
            type Value = WireChunks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("chunks under their node and coordinates")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireChunks, A::Error> {
                let mut gathered = Gathered::default();
                while let Some((key, payload)) = map.next_entry()? {
                    gathered.push(key, payload);
                }
                Ok(WireChunks(gathered.entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pairs: A) -> Result<WireChunks, A::Error> {
                let mut gathered = Gathered::default();
                while let Some((key, payload)) = pairs.next_element()? {
                    gathered.push(key, payload);
                }
                Ok(WireChunks(gathered.entries))
            }
        }
        deserializer.deserialize_any(Chunks)
    }
}

/// The number of a node, and coordinates.
struct WireKey(u32, ChunkIndex);

impl<'de> Deserialize<'de> for WireKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Key;
        impl<'de> Visitor<'de> for Key {
            type Value = WireKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the number of a node and the coordinates of a chunk")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut both: A) -> Result<WireKey, A::Error> {
                let node = both.next_element()?;
                let node = node.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let index: Option<Vec<u32>> = both.next_element()?;
                let index = index.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                match both.next_element::<de::IgnoredAny>()? {
                    None => Ok(WireKey(node, index.into())),
                    Some(_) => Err(de::Error::invalid_length(3, &self)),
                }
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WireKey, E> {
                let both: (u32, Vec<u32>) = serde_json::from_str(text).map_err(E::custom)?;
                Ok(WireKey(both.0, both.1.into()))
            }
        }
        deserializer.deserialize_any(Key)
    }
}

#[derive(serde::Deserialize)]
enum WirePayload {
    Inline(WireBytes),
    Ref(WireNative),
    Virtual(WireVirtual),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireNative {
    id: AlphaId,
    offset: u64,
    length: u64,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireVirtual {
    location: WireLocation,
    offset: u64,
    length: u64,
}

struct WireBytes(Bytes);

impl<'de> Deserialize<'de> for WireBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Inline;
        impl<'de> Visitor<'de> for Inline {
            type Value = WireBytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a chunk")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<WireBytes, E> {
                Ok(WireBytes(Bytes::copy_from_slice(bytes)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WireBytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = items.next_element()? {
                    bytes.push(byte);
                }
                Ok(WireBytes(bytes.into()))
            }
        }
        deserializer.deserialize_byte_buf(Inline)
    }
}

/// A URL; the later code put it into an enum of one variant.
struct WireLocation(String);

impl<'de> Deserialize<'de> for WireLocation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Location;
        impl<'de> Visitor<'de> for Location {
            type Value = WireLocation;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a URL, alone or as `Absolute`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WireLocation, E> {
                Ok(WireLocation(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireLocation, A::Error> {
                let one: Option<(String, String)> = map.next_entry()?;
                match one {
                    Some((variant, url)) if variant == "Absolute" => {
                        match map.next_key::<de::IgnoredAny>()? {
                            None => Ok(WireLocation(url)),
                            Some(_) => Err(de::Error::invalid_length(2, &self)),
                        }
                    }
                    Some((variant, _)) => Err(de::Error::unknown_variant(&variant, &["Absolute"])),
                    None => Err(de::Error::invalid_length(0, &self)),
                }
            }
        }
        deserializer.deserialize_any(Location)
    }
}

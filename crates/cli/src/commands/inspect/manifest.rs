//! The contents of a manifest. It may hold millions of refs, so the output streams them.

use std::cell::RefCell;
use std::io::{self, Write};

use icefield::format::{ArrayRefs, Checksum, ChunkRef, Manifest};
use icefield::{ManifestId, NodeId};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::output::escape::printable;
use crate::output::{self, count};

/// The number of refs of each array that text output shows.
const SHOWN: usize = 10;

#[derive(Serialize)]
pub(super) struct ManifestFacts<'a> {
    file: &'static str,
    id: ManifestId,
    chunk_refs: u64,
    #[serde(serialize_with = "arrays")]
    arrays: &'a Manifest,
}

#[derive(Serialize)]
struct ArrayRefsFacts<'a> {
    node_id: NodeId,
    chunk_refs: usize,
    #[serde(serialize_with = "refs")]
    refs: RefCell<Option<ArrayRefs<'a>>>,
}

#[derive(Serialize)]
struct ChunkRefFacts<'a> {
    index: Vec<u32>,
    #[serde(flatten)]
    place: PayloadFacts<'a>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum PayloadFacts<'a> {
    Inline {
        length: usize,
    },
    Native {
        chunk_id: String,
        offset: u64,
        length: u64,
    },
    Virtual {
        location: &'a str,
        offset: u64,
        length: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        etag: Option<&'a str>,
        /// Seconds since 1970.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_modified: Option<u32>,
    },
}

impl<'a> ManifestFacts<'a> {
    pub(super) fn of(manifest: &'a Manifest) -> Self {
        Self {
            file: "manifest",
            id: manifest.id(),
            chunk_refs: manifest.total_refs(),
            arrays: manifest,
        }
    }
}

fn arrays<S: Serializer>(manifest: &&Manifest, serializer: S) -> Result<S::Ok, S::Error> {
    let arrays = manifest.arrays().map(|array| ArrayRefsFacts {
        node_id: array.node_id(),
        chunk_refs: array.len(),
        refs: RefCell::new(Some(array)),
    });
    serializer.collect_seq(arrays)
}

fn refs<S: Serializer>(
    refs: &RefCell<Option<ArrayRefs<'_>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(None)?;
    if let Some(array) = refs.borrow_mut().take() {
        for record in array.refs() {
            let mut index = Vec::new();
            record.index_into(&mut index);
            let place = place(record.chunk_ref().map_err(S::Error::custom)?);
            sequence.serialize_element(&ChunkRefFacts { index, place })?;
        }
    }
    sequence.end()
}

fn place(chunk: ChunkRef<'_>) -> PayloadFacts<'_> {
    match chunk {
        ChunkRef::Inline(bytes) => PayloadFacts::Inline {
            length: bytes.len(),
        },
        ChunkRef::Native { id, offset, length } => PayloadFacts::Native {
            chunk_id: id.to_string(),
            offset,
            length,
        },
        ChunkRef::Virtual {
            location,
            offset,
            length,
            checksum,
        } => PayloadFacts::Virtual {
            location,
            offset,
            length,
            etag: match checksum {
                Some(Checksum::ETag(tag)) => Some(tag),
                _ => None,
            },
            last_modified: match checksum {
                Some(Checksum::LastModified(seconds)) => Some(seconds),
                _ => None,
            },
        },
    }
}

pub(super) fn text(facts: &ManifestFacts<'_>, out: &mut dyn Write) -> io::Result<()> {
    let arrays = facts.arrays.arrays().count() as u64;
    writeln!(
        out,
        "manifest {}: {} of {}",
        facts.id,
        count(facts.chunk_refs, "chunk", "chunks"),
        count(arrays, "array", "arrays")
    )?;
    for array in facts.arrays.arrays() {
        writeln!(
            out,
            "\nnode {}: {}",
            array.node_id(),
            count(array.len() as u64, "chunk", "chunks")
        )?;
        for record in array.refs().take(SHOWN) {
            let mut index = Vec::new();
            record.index_into(&mut index);
            let place = match record.chunk_ref().map(place) {
                Err(error) => format!("DAMAGED: {}", printable(&error.to_string())),
                Ok(PayloadFacts::Inline { length }) => format!("inline, {length} bytes"),
                Ok(PayloadFacts::Native {
                    chunk_id,
                    offset,
                    length,
                }) => format!("chunk {chunk_id} at {offset}, {length} bytes"),
                Ok(PayloadFacts::Virtual {
                    location,
                    offset,
                    length,
                    ..
                }) => format!(
                    "{} at {offset}, {}",
                    printable(location),
                    output::bytes(length)
                ),
            };
            writeln!(out, "  {index:?}  {place}")?;
        }
        if array.len() > SHOWN {
            writeln!(out, "  … {} more; --json prints all", array.len() - SHOWN)?;
        }
    }
    Ok(())
}

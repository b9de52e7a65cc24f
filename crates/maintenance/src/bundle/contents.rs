//! Whether a bundle has the chunks that its manifests need.
//!
//! Chunks come before the manifests in a bundle, and there may be more of both than fit into memory: what is gathered is
//! one part of the ids after the other, each in a reading of its own. Nearly every bundle is one part.

use std::io::Read;

use futures::TryStreamExt;
use icefield_format::{ChunkRef, DecodeLimits, Manifest};
use icefield_storage::Storage;

use super::file::{Input, bad};
use super::index::{MAX_FILE, read_index};
use super::member::Member;
use crate::Progress;
use crate::copy::CopyError;
use crate::copy::objects::{self, Decoded};
use crate::gather::{Gather, Record};
use crate::listing::{ObjectKind, listed};

/// The size of a chunk object that is not in the bundle.
const ELSEWHERE: u64 = u64::MAX;

/// A chunk object that is in the bundle, or that a manifest of it needs.
#[derive(Clone, Copy, Debug)]
struct Object {
    id: [u8; 12],
    size: u64,
    /// Up to which byte it is needed.
    end: u64,
    needed: bool,
}

impl Object {
    fn name(&self) -> String {
        ObjectKind::Chunk.named(self.id).key()
    }

    fn check_end(&self, size: u64) -> Result<(), CopyError> {
        match size < self.end {
            true => Err(bad(format!(
                "{} has {size} bytes, and a manifest has a chunk that ends at byte {} of it",
                self.name(),
                self.end
            ))),
            false => Ok(()),
        }
    }
}

impl Record for Object {
    fn id(&self) -> [u8; 12] {
        self.id
    }
}

fn compact(objects: &mut Vec<Object>) {
    objects.sort_unstable_by_key(|object| object.id);
    objects.dedup_by(|next, kept| {
        let same = next.id == kept.id;
        if same {
            kept.size = kept.size.min(next.size);
            kept.end = kept.end.max(next.end);
            kept.needed |= next.needed;
        }
        same
    });
}

/// The chunk objects of one part of the ids.
#[derive(Debug)]
pub(crate) struct Contents(Gather<Object>);

impl Contents {
    /// Begins the first part, with room for so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Gather::new(bytes))
    }

    /// Takes a chunk object of the bundle.
    pub(crate) fn has(&mut self, id: [u8; 12], size: u64) {
        let object = Object {
            id,
            size,
            end: 0,
            needed: false,
        };
        self.0.push(object, compact);
    }

    /// Takes what a manifest of the bundle needs.
    pub(crate) fn needs(&mut self, manifest: &Manifest) -> Result<(), CopyError> {
        for array in manifest.arrays() {
            for record in array.refs() {
                let read = record.chunk_ref().map_err(|error| bad(error.to_string()))?;
                if let ChunkRef::Native { id, offset, length } = read {
                    let object = Object {
                        id: *id.as_bytes(),
                        size: ELSEWHERE,
                        // Decoding has checked that this stays within 64 bits.
                        end: offset.saturating_add(length),
                        needed: true,
                    };
                    self.0.push(object, compact);
                }
            }
        }
        Ok(())
    }

    /// Checks what is in the bundle. Only one that builds on something may need more.
    pub(crate) fn check(&mut self, builds_on_something: bool) -> Result<(), CopyError> {
        for object in self.0.records(compact) {
            match object.size {
                ELSEWHERE if builds_on_something => {}
                ELSEWHERE => {
                    return Err(bad(format!(
                        "a manifest needs {}, which is not in it",
                        object.name()
                    )));
                }
                _ if !object.needed => {
                    return Err(bad(format!("nothing in it needs {}", object.name())));
                }
                size => object.check_end(size)?,
            }
        }
        Ok(())
    }

    /// Looks at the destination for what is not in the bundle.
    pub(crate) async fn check_there(&mut self, destination: &dyn Storage) -> Result<(), CopyError> {
        let objects = self.0.records(compact);
        let Some(first) = objects.iter().find(|it| it.size == ELSEWHERE) else {
            return Ok(());
        };
        let mut found =
            listed(destination, ObjectKind::Chunk, first.id).map_err(CopyError::Destination)?;
        let mut there = found.try_next().await.map_err(CopyError::Destination)?;
        for object in objects {
            if object.size != ELSEWHERE {
                continue;
            }
            while there.is_some_and(|(id, _)| id < object.id) {
                there = found.try_next().await.map_err(CopyError::Destination)?;
            }
            match there {
                Some((id, size)) if id == object.id => object.check_end(size)?,
                _ => check_one(destination, object).await?,
            }
        }
        Ok(())
    }

    /// Begins the next part; false if there is none.
    pub(crate) fn next_part(&mut self) -> bool {
        self.0.next_pass()
    }

    /// Reads the bundle once more, for another part.
    pub(crate) async fn read<R: Read + Send + 'static>(
        &mut self,
        reader: R,
        sha256: &str,
        limits: &DecodeLimits,
        progress: &dyn Progress,
    ) -> Result<(), CopyError> {
        progress.stage("checking the bundle", None);
        let mut input = Input::new(reader);
        read_index(&mut input).await?;
        while let Some(entry) = input.next().await? {
            match Member::parse(&entry.name)? {
                Member::Object(ObjectKind::Chunk, id) => self.has(id, entry.size),
                Member::Object(ObjectKind::Manifest, id) => {
                    let file = input.whole(&entry, MAX_FILE).await?;
                    self.needs(&manifest(id, &file, limits)?)?;
                }
                Member::End if entry.digest_before == sha256 => return Ok(()),
                Member::End => break,
                _ => {}
            }
            progress.advance(1, entry.size);
        }
        Err(bad("it was changed while it was read"))
    }
}

/// Asks for one object that a list lacks: only the store's word for the object itself counts.
async fn check_one(destination: &dyn Storage, object: &Object) -> Result<(), CopyError> {
    let key = ObjectKind::Chunk
        .key(object.id)
        .map_err(CopyError::Destination)?;
    match destination.head(&key).await {
        Ok(meta) => object.check_end(meta.size),
        Err(error) if error.is_not_found() => Err(bad(format!(
            "a manifest needs {key}, which is neither in it nor at the destination"
        ))),
        Err(error) => Err(CopyError::Destination(error)),
    }
}

/// Decodes a manifest of a bundle.
pub(crate) fn manifest(
    id: [u8; 12],
    file: &[u8],
    limits: &DecodeLimits,
) -> Result<Manifest, CopyError> {
    match objects::decode(ObjectKind::Manifest.named(id), file, limits) {
        Ok(Decoded::Manifest(manifest)) => Ok(manifest),
        Ok(_) => unreachable!("BUG: the kind was asked for"),
        Err(error) => Err(bad(error.to_string())),
    }
}

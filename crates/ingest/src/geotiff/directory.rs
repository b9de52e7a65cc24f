//! Image file directories: the fields of each image of a file.
//!
//! ```text
//! II 42   classic, little-endian      u16 count, then for each field: u16 tag, u16 type, u32 count, u32 value or offset;
//! MM 42   classic, big-endian         u32 offset of the next directory
//! II 43   BigTIFF                     u64 count; u16, u16, u64, u64; u64
//! ```

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;

use super::tag;
use super::window::{Order, Window, fixed};
use crate::SourceError;
use crate::archive::values::text;

/// Fields of a directory.
const MAX_FIELDS: u64 = 4096;
/// Directories of a file.
const MAX_DIRECTORIES: usize = 1024;
/// Bytes of the offsets of an image's tiles, or of their lengths.
const MAX_PLACES: u64 = 256 << 20;
/// Bytes of another field.
const MAX_FIELD: u64 = 16 << 20;

/// The values of the fields of an image that are read, by tag.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory(BTreeMap<u16, Field>);

/// The values of a field.
#[derive(Clone, Debug)]
struct Field {
    kind: u16,
    order: Order,
    bytes: Bytes,
}

impl Directory {
    /// Returns the whole numbers of a field; `None` if there is no such field, or it is of others.
    pub(super) fn numbers(&self, tag: u16) -> Option<Vec<u64>> {
        let field = self.0.get(&tag)?;
        let (order, bytes) = (field.order, &field.bytes);
        Some(match field.kind {
            1 => bytes.iter().map(|it| u64::from(*it)).collect(),
            3 => {
                let parts = bytes.chunks_exact(2);
                parts.map(|it| u64::from(order.u16(fixed(it)))).collect()
            }
            4 | 13 => {
                let parts = bytes.chunks_exact(4);
                parts.map(|it| u64::from(order.u32(fixed(it)))).collect()
            }
            16 | 18 => {
                let parts = bytes.chunks_exact(8);
                parts.map(|it| order.u64(fixed(it))).collect()
            }
            _ => return None,
        })
    }

    /// Returns the first whole number of a field.
    pub(super) fn number(&self, tag: u16) -> Option<u64> {
        self.numbers(tag)?.first().copied()
    }

    /// Returns the floats of a field.
    pub(super) fn floats(&self, tag: u16) -> Option<Vec<f64>> {
        let field = self.0.get(&tag)?;
        let (order, bytes) = (field.order, &field.bytes);
        match field.kind {
            11 => {
                let parts = bytes.chunks_exact(4);
                Some(
                    parts
                        .map(|it| f32::from_bits(order.u32(fixed(it))).into())
                        .collect(),
                )
            }
            12 => {
                let parts = bytes.chunks_exact(8);
                Some(
                    parts
                        .map(|it| f64::from_bits(order.u64(fixed(it))))
                        .collect(),
                )
            }
            _ => None,
        }
    }

    /// Returns the text of a field.
    pub(super) fn text(&self, tag: u16) -> Option<String> {
        let field = self.0.get(&tag).filter(|it| it.kind == 2)?;
        Some(text(&field.bytes))
    }

    /// Returns the bytes of a field.
    pub(super) fn bytes(&self, tag: u16) -> Option<Bytes> {
        self.0.get(&tag).map(|it| it.bytes.clone())
    }
}

/// Reads all directories of a file: those of its chain, and those that are named as parts of others behind them.
pub(super) async fn read(window: &mut Window) -> Result<Vec<Directory>, SourceError> {
    let mark = window.read(0, 4).await?;
    let order = match &mark[..] {
        [b'I', b'I', ..] => Order::Little,
        _ => Order::Big,
    };
    window.set_order(order);
    let is_big = match window.u16(2).await? {
        42 => false,
        43 => true,
        version => {
            return Err(window.damaged(format!("it is TIFF of the unknown version {version}")));
        }
    };
    let mut next = match is_big {
        false => u64::from(window.u32(4).await?),
        true if window.u16(4).await? != 8 => {
            return Err(window.damaged("its offsets have another length than 8 bytes"));
        }
        true => window.u64(8).await?,
    };
    let mut seen = HashSet::new();
    let (mut directories, mut parts) = (Vec::new(), Vec::new());
    while next != 0 {
        if !seen.insert(next) {
            return Err(window.damaged("its directories lead in a circle"));
        }
        if directories.len() >= MAX_DIRECTORIES {
            return Err(window.damaged(format!("it has more than {MAX_DIRECTORIES} images")));
        }
        let (directory, behind) = directory(window, next, is_big).await?;
        // Overviews of old writers.
        parts.extend(directory.numbers(tag::SUB_DIRECTORIES).unwrap_or_default());
        directories.push(directory);
        next = behind;
    }
    for part in parts {
        if directories.len() >= MAX_DIRECTORIES {
            return Err(window.damaged(format!("it has more than {MAX_DIRECTORIES} images")));
        }
        if part != 0 && seen.insert(part) {
            directories.push(directory(window, part, is_big).await?.0);
        }
    }
    match directories.is_empty() {
        false => Ok(directories),
        true => Err(window.damaged("it has no image")),
    }
}

/// Reads a directory, and where the next one is.
async fn directory(
    window: &mut Window,
    at: u64,
    is_big: bool,
) -> Result<(Directory, u64), SourceError> {
    let (count, head, size) = match is_big {
        false => (u64::from(window.u16(at).await?), 2, 12),
        true => (window.u64(at).await?, 8, 20),
    };
    if count > MAX_FIELDS {
        return Err(window.damaged(format!("a directory of it has {count} fields")));
    }
    let fields = at.saturating_add(head);
    let length = count * size;
    let entries = window.read(fields, length).await?;
    let mut directory = Directory::default();
    for entry in entries.chunks_exact(size as usize) {
        if let Some((tag, field)) = field(window, entry, is_big).await? {
            directory.0.insert(tag, field);
        }
    }
    let behind = fields.saturating_add(length);
    let next = match is_big {
        false => u64::from(window.u32(behind).await?),
        true => window.u64(behind).await?,
    };
    Ok((directory, next))
}

/// Reads a field; `None` if it is not looked at.
async fn field(
    window: &mut Window,
    entry: &[u8],
    is_big: bool,
) -> Result<Option<(u16, Field)>, SourceError> {
    let order = window.order();
    let part = |at: usize| entry.get(at..).unwrap_or_default();
    let (tag, kind) = (order.u16(fixed(part(0))), order.u16(fixed(part(2))));
    let size = match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16..=18 => 8,
        _ => return Ok(None),
    };
    if !tag::WANTED.contains(&tag) {
        return Ok(None);
    }
    let (count, value, room) = match is_big {
        false => (u64::from(order.u32(fixed(part(4)))), part(8), 4),
        true => (order.u64(fixed(part(4))), part(12), 8),
    };
    let most = match tag::PLACES.contains(&tag) {
        true => MAX_PLACES,
        false => MAX_FIELD,
    };
    let length = count.checked_mul(size).filter(|it| *it <= most);
    let length = length.ok_or_else(|| {
        window.damaged(format!(
            "its field {tag} has {count} values, more than are read"
        ))
    })?;
    let bytes = match length <= room {
        true => Bytes::copy_from_slice(value.get(..length as usize).unwrap_or_default()),
        false => {
            let at = match is_big {
                false => u64::from(order.u32(fixed(value))),
                true => order.u64(fixed(value)),
            };
            window.read(at, length).await?
        }
    };
    Ok(Some((tag, Field { kind, order, bytes })))
}

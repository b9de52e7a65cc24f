//! The central directory, checked before anything is believed.

use std::collections::HashMap;

use rawzip::{
    CompressionMethod, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord,
};

use super::layout::{self, ZipLayout};
use super::{ZipError, ZipLimits};
use crate::TreeKey;

/// Entries below this are not measured for their ratio: a few bytes of zeros are no bomb.
const NOT_MEASURED: u64 = 1 << 20;
/// Bytes of a local header without its variable part: the least an entry takes beside its data.
const LOCAL_HEADER: u64 = 30;

/// A value in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) way: ZipArchiveEntryWayfinder,
    pub(super) offset: u64,
    pub(super) compressed: u64,
    pub(super) size: u64,
    pub(super) crc: u32,
    pub(super) deflated: bool,
}

/// All values, in byte order of their names.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) slots: Vec<(String, Slot)>,
    /// Where entries begin, in order, also those that do not count.
    pub(super) places: Vec<u64>,
    /// Where the central directory begins.
    pub(super) end: u64,
    pub(super) layout: ZipLayout,
}

impl Index {
    /// Where the data of an entry must end: at the next entry, or the central directory.
    pub(super) fn end_of(&self, slot: Slot) -> u64 {
        let next = self.places.partition_point(|place| *place <= slot.offset);
        self.places.get(next).copied().unwrap_or(self.end)
    }
}

/// Reads and checks the central directory.
pub(super) fn read<R: ReaderAt>(
    archive: &ZipArchive<R>,
    limits: ZipLimits,
    last_wins: bool,
) -> Result<Index, ZipError> {
    let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let mut entries = archive.entries(&mut buffer);
    let mut slots: Vec<(String, Slot)> = Vec::new();
    let (mut count, mut names) = (0, 0);
    while let Some(entry) = entries.next_entry()? {
        count += 1;
        if count > limits.entries {
            return Err(ZipError::TooManyEntries {
                limit: limits.entries,
            });
        }
        names += entry.file_path().len() as u64;
        if names > limits.names {
            return Err(ZipError::NamesTooLong {
                limit: limits.names,
            });
        }
        if let Some(slot) = check(&entry, limits)? {
            slots.push(slot);
        }
    }
    let claimed = archive.entries_hint();
    if claimed != count {
        return Err(ZipError::Damaged {
            problem: format!("it says that it has {claimed} entries, and has {count}"),
        });
    }
    let end = archive.directory_offset();
    check_places(&mut slots, end)?;
    let places = slots.iter().map(|(_, slot)| slot.offset).collect();
    let slots = sort(slots, last_wins)?;
    check_names(&slots)?;
    let layout = layout::find(slots.iter().map(|(name, _)| name.as_str()));
    Ok(Index {
        slots,
        places,
        end,
        layout,
    })
}

/// Checks one entry; directories are nothing.
fn check(
    entry: &ZipFileHeaderRecord<'_>,
    limits: ZipLimits,
) -> Result<Option<(String, Slot)>, ZipError> {
    let path = entry.file_path();
    let Ok(name) = std::str::from_utf8(path.as_bytes()) else {
        return Err(ZipError::NotUtf8 {
            name: String::from_utf8_lossy(path.as_bytes()).into_owned(),
        });
    };
    let name = name.to_owned();
    if name.contains('\\') {
        return Err(ZipError::Backslash { name });
    }
    let (compressed, size) = (entry.compressed_size_hint(), entry.uncompressed_size_hint());
    let is_directory = name.ends_with('/');
    // Also of directories: what leads out is refused, whatever it is.
    TreeKey::parse(name.strip_suffix('/').unwrap_or(&name))?;
    let flags = entry.flags();
    if flags.is_encrypted() || flags.has_strong_encryption() || flags.bits() & (1 << 13) != 0 {
        return Err(ZipError::Encrypted { name });
    }
    if is_directory {
        return match size {
            0 => Ok(None),
            _ => Err(ZipError::Special { name }),
        };
    }
    // The upper half is the Unix mode where a Unix program wrote it, and has no file type otherwise.
    let file_type = (entry.external_attributes() >> 16) & 0o170_000;
    if !matches!(file_type, 0 | 0o100_000) {
        return Err(ZipError::Special { name });
    }
    let method = entry.compression_method();
    let deflated = method == CompressionMethod::DEFLATE;
    if !deflated && method != CompressionMethod::STORE {
        let method = method.as_u16();
        return Err(ZipError::Method { name, method });
    }
    if !deflated && compressed != size {
        return Err(ZipError::SizesDiffer {
            name,
            compressed,
            size,
        });
    }
    if deflated && size > limits.entry_size {
        return Err(ZipError::EntryTooLarge {
            name,
            size,
            limit: limits.entry_size,
        });
    }
    if deflated && size > NOT_MEASURED && size / limits.ratio.max(1) > compressed {
        return Err(ZipError::RatioTooHigh {
            name,
            compressed,
            size,
            limit: limits.ratio,
        });
    }
    let slot = Slot {
        way: entry.wayfinder(),
        offset: entry.local_header_offset(),
        compressed,
        size,
        crc: entry.crc32(),
        deflated,
    };
    Ok(Some((name, slot)))
}

/// Checks that no two entries share bytes, and that all lie before the central directory.
fn check_places(slots: &mut [(String, Slot)], end: u64) -> Result<(), ZipError> {
    slots.sort_by_key(|(_, slot)| slot.offset);
    let end_of = |name: &str, slot: &Slot| {
        // The name stands in the local header, too; its extra fields are not known yet.
        let header = LOCAL_HEADER + name.len() as u64;
        let end = slot.offset.checked_add(slot.compressed);
        end.and_then(|end| end.checked_add(header))
            .ok_or_else(|| ZipError::Damaged {
                problem: format!("entry {name:?} ends beyond every file"),
            })
    };
    for pair in slots.windows(2) {
        let [(first, slot), (second, next)] = pair else {
            continue;
        };
        if end_of(first, slot)? > next.offset {
            return Err(ZipError::Overlap {
                first: first.clone(),
                second: second.clone(),
            });
        }
    }
    if let Some((name, slot)) = slots.last()
        && end_of(name, slot)? > end
    {
        return Err(ZipError::Damaged {
            problem: format!("entry {name:?} reaches into the central directory"),
        });
    }
    Ok(())
}

/// Sorts by name. Of entries of one name the one that was written last stays, or they are refused.
fn sort(mut slots: Vec<(String, Slot)>, last_wins: bool) -> Result<Vec<(String, Slot)>, ZipError> {
    slots.sort_by(|(a, first), (b, second)| a.cmp(b).then(second.offset.cmp(&first.offset)));
    if !last_wins && let Some(pair) = slots.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(ZipError::Duplicate {
            name: pair[0].0.clone(),
        });
    }
    slots.dedup_by(|later, kept| later.0 == kept.0);
    Ok(slots)
}

/// Checks that the names are those of a tree on every platform.
fn check_names(slots: &[(String, Slot)]) -> Result<(), ZipError> {
    let mut folded: HashMap<String, &str> = HashMap::with_capacity(slots.len());
    let find = |name: &str| {
        slots
            .binary_search_by(|(other, _)| other.as_str().cmp(name))
            .is_ok()
    };
    for (name, _) in slots {
        if let Some(first) = folded.insert(name.to_lowercase(), name) {
            return Err(ZipError::CaseCollision {
                first: first.to_owned(),
                second: name.clone(),
            });
        }
        for (at, _) in name.match_indices('/') {
            if find(&name[..at]) {
                return Err(ZipError::BelowAValue {
                    name: name[..at].to_owned(),
                    below: name.clone(),
                });
            }
        }
    }
    Ok(())
}

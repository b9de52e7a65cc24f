//! Where the fields of a file lie: its messages, section by section, without the data.
//!
//! ```text
//! section 0   "GRIB", discipline, edition, length of the message
//! section 1   centre, reference time
//! section 2   of local use                                   ┐
//! section 3   the grid                             ┐         │
//! section 4   the product: parameter, step, level  │ one     │ several fields of a message
//! section 5   the packing                          │ field   │ share what they do not repeat
//! section 6   the bitmap                           │         │
//! section 7   the data                             ┘         ┘
//! section 8   "7777"
//! ```

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::octets::Octets;
use super::problem::GribProblem;
use crate::SourceError;
use crate::archive::ArchiveFile;

/// How a message begins.
const MAGIC: &[u8; 4] = b"GRIB";
/// How it ends.
const END: &[u8; 4] = b"7777";
/// Bytes of section 0.
const INDICATOR: u64 = 16;
/// Longest section that is held in memory, in bytes: definitions of grids, products and packings.
const MAX_SECTION: u64 = 4 << 20;
/// Bytes between two messages, or before the first one, that are searched for the next.
const MAX_BETWEEN: u64 = 1 << 20;
/// Bytes read at a time, where messages are short, and where they are long.
const AHEAD: (u64, u64) = (256 << 10, 4 << 10);
/// Messages of so many bytes are long.
const LONG: u64 = 128 << 10;

/// One field of a message.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The number of its message, from 1.
    pub(super) message: u64,
    /// The first byte of its message.
    pub(super) offset: u64,
    pub(super) discipline: u8,
    /// Section 1.
    pub(super) identification: Arc<[u8]>,
    /// Section 3.
    pub(super) grid: Arc<[u8]>,
    /// Section 4.
    pub(super) product: Arc<[u8]>,
    /// Section 5.
    pub(super) packing: Arc<[u8]>,
    /// Section 6, which may be that of an earlier field.
    pub(super) bitmap: Bitmap,
    /// Section 7.
    pub(super) data: Range<u64>,
}

/// Where the bitmap of a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bitmap {
    /// All points have values.
    None,
    /// In this section 6.
    At(Range<u64>),
    /// One that the centre has published.
    Predefined(u8),
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) fields: Vec<Field>,
    /// Bytes that belong to no message.
    pub(super) between: u64,
}

/// Finds all fields of a file.
pub(super) async fn scan(file: &ArchiveFile) -> Result<Scanned, SourceError> {
    let mut scanner = Scanner {
        window: Window {
            file,
            start: 0,
            bytes: Bytes::new(),
            ahead: AHEAD.0 / 4,
        },
        shared: HashSet::new(),
        scanned: Scanned::default(),
    };
    let (mut at, mut message) = (0, 0);
    while let Some(begin) = scanner.next_message(at, message).await? {
        scanner.scanned.between += begin - at;
        message += 1;
        at = scanner.message(begin, message).await?;
    }
    scanner.scanned.between += file.size() - at;
    Ok(scanner.scanned)
}

struct Scanner<'f> {
    window: Window<'f>,
    /// Sections that fields share.
    shared: HashSet<Arc<[u8]>>,
    scanned: Scanned,
}

/// The sections of a message that hold for the fields that follow.
#[derive(Default)]
struct ScanState {
    /// The number of the section before.
    after: u8,
    identification: Option<Arc<[u8]>>,
    grid: Option<Arc<[u8]>>,
    product: Option<Arc<[u8]>>,
    packing: Option<Arc<[u8]>>,
    bitmap: Option<Bitmap>,
    /// The last one that was not said to be an earlier one.
    last_bitmap: Option<Range<u64>>,
}

impl Scanner<'_> {
    /// Returns the first byte of the next message, from `at` on.
    async fn next_message(&mut self, at: u64, before: u64) -> Result<Option<u64>, SourceError> {
        let size = self.window.file.size();
        let mut from = at;
        while size.saturating_sub(from) >= MAGIC.len() as u64 {
            if from - at > MAX_BETWEEN {
                let problem = format!(
                    "no message begins within {} MiB from byte {at} on",
                    MAX_BETWEEN >> 20
                );
                return Err(SourceError::damaged(self.window.file.url(), problem));
            }
            let bytes = self.window.some(from, MAGIC.len() as u64).await?;
            let found = bytes.windows(MAGIC.len()).position(|it| it == MAGIC);
            if let Some(found) = found {
                let begin = from + found as u64;
                // Four letters among other bytes need not be a message.
                if begin == at || size - begin >= INDICATOR {
                    return Ok(Some(begin));
                }
            }
            from += (bytes.len() - (MAGIC.len() - 1)) as u64;
        }
        match before {
            0 => Err(SourceError::damaged(
                self.window.file.url(),
                "no GRIB message begins in it",
            )),
            _ => Ok(None),
        }
    }

    /// Reads the message that begins here. Returns its end.
    async fn message(&mut self, begin: u64, number: u64) -> Result<u64, SourceError> {
        let (url, size) = (
            Arc::<str>::from(self.window.file.url()),
            self.window.file.size(),
        );
        let refuse = |problem: GribProblem| SourceError::grib(&url, number, begin, problem);
        if size - begin < INDICATOR {
            let end = begin + INDICATOR;
            return Err(refuse(GribProblem::Truncated { end, size }));
        }
        let head = self.window.get(begin, INDICATOR).await?;
        let head = Octets::new(0, &head);
        let (discipline, edition) = (head.u8(7).map_err(refuse)?, head.u8(8).map_err(refuse)?);
        if edition != 2 {
            return Err(refuse(GribProblem::Edition { edition }));
        }
        let mut length = [0; 8];
        length.copy_from_slice(head.get(9, 8).map_err(refuse)?);
        let length = u64::from_be_bytes(length);
        let end = begin.saturating_add(length);
        if end > size {
            return Err(refuse(GribProblem::Truncated { end, size }));
        }
        if length < INDICATOR + END.len() as u64 {
            return Err(refuse(GribProblem::Length { length }));
        }
        // The next message is read with the end of this one.
        self.window.ahead = match length < LONG {
            true => AHEAD.0,
            false => AHEAD.1,
        };
        let last = end - END.len() as u64;
        let mut state = ScanState::default();
        let mut at = begin + INDICATOR;
        while at < last {
            let room = last - at;
            let header = self.window.get(at, room.min(5)).await?;
            let octets = Octets::new(0, &header);
            let length_of = octets.u32(1).map(u64::from);
            let (Ok(length_of), Ok(section)) = (length_of, octets.u8(5)) else {
                return Err(refuse(GribProblem::Length { length }));
            };
            if header.starts_with(END) {
                return Err(refuse(GribProblem::Length { length }));
            }
            if length_of < 5 || length_of > room {
                return Err(refuse(GribProblem::SectionLength {
                    section,
                    length: length_of,
                    room,
                }));
            }
            let range = at..at + length_of;
            self.section(&mut state, section, range, (discipline, number, begin))
                .await
                .map_err(|stop| match stop {
                    ScanError::Problem(problem) => refuse(problem),
                    ScanError::Source(error) => error,
                })?;
            at += length_of;
        }
        if self.window.get(last, END.len() as u64).await?[..] != *END {
            return Err(refuse(GribProblem::Length { length }));
        }
        match state.after {
            7 => Ok(end),
            after => Err(refuse(GribProblem::Order { section: 8, after })),
        }
    }

    async fn section(
        &mut self,
        state: &mut ScanState,
        section: u8,
        range: Range<u64>,
        (discipline, message, offset): (u8, u64, u64),
    ) -> Result<(), ScanError> {
        let follows = match section {
            1 => state.after == 0,
            2 => matches!(state.after, 1 | 7),
            3 => matches!(state.after, 1 | 2 | 7),
            // A field that repeats no grid has that of the field before.
            4 => matches!(state.after, 3 | 7),
            5..=7 => state.after == section - 1,
            _ => false,
        };
        if !follows {
            let after = state.after;
            return Err(GribProblem::Order { section, after }.into());
        }
        state.after = section;
        match section {
            1 => state.identification = Some(self.shared(section, range).await?),
            3 => state.grid = Some(self.shared(section, range).await?),
            4 => state.product = Some(self.shared(section, range).await?),
            5 => state.packing = Some(self.shared(section, range).await?),
            6 => {
                let head = self
                    .window
                    .get(range.start, (range.end - range.start).min(6))
                    .await?;
                let found = match Octets::new(6, &head).u8(6)? {
                    0 => {
                        state.last_bitmap = Some(range.clone());
                        Bitmap::At(range)
                    }
                    255 => Bitmap::None,
                    254 => match &state.last_bitmap {
                        Some(range) => Bitmap::At(range.clone()),
                        None => {
                            let problem = "it repeats a bitmap, and no field before has one";
                            return Err(GribProblem::damaged(6, problem).into());
                        }
                    },
                    predefined => Bitmap::Predefined(predefined),
                };
                state.bitmap = Some(found);
            }
            7 => {
                let ScanState {
                    identification: Some(identification),
                    grid: Some(grid),
                    product: Some(product),
                    packing: Some(packing),
                    bitmap: Some(bitmap),
                    ..
                } = state
                else {
                    return Err(GribProblem::Order { section, after: 6 }.into());
                };
                self.scanned.fields.push(Field {
                    message,
                    offset,
                    discipline,
                    identification: Arc::clone(identification),
                    grid: Arc::clone(grid),
                    product: Arc::clone(product),
                    packing: Arc::clone(packing),
                    bitmap: bitmap.clone(),
                    data: range,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a section, and holds equal ones once.
    async fn shared(&mut self, section: u8, range: Range<u64>) -> Result<Arc<[u8]>, ScanError> {
        let length = range.end - range.start;
        if length > MAX_SECTION {
            let room = MAX_SECTION;
            return Err(GribProblem::SectionLength {
                section,
                length,
                room,
            }
            .into());
        }
        let bytes = self.window.get(range.start, length).await?;
        if let Some(known) = self.shared.get(&bytes[..]) {
            return Ok(Arc::clone(known));
        }
        let shared = Arc::<[u8]>::from(&bytes[..]);
        self.shared.insert(Arc::clone(&shared));
        Ok(shared)
    }
}

enum ScanError {
    Problem(GribProblem),
    Source(SourceError),
}

impl From<GribProblem> for ScanError {
    fn from(problem: GribProblem) -> Self {
        Self::Problem(problem)
    }
}

impl From<SourceError> for ScanError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// A part of the file that was read last.
struct Window<'f> {
    file: &'f ArchiveFile,
    start: u64,
    bytes: Bytes,
    /// Bytes that are read at least, as far as the file has them.
    ahead: u64,
}

impl Window<'_> {
    /// Returns so many bytes, which the file must have.
    async fn get(&mut self, at: u64, length: u64) -> Result<Bytes, SourceError> {
        let mut bytes = self.some(at, length).await?;
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    /// Returns so many bytes, and all behind them that are in memory.
    async fn some(&mut self, at: u64, length: u64) -> Result<Bytes, SourceError> {
        let end = self.start + self.bytes.len() as u64;
        if at < self.start || at.saturating_add(length) > end {
            let end = at.saturating_add(length.max(self.ahead));
            let end = end.min(self.file.size()).max(at.saturating_add(length));
            self.bytes = self.file.read(at..end).await?;
            self.start = at;
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(from.min(self.bytes.len())..))
    }
}

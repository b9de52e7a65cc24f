//! Locations that are compressed one by one, with a dictionary that their manifest holds (spec 2, §6).
//!
//! Virtual chunks of one data set have locations that differ in a few letters. A dictionary that was trained with some of
//! them holds what they share, and each location is then a zstd frame of a few bytes, which can be read by itself.

use std::fmt;

use bytes::Bytes;
use zstd::zstd_safe::{self, CCtx, CDict, DCtx, DDict};

use crate::debug::debug_struct;
use crate::error::LocationError;

/// Longest location that is compressed, in bytes: readers make no more room.
const MAX_LOCATION: usize = 1024;
/// Longest frame that is read. No frame of a location needs more, however it was made.
pub(super) const MAX_FRAME: usize = 4096;
/// Samples that are shorter than this do not say much; if half of them are, there is no dictionary.
const MIN_SAMPLE: usize = 8;

/// When a dictionary is made, and how: `manifest.virtual_chunk_location_compression` of the configuration (spec 2, §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LocationCompression {
    /// Fewest virtual refs of a manifest that has a dictionary. Default: 1000.
    pub min_num_chunks: u16,
    /// Most locations that a dictionary is trained with. Default: 100.
    pub dictionary_max_training_samples: u16,
    /// Largest dictionary in bytes. Default: 2048.
    pub dictionary_max_size_bytes: u32,
    /// Level of zstd for the locations. Default: 3.
    pub compression_level: i32,
}

impl Default for LocationCompression {
    fn default() -> Self {
        Self {
            min_num_chunks: 1000,
            dictionary_max_training_samples: 100,
            dictionary_max_size_bytes: 2048,
            compression_level: 3,
        }
    }
}

/// A zstd dictionary for the locations of one manifest.
#[derive(Clone, PartialEq, Eq)]
pub struct LocationDictionary(Bytes);

impl LocationDictionary {
    /// Wraps the bytes of a dictionary.
    ///
    /// # Errors
    /// [`LocationError::Dictionary`] if they are none that zstd can use.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, LocationError> {
        let dictionary = Self(bytes);
        dictionary.reader().map(|_| dictionary)
    }

    /// Trains a dictionary with the locations of a manifest, one for each of its virtual refs; none if there are too few, if
    /// they are too short or too much alike, or if they have nothing in common.
    ///
    /// The samples lie evenly among the locations, so that the same locations give the same dictionary.
    #[must_use]
    pub fn train<'a>(
        locations: impl ExactSizeIterator<Item = &'a str>,
        settings: &LocationCompression,
    ) -> Option<Self> {
        let (all, most) = (
            locations.len(),
            usize::from(settings.dictionary_max_training_samples),
        );
        if all < usize::from(settings.min_num_chunks) || all == 0 || most == 0 {
            return None;
        }
        let step = all.div_ceil(most);
        let samples = locations
            .step_by(step)
            .filter(|it| it.len() <= MAX_LOCATION);
        let (mut text, mut sizes, mut short) = (Vec::new(), Vec::new(), 0);
        for sample in samples {
            text.extend_from_slice(sample.as_bytes());
            sizes.push(sample.len());
            short += usize::from(sample.len() < MIN_SAMPLE);
        }
        if 2 * short >= sizes.len() {
            return None;
        }
        let most = usize::try_from(settings.dictionary_max_size_bytes).ok()?;
        // More than the samples themselves is no use, and a setting must not claim memory.
        let mut bytes = Vec::with_capacity(most.min(text.len().max(1024)));
        zstd_safe::train_from_buffer(&mut bytes, &text, &sizes).ok()?;
        Self::from_bytes(bytes.into()).ok()
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns what decompresses locations.
    ///
    /// # Errors
    /// [`LocationError::Dictionary`].
    pub fn reader(&self) -> Result<LocationReader, LocationError> {
        LocationReader::new(&self.0)
    }

    /// Returns what compresses locations.
    ///
    /// # Errors
    /// [`LocationError::Dictionary`].
    pub fn writer(&self, level: i32) -> Result<LocationWriter, LocationError> {
        let level = level.clamp(zstd_safe::min_c_level(), zstd_safe::max_c_level());
        Ok(LocationWriter {
            context: CCtx::try_create().ok_or(LocationError::Dictionary)?,
            dictionary: CDict::try_create(&self.0, level).ok_or(LocationError::Dictionary)?,
        })
    }
}

debug_struct!(LocationDictionary, it => {
    len: it.0.len(),
});

/// Decompresses locations, one after another.
pub struct LocationReader {
    context: DCtx<'static>,
    dictionary: DDict<'static>,
    /// Room for one location.
    room: Vec<u8>,
}

impl LocationReader {
    pub(super) fn new(dictionary: &[u8]) -> Result<Self, LocationError> {
        Ok(Self {
            context: DCtx::try_create().ok_or(LocationError::Dictionary)?,
            dictionary: DDict::try_create(dictionary).ok_or(LocationError::Dictionary)?,
            room: Vec::with_capacity(MAX_LOCATION),
        })
    }

    /// Returns the location that is in a frame, of at most 1024 bytes.
    ///
    /// # Errors
    /// [`LocationError::Frame`] if it is not exactly one frame made with this dictionary, or holds more;
    /// [`LocationError::TooLong`], [`LocationError::Utf8`].
    pub fn read(&mut self, frame: &[u8]) -> Result<&str, LocationError> {
        let wrong = |code| LocationError::Frame(zstd_safe::get_error_name(code));
        if frame.len() > MAX_FRAME {
            return Err(LocationError::TooLong { len: frame.len() });
        }
        let len = zstd_safe::find_frame_compressed_size(frame).map_err(wrong)?;
        if len != frame.len() {
            return Err(LocationError::Frame("bytes follow the frame"));
        }
        self.room.clear();
        self.context
            .decompress_using_ddict(&mut self.room, frame, &self.dictionary)
            .map_err(wrong)?;
        str::from_utf8(&self.room).map_err(|_| LocationError::Utf8)
    }
}

impl fmt::Debug for LocationReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocationReader").finish_non_exhaustive()
    }
}

/// Compresses locations, one after another.
pub struct LocationWriter {
    context: CCtx<'static>,
    dictionary: CDict<'static>,
}

impl LocationWriter {
    /// Returns a location as a frame; none if it is too long for readers, or gets no shorter: then it is written as it is.
    pub fn write(&mut self, location: &str) -> Option<Vec<u8>> {
        if location.len() > MAX_LOCATION {
            return None;
        }
        let mut frame = Vec::with_capacity(zstd_safe::compress_bound(location.len()));
        let text = location.as_bytes();
        let written = self
            .context
            .compress_using_cdict(&mut frame, text, &self.dictionary);
        written.ok()?;
        (frame.len() < location.len()).then_some(frame)
    }
}

impl fmt::Debug for LocationWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocationWriter").finish_non_exhaustive()
    }
}

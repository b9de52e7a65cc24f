//! The common form of binary files: a 39-byte header, then one compressed flatbuffer.
//!
//! | offset | size | field | value |
//! |---|---|---|---|
//! | 0 | 12 | magic | UTF-8 `ICE🧊CHUNK` |
//! | 12 | 24 | implementation | text, filled with spaces; informative |
//! | 36 | 1 | spec version | 1, 2 |
//! | 37 | 1 | file type | 1 snapshot, 2 manifest, 4 transaction log, 6 repo info |
//! | 38 | 1 | compression | 0 none, 1 zstd |
//! | 39 | … | body | flatbuffer with the identifier `Ichk` |

use bytes::Bytes;

use crate::compression;
use crate::error::{FormatError, FormatFile};

pub use crate::file::{FileKind, HEADER_LEN, SpecVersion};

/// The first bytes of every binary file.
pub const MAGIC: [u8; 12] = *b"ICE\xf0\x9f\xa7\x8aCHUNK";
/// Identifier at bytes 4 to 8 of every flatbuffer. Written, not checked.
pub(crate) const IDENTIFIER: &str = "Ichk";
/// The limit of a body in bytes, which stays below it: flatbuffer offsets are signed 32-bit numbers.
pub const MAX_BODY_LEN: u64 = 1 << 31;

const IMPLEMENTATION: std::ops::Range<usize> = 12..36;

/// The compression of a body, byte 38 of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As it is. The format defines it, no library writes it; it is read here, never written.
    None = 0,
    /// One zstd frame.
    Zstd = 1,
}

/// The first 39 bytes of a binary file.
///
/// ```
/// use icefield_format::{FileKind, FormatFile, Header, Writer, initial_snapshot};
///
/// # fn main() -> Result<(), icefield_format::FormatError> {
/// let file = initial_snapshot(0, &Writer::default());
/// let header = Header::decode(&file, FormatFile::Unnamed)?;
/// assert_eq!(header.kind, FileKind::Snapshot);
/// assert!(header.implementation().starts_with("icefield-"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    implementation: [u8; 24],
    /// The version of the format.
    pub spec_version: SpecVersion,
    /// The kind of file.
    pub kind: FileKind,
    /// The compression of the body.
    pub compression: Compression,
}

impl Header {
    /// Reads the header of a file; `file` only names it in errors.
    ///
    /// # Errors
    /// - `Empty`, `Truncated`, `WrongMagic`: the bytes are no file of the format.
    /// - `NewerSpecVersion`: a later program wrote it; use that program.
    /// - `InvalidSpecVersion`, `UnknownKind`, `UnknownCompression`: the header is damaged.
    pub fn decode(bytes: &[u8], file: FormatFile) -> Result<Self, FormatError> {
        if bytes.is_empty() {
            return Err(FormatError::Empty { file });
        }
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(magic) {
            return Err(FormatError::WrongMagic { file });
        }
        let Some((header, _)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(FormatError::Truncated {
                file,
                needed: HEADER_LEN,
                found: bytes.len(),
            });
        };
        // The version first: in a later one the other bytes may mean something else.
        let spec_version = match header[36] {
            0 => return Err(FormatError::InvalidSpecVersion { file, found: 0 }),
            1 => SpecVersion::V1,
            2 => SpecVersion::V2,
            found => {
                let supported = SpecVersion::LATEST;
                return Err(FormatError::NewerSpecVersion {
                    file,
                    found,
                    supported,
                });
            }
        };
        let kind = FileKind::from_byte(header[37]).ok_or(FormatError::UnknownKind {
            file,
            found: header[37],
        })?;
        let compression = match header[38] {
            0 => Compression::None,
            1 => Compression::Zstd,
            found => return Err(FormatError::UnknownCompression { file, found }),
        };
        let mut implementation = [0; 24];
        implementation.copy_from_slice(&header[IMPLEMENTATION]);
        Ok(Self {
            implementation,
            spec_version,
            kind,
            compression,
        })
    }

    /// Returns the name of the writing library, without the spaces that fill it up.
    #[must_use]
    pub fn implementation(&self) -> String {
        String::from_utf8_lossy(&self.implementation)
            .trim_end_matches(' ')
            .to_owned()
    }
}

/// The limits within which a reader decompresses files, against hostile ones.
///
/// A body may grow to [`ratio_floor`](Self::ratio_floor) whatever its compressed size, beyond that to
/// [`max_ratio`](Self::max_ratio) times the compressed size, and never past
/// [`max_decompressed`](Self::max_decompressed). Usual manifests shrink to a sixth or a twenty-fifth, but one of
/// constant inline chunks to a thousandth; zstd itself could claim thirty thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// The largest body in bytes. Default: 2 GiB, the format's own limit.
    pub max_decompressed: u64,
    /// The largest number of decompressed bytes per compressed byte. Default: 1024.
    pub max_ratio: u64,
    /// The number of decompressed bytes that are allowed at any ratio. Default: 256 MiB.
    pub ratio_floor: u64,
    /// The memory, in bytes, that the metadata of one snapshot may take once it is decoded: its texts, and 64 bytes for
    /// each value and each key of an object. Default: 64 MiB.
    pub max_metadata: u64,
    /// The latest version of snapshots, manifests and transaction logs that is read. Default: 1, since a repository of
    /// spec 1 has no files of a later one: there a snapshot without a parent would pass for the first.
    pub latest: SpecVersion,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            max_decompressed: MAX_BODY_LEN,
            max_ratio: 1024,
            ratio_floor: 256 << 20,
            max_metadata: 64 << 20,
            latest: SpecVersion::V1,
        }
    }
}

impl DecodeLimits {
    /// Returns the default limits for a repository of a spec version.
    #[must_use]
    pub fn up_to(latest: SpecVersion) -> Self {
        Self {
            latest,
            ..Self::default()
        }
    }

    /// Returns the size in bytes of the largest file whose body keeps to the hard limit: compression adds at most a
    /// 256th to a body, and a few bytes. A larger object need not be read.
    #[must_use]
    pub fn max_file(&self) -> u64 {
        const AROUND: u64 = 64 << 10;
        let body = self.max_decompressed.min(MAX_BODY_LEN);
        body + (body >> 8) + AROUND
    }

    /// Returns the number of bytes that a body of `compressed` bytes may become.
    #[must_use]
    pub fn for_compressed(&self, compressed: usize) -> u64 {
        let by_ratio = (compressed as u64)
            .saturating_mul(self.max_ratio)
            .max(self.ratio_floor);
        by_ratio.min(self.max_decompressed).min(MAX_BODY_LEN)
    }
}

/// The name and the compression with which files are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Writer {
    /// The name of the writing program; the first 24 bytes go into each header. Default: `icefield-VERSION`.
    pub implementation: String,
    /// The level of zstd; values outside its range are taken as the nearest inside. Default: none, which means 1 for
    /// manifests and transaction logs, on whose ids and coordinates a higher one takes time and saves nothing, and 3
    /// for all other files.
    pub compression_level: Option<i32>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            implementation: concat!("icefield-", env!("CARGO_PKG_VERSION")).to_owned(),
            compression_level: None,
        }
    }
}

impl Writer {
    /// Sets the level of zstd.
    #[must_use]
    pub fn with_compression_level(self, level: impl Into<i32>) -> Self {
        Self {
            compression_level: Some(level.into()),
            ..self
        }
    }

    /// Returns the level of zstd for files of a kind.
    #[must_use]
    pub fn level(&self, kind: FileKind) -> i32 {
        self.compression_level.unwrap_or(match kind {
            FileKind::Manifest | FileKind::TransactionLog | FileKind::RepoInfo => 1,
            _ => 3,
        })
    }

    /// Returns the user metadata that the format puts on objects of spec 1 of this kind, for information, where a store
    /// keeps such.
    #[must_use]
    pub fn object_metadata(&self, kind: FileKind) -> [(&'static str, String); 4] {
        self.object_metadata_in(SpecVersion::V1, kind)
    }

    /// Returns the same for objects of a spec version.
    #[must_use]
    pub fn object_metadata_in(
        &self,
        version: SpecVersion,
        kind: FileKind,
    ) -> [(&'static str, String); 4] {
        [
            ("ic_spec_ver", version.to_string()),
            ("ic_client", self.implementation.clone()),
            ("ic_file_type", kind.metadata_name().to_owned()),
            ("ic_comp_alg", "zstd".to_owned()),
        ]
    }

    fn header(&self, version: SpecVersion, kind: FileKind) -> [u8; HEADER_LEN] {
        let mut header = [b' '; HEADER_LEN];
        header[..MAGIC.len()].copy_from_slice(&MAGIC);
        let mut end = self.implementation.len().min(IMPLEMENTATION.len());
        while !self.implementation.is_char_boundary(end) {
            end -= 1;
        }
        header[IMPLEMENTATION][..end].copy_from_slice(&self.implementation.as_bytes()[..end]);
        header[36] = version as u8;
        header[37] = kind as u8;
        header[38] = Compression::Zstd as u8;
        header
    }

    /// Makes a whole file of a finished flatbuffer.
    pub(crate) fn seal(
        &self,
        file: FormatFile,
        version: SpecVersion,
        kind: FileKind,
        body: &[u8],
    ) -> Result<Bytes, FormatError> {
        if body.len() as u64 >= MAX_BODY_LEN {
            return Err(FormatError::TooLarge {
                file,
                limit: MAX_BODY_LEN,
            });
        }
        let header = self.header(version, kind);
        let sealed = compression::compress_after(&header, body, self.level(kind), file)?;
        // An acknowledged file must be readable.
        let limit = DecodeLimits::default().for_compressed(sealed.len() - HEADER_LEN);
        if body.len() as u64 > limit {
            return Err(FormatError::TooLarge { file, limit });
        }
        Ok(Bytes::from(sealed))
    }
}

/// Checks the header and returns the version of the file with its decompressed body.
pub(crate) fn open(
    bytes: &[u8],
    file: FormatFile,
    expected: FileKind,
    limits: &DecodeLimits,
) -> Result<(SpecVersion, Bytes), FormatError> {
    let header = Header::decode(bytes, file)?;
    if header.spec_version > limits.latest && expected != FileKind::RepoInfo {
        let found = header.spec_version as u8;
        return Err(FormatError::NewerSpecVersion {
            file,
            found,
            supported: limits.latest,
        });
    }
    if header.kind != expected {
        return Err(FormatError::WrongKind {
            file,
            expected,
            found: header.kind,
        });
    }
    let body = &bytes[HEADER_LEN..];
    let limit = limits.for_compressed(body.len());
    let body = match header.compression {
        Compression::Zstd => compression::decompress(body, limit, file)?,
        Compression::None if body.len() as u64 > limit => {
            return Err(FormatError::TooLarge { file, limit });
        }
        Compression::None => {
            let mut copy = compression::buffer(body.len(), file)?;
            copy.extend_from_slice(body);
            copy
        }
    };
    if body.len() as u64 >= MAX_BODY_LEN {
        return Err(FormatError::TooLarge {
            file,
            limit: MAX_BODY_LEN,
        });
    }
    Ok((header.spec_version, Bytes::from(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FormatFile = FormatFile::Snapshot(crate::SnapshotId::INITIAL);

    fn sealed(body: &[u8]) -> Vec<u8> {
        Writer::default()
            .seal(FILE, SpecVersion::V1, FileKind::Snapshot, body)
            .unwrap()
            .to_vec()
    }

    fn open_snapshot(bytes: &[u8]) -> Result<Bytes, FormatError> {
        let opened = open(bytes, FILE, FileKind::Snapshot, &DecodeLimits::default())?;
        Ok(opened.1)
    }

    #[test]
    fn sealing_and_opening_are_inverse() {
        for body in [&b""[..], b"x", &[7; 300_000]] {
            assert_eq!(open_snapshot(&sealed(body)).unwrap(), body);
        }
    }

    #[test]
    fn what_a_reader_would_refuse_is_not_sealed() {
        let seal = |len: usize| {
            let writer = Writer::default().with_compression_level(1);
            writer.seal(FILE, SpecVersion::V1, FileKind::Snapshot, &vec![0; len])
        };
        let most = DecodeLimits::default().ratio_floor as usize;
        assert_eq!(open_snapshot(&seal(most).unwrap()).unwrap().len(), most);
        let error = seal(most + 1).unwrap_err();
        assert!(matches!(error, FormatError::TooLarge { limit, .. } if limit == most as u64));
    }

    #[test]
    fn header_is_39_bytes_with_spaces() {
        let writer = Writer {
            implementation: "ïcefield with a long näme".to_owned(),
            ..Writer::default()
        };
        let seal = |version| writer.seal(FILE, version, FileKind::Manifest, b"").unwrap();
        let file = seal(SpecVersion::V1);
        assert_eq!(seal(SpecVersion::V2)[36], 2);
        assert_eq!(&file[..12], "ICE🧊CHUNK".as_bytes());
        assert_eq!(&file[12..36], "ïcefield with a long n ".as_bytes());
        assert_eq!(&file[36..39], [1, 2, 1]);
        let header = Header::decode(&file, FILE).unwrap();
        assert_eq!(header.implementation(), "ïcefield with a long n");
    }

    #[test]
    fn frame_has_neither_size_nor_checksum() {
        let descriptor = sealed(b"some body")[HEADER_LEN + 4];
        assert_eq!(
            descriptor, 0,
            "no content size, no checksum, no dictionary, no single segment"
        );
    }

    #[test]
    fn d44_zero_length_object() {
        assert!(matches!(open_snapshot(b""), Err(FormatError::Empty { .. })));
    }

    #[test]
    fn d47_foreign_headers_are_told_apart() {
        let good = sealed(b"body");
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            open_snapshot(&bytes).unwrap_err()
        };
        assert!(matches!(with(3, 0), FormatError::WrongMagic { .. }));
        assert!(matches!(
            with(36, 0),
            FormatError::InvalidSpecVersion { found: 0, .. }
        ));
        assert!(matches!(
            with(36, 2),
            FormatError::NewerSpecVersion {
                found: 2,
                supported: SpecVersion::V1,
                ..
            }
        ));
        assert!(matches!(
            with(36, 3),
            FormatError::NewerSpecVersion { found: 3, .. }
        ));
        assert!(with(36, 2).is_unsupported() && !with(37, 2).is_unsupported());
        let other = with(37, 2);
        assert!(matches!(
            other,
            FormatError::WrongKind {
                found: FileKind::Manifest,
                ..
            }
        ));
        assert_eq!(
            other.to_string(),
            "snapshot 1CECHNKREP0F1RSTCMT0 is a manifest by its header"
        );
        for unused in [0, 3, 5, 7] {
            assert!(matches!(with(37, unused), FormatError::UnknownKind { .. }));
        }
        assert!(matches!(
            with(38, 2),
            FormatError::UnknownCompression { found: 2, .. }
        ));
    }

    #[test]
    fn limits_grow_with_the_compressed_size() {
        let limits = DecodeLimits::default();
        assert_eq!(limits.for_compressed(25_000), 256 << 20);
        assert_eq!(limits.for_compressed(1 << 20), 1 << 30);
        assert_eq!(limits.for_compressed(usize::MAX), MAX_BODY_LEN);
    }
}

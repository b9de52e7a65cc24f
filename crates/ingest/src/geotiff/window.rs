//! Reads the structures of a file by ranges, in the byte order of its header.

use bytes::Bytes;

use crate::{ArchiveFile, SourceError};

/// Bytes that are read at a time: a cloud-optimised file has all its structures in the first ones.
const WINDOW: u64 = 64 << 10;

/// A file, and the part of it that was read last.
pub(super) struct Window {
    file: ArchiveFile,
    order: Order,
    start: u64,
    bytes: Bytes,
}

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

impl Window {
    pub(super) fn new(file: ArchiveFile) -> Self {
        Self {
            file,
            order: Order::Little,
            start: 0,
            bytes: Bytes::new(),
        }
    }

    pub(super) fn file(&self) -> &ArchiveFile {
        &self.file
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// Reads so many bytes.
    ///
    /// # Errors
    /// If the file has fewer, and the errors of the store.
    pub(super) async fn read(&mut self, start: u64, length: u64) -> Result<Bytes, SourceError> {
        if let Some(found) = self.held(start, length) {
            return Ok(found);
        }
        let end = start.saturating_add(length);
        let wanted = end
            .max(start.saturating_add(WINDOW))
            .min(self.file.size())
            .max(end);
        let bytes = self.file.read(start..wanted).await?;
        if length > WINDOW {
            return Ok(bytes);
        }
        (self.start, self.bytes) = (start, bytes);
        self.held(start, length)
            .ok_or_else(|| SourceError::Changed {
                name: self.file.url().to_owned(),
            })
    }

    fn held(&self, start: u64, length: u64) -> Option<Bytes> {
        let from = usize::try_from(start.checked_sub(self.start)?).ok()?;
        let end = from.checked_add(usize::try_from(length).ok()?)?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(from..end))
    }

    pub(super) async fn u16(&mut self, at: u64) -> Result<u16, SourceError> {
        let bytes = self.read(at, 2).await?;
        Ok(self.order.u16(fixed(&bytes)))
    }

    pub(super) async fn u32(&mut self, at: u64) -> Result<u32, SourceError> {
        let bytes = self.read(at, 4).await?;
        Ok(self.order.u32(fixed(&bytes)))
    }

    pub(super) async fn u64(&mut self, at: u64) -> Result<u64, SourceError> {
        let bytes = self.read(at, 8).await?;
        Ok(self.order.u64(fixed(&bytes)))
    }

    pub(super) fn damaged(&self, problem: impl Into<String>) -> SourceError {
        SourceError::damaged(self.file.url(), problem)
    }
}

/// Returns the first bytes; zeros behind the end.
pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut fixed = [0; N];
    for (to, from) in fixed.iter_mut().zip(bytes) {
        *to = *from;
    }
    fixed
}

//! The file of a bundle as it is written and read: in blocks of a megabyte, off the threads that serve the network, and
//! digested on the way.

use std::io::{self, Read, Write};

use icefield_storage::Bytes;
use sha2::{Digest, Sha256};

use super::seals::Seal;
use super::tar::{self, BLOCK, Pax};
use crate::copy::CopyError;

/// Bytes that are written or read at a time.
const PIECE: usize = 1 << 20;

/// Runs a blocking operation on what it needs, and gives that back.
async fn blocking<T: Send + 'static, R: Send + 'static>(
    action: &'static str,
    mut with: T,
    work: impl FnOnce(&mut T) -> io::Result<R> + Send + 'static,
) -> Result<(T, R), CopyError> {
    let done = tokio::task::spawn_blocking(move || work(&mut with).map(|result| (with, result)));
    let done = done
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|source| CopyError::File { action, source })
}

/// A bundle being written.
pub(crate) struct Output<W> {
    writer: Option<W>,
    buffer: Vec<u8>,
    digest: Sha256,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

impl<W: Write + Send + 'static> Output<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self {
            writer: Some(writer),
            buffer: Vec::with_capacity(PIECE),
            digest: Sha256::new(),
            objects: 0,
            bytes: 0,
        }
    }

    async fn flush(&mut self, last: bool) -> Result<(), CopyError> {
        let Some(writer) = self.writer.take() else {
            let source = io::Error::other("an earlier write failed");
            return Err(CopyError::File {
                action: "write",
                source,
            });
        };
        let buffer = std::mem::take(&mut self.buffer);
        let state = (writer, buffer);
        let written = blocking("write", state, move |(writer, buffer)| {
            writer.write_all(buffer)?;
            buffer.clear();
            match last {
                true => writer.flush(),
                false => Ok(()),
            }
        });
        let ((writer, buffer), ()) = written.await?;
        (self.writer, self.buffer) = (Some(writer), buffer);
        Ok(())
    }

    /// Writes bytes of a header or of contents.
    async fn push(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        self.digest.update(bytes);
        for piece in bytes.chunks(PIECE) {
            if self.buffer.len() + piece.len() > PIECE {
                self.flush(false).await?;
            }
            self.buffer.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Begins an entry: so many bytes of contents follow.
    pub(crate) async fn begin(&mut self, name: &str, size: u64) -> Result<(), CopyError> {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.push(&tar::header(name, size)).await
    }

    /// Writes some of the contents.
    pub(crate) async fn contents(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        self.push(bytes).await
    }

    /// Ends an entry of so many bytes.
    pub(crate) async fn end(&mut self, size: u64) -> Result<(), CopyError> {
        self.push(&[0; BLOCK][..tar::padding(size)]).await
    }

    /// Writes a whole entry.
    pub(crate) async fn entry(&mut self, name: &str, bytes: &[u8]) -> Result<(), CopyError> {
        let size = bytes.len() as u64;
        self.begin(name, size).await?;
        self.contents(bytes).await?;
        self.end(size).await
    }

    /// Returns the digest of all that was written so far.
    pub(crate) fn digest(&self) -> String {
        hex(&self.digest.clone().finalize())
    }

    /// Ends the file and gives the writer back.
    pub(crate) async fn finish(mut self) -> Result<W, CopyError> {
        self.push(&[0; 2 * BLOCK]).await?;
        self.flush(true).await?;
        self.writer.ok_or_else(|| CopyError::File {
            action: "write",
            source: io::Error::other("an earlier write failed"),
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One entry of a bundle, whose contents are yet to be read.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// Of all that came before it.
    pub(crate) digest_before: String,
}

/// A bundle being read.
pub(crate) struct Input<R> {
    reader: Option<R>,
    buffer: Bytes,
    digest: Sha256,
    /// Bytes of the present entry that are yet to be read, and those that fill it up.
    left: u64,
    fill: usize,
}

pub(crate) fn bad(problem: impl Into<String>) -> CopyError {
    CopyError::BadBundle {
        problem: problem.into(),
    }
}

impl<R: Read + Send + 'static> Input<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader: Some(reader),
            buffer: Bytes::new(),
            digest: Sha256::new(),
            left: 0,
            fill: 0,
        }
    }

    /// Reads more, if all that was read is used up; false at the end of the file.
    async fn fill(&mut self) -> Result<bool, CopyError> {
        if !self.buffer.is_empty() {
            return Ok(true);
        }
        let Some(reader) = self.reader.take() else {
            return Err(bad("an earlier read failed"));
        };
        let (reader, bytes) = blocking("read", reader, |reader| {
            let mut bytes = Vec::with_capacity(PIECE);
            reader.by_ref().take(PIECE as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
        .await?;
        self.reader = Some(reader);
        self.buffer = bytes.into();
        Ok(!self.buffer.is_empty())
    }

    /// Reads some bytes, at least one and at most `most`.
    async fn some(&mut self, most: u64) -> Result<Bytes, CopyError> {
        if !self.fill().await? {
            return Err(bad("it ends too early"));
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let bytes = self.buffer.split_to(most.min(self.buffer.len()));
        self.digest.update(&bytes);
        Ok(bytes)
    }

    async fn exactly(&mut self, length: usize) -> Result<Vec<u8>, CopyError> {
        // Memory is taken as bytes come, not as a header promises them.
        let mut bytes = Vec::with_capacity(length.min(PIECE));
        while bytes.len() < length {
            let more = self.some((length - bytes.len()) as u64).await?;
            bytes.extend_from_slice(&more);
        }
        Ok(bytes)
    }

    async fn block(&mut self) -> Result<[u8; BLOCK], CopyError> {
        let bytes = self.exactly(BLOCK).await?;
        bytes.try_into().map_err(|_| bad("it ends too early"))
    }

    /// Begins the next entry, passing over what is left of the present one; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Entry>, CopyError> {
        while self.part().await?.is_some() {}
        let digest_before = hex(&self.digest.clone().finalize());
        let mut pax = None;
        loop {
            let block = self.block().await?;
            let Some(block) = tar::parse(&block).map_err(bad)? else {
                return match pax {
                    None => Ok(None),
                    Some(_) => Err(bad("a pax header belongs to nothing")),
                };
            };
            match (block.kind, &pax) {
                (b'x', None) if block.size <= tar::MAX_PAX => {
                    let bytes = self.exactly(block.size as usize).await?;
                    self.exactly(tar::padding(block.size)).await?;
                    pax = Some(tar::parse_pax(&bytes).map_err(bad)?);
                }
                (b'0', _) => {
                    let Pax { path, size } = pax.unwrap_or_default();
                    let entry = Entry {
                        name: path.unwrap_or(block.name),
                        size: size.unwrap_or(block.size),
                        digest_before,
                    };
                    (self.left, self.fill) = (entry.size, tar::padding(entry.size));
                    return Ok(Some(entry));
                }
                _ => return Err(bad(format!("{:?} is no plain file", block.name))),
            }
        }
    }

    /// Reads some of the contents of the present entry; none at its end.
    pub(crate) async fn part(&mut self) -> Result<Option<Bytes>, CopyError> {
        if self.left > 0 {
            let bytes = self.some(self.left).await?;
            self.left -= bytes.len() as u64;
            return Ok(Some(bytes));
        }
        let fill = std::mem::take(&mut self.fill);
        if self.exactly(fill).await?.iter().any(|byte| *byte != 0) {
            return Err(bad("there is something between two entries"));
        }
        Ok(None)
    }

    /// Passes over what is left of the contents of the present entry.
    pub(crate) async fn pass(&mut self) -> Result<(), CopyError> {
        while self.left > 0 {
            self.part().await?;
        }
        Ok(())
    }

    /// Returns how many bytes of the contents of the present entry are yet to be read.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Returns what tells the file from any other up to here, where the contents of an entry end.
    pub(crate) fn seal(&self) -> Seal {
        debug_assert_eq!(self.left, 0, "BUG: a seal is put at the end of an entry");
        let digest = self.digest.clone().finalize();
        let mut seal = [0; size_of::<Seal>()];
        seal.copy_from_slice(&digest[..size_of::<Seal>()]);
        seal
    }

    /// Reads all contents of the present entry, at most so many bytes.
    pub(crate) async fn whole(&mut self, entry: &Entry, most: u64) -> Result<Bytes, CopyError> {
        if entry.size > most {
            return Err(bad(format!(
                "{} has {} bytes, more than the limit of {most}",
                entry.name, entry.size
            )));
        }
        if self.left == 0 {
            return Ok(Bytes::new());
        }
        let first = self.part().await?.unwrap_or_default();
        if self.left == 0 {
            return Ok(first);
        }
        let mut bytes = first.to_vec();
        while self.left > 0 {
            bytes.extend_from_slice(&self.part().await?.unwrap_or_default());
        }
        Ok(bytes.into())
    }

    /// Reads to the end of the file, after the first block of zeros: a second one, and zeros at most.
    pub(crate) async fn rest(&mut self) -> Result<(), CopyError> {
        if self.block().await? != [0; BLOCK] {
            return Err(bad("there is something behind its end"));
        }
        while self.fill().await? {
            let bytes = std::mem::take(&mut self.buffer);
            if bytes.iter().any(|byte| *byte != 0) {
                return Err(bad("there is something behind its end"));
            }
        }
        Ok(())
    }
}

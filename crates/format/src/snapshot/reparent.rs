//! Giving a stored snapshot another parent.

use bytes::Bytes;

use super::Snapshot;
use crate::compression;
use crate::envelope::{Compression, DecodeLimits, FileKind, HEADER_LEN, Header, Writer};
use crate::error::{FormatError, FormatFile};
use crate::id::{OBJECT_ID_LEN, SnapshotId};

impl Snapshot {
    /// Returns the file of a snapshot with another parent, `None` if the snapshot has no parent to replace.
    ///
    /// The twelve bytes of the parent's id are replaced in the body as it is, so that nothing else can change, not even
    /// what this crate does not know. The header stays, too.
    ///
    /// # Errors
    /// As [`Snapshot::decode`], of the file and of what becomes of it; [`FormatError::Zstd`].
    pub fn reparented(
        file: &[u8],
        id: SnapshotId,
        parent: SnapshotId,
        limits: &DecodeLimits,
    ) -> Result<Option<Bytes>, FormatError> {
        let name = FormatFile::Snapshot(id);
        let header = Header::decode(file, name)?;
        let before = Self::decode(file, id, limits)?;
        let body = before.body.bytes();
        let Some(at) = before.parent_position() else {
            return Ok(None);
        };
        let mut patched = compression::buffer(body.len(), name)?;
        patched.extend_from_slice(body);
        let place = patched.get_mut(at..at + OBJECT_ID_LEN);
        place
            .expect("BUG: the verifier has seen the parent inside the body")
            .copy_from_slice(parent.as_bytes());
        let file = match header.compression {
            Compression::Zstd => {
                let level = Writer::default().level(FileKind::Snapshot);
                compression::compress_after(&file[..HEADER_LEN], &patched, level, name)?
            }
            Compression::None => {
                let mut whole = compression::buffer(HEADER_LEN + patched.len(), name)?;
                whole.extend_from_slice(&file[..HEADER_LEN]);
                whole.extend_from_slice(&patched);
                whole
            }
        };
        // In a file made to deceive, the parent's bytes may be those of something else, too.
        let after = Self::decode(&file, id, limits)?;
        let same = after.parent_id() == Some(parent)
            && after.flushed_at() == before.flushed_at()
            && after.message() == before.message()
            && after.node_count() == before.node_count();
        if !same {
            let found = FormatFile::Snapshot(parent);
            let expected = name;
            return Err(FormatError::WrongObject { expected, found });
        }
        Ok(Some(Bytes::from(file)))
    }

    /// Where in the body the parent's id is.
    fn parent_position(&self) -> Option<usize> {
        let root = self.root();
        let parent = std::ptr::from_ref(root.parent_id()?).addr();
        parent.checked_sub(self.body.bytes().as_ptr().addr())
    }
}

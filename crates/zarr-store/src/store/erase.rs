//! Erasing values, one by one and by prefix.

use icefield_core::SessionError;

use super::ZarrStore;
use crate::ZarrStoreError;
use crate::key::ZarrKey;
use crate::prefix::Prefix;

/// Most times that the chunks below a prefix are erased, when their array changes each time.
const MOST_TRIES: usize = 16;

impl ZarrStore {
    /// Erases a value; one that is absent counts as erased.
    ///
    /// A session has no node without metadata, and no array without its own: to erase `a/zarr.json` is to delete
    /// the node `/a`, with its chunks or all that is below it, like [`ZarrStore::erase_prefix`] of `a/`.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidKey`]; [`ZarrStoreError::Session`] if the session takes no writes.
    pub async fn delete(&self, key: &str) -> Result<(), ZarrStoreError> {
        match self.parse(key)? {
            ZarrKey::Metadata(path) => {
                self.session.delete_node(&path).await?;
                Ok(())
            }
            ZarrKey::Chunk { array, index } => {
                match self.session.delete_chunk(&array, &index).await {
                    // The array was replaced, or has no such coordinates any more: the chunk went with them.
                    Err(SessionError::ArrayChanged { .. }) => Ok(()),
                    deleted => unless_gone(deleted),
                }
            }
            ZarrKey::V2Metadata | ZarrKey::Nothing(_) => self.check_writable(),
        }
    }

    /// Erases every key below a prefix, which is empty or ends with `/`; nothing below it is no error.
    ///
    /// For the path of a node, or of a group that only its descendants imply, all nodes at and below it go, and
    /// the empty prefix empties the store. Below an array, as in `a/c/` or `a/c/3/`, the chunks with such keys go, all at
    /// once, as [`Session::delete_chunks`](icefield_core::Session::delete_chunks) does it: what another commit writes below the
    /// prefix meanwhile is a conflict. A prefix is whole segments: `a/` leaves `ab/zarr.json` alone.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidPrefix`]; [`ZarrStoreError::Session`] if the session takes no writes, or if other tasks change
    /// the array again and again meanwhile: its chunks are then as they were.
    pub async fn erase_prefix(&self, prefix: &str) -> Result<(), ZarrStoreError> {
        self.erase_below(&Prefix::parse(prefix)?).await
    }

    /// Erases every key below a directory, as [`ZarrStore::erase_prefix`]; the final `/` may be missing.
    ///
    /// # Errors
    /// As [`ZarrStore::erase_prefix`].
    pub async fn delete_dir(&self, directory: &str) -> Result<(), ZarrStoreError> {
        self.erase_below(&Prefix::of_directory(directory)?).await
    }

    async fn erase_below(&self, prefix: &Prefix) -> Result<(), ZarrStoreError> {
        let mut scope = prefix.chunks_of_ancestor(&self.session)?;
        self.session.delete_below(prefix.path()).await?;
        let mut tries = 0;
        while let Some(chunks) = scope {
            let within = chunks.within();
            let deleted = self.session.delete_chunks(&chunks.array, &within).await;
            tries += 1;
            match deleted {
                // Another task has resized or replaced the array, and nothing is erased yet.
                Err(SessionError::ArrayChanged { .. }) if tries < MOST_TRIES => {
                    scope = prefix.chunks_of_ancestor(&self.session)?;
                }
                deleted => return unless_gone(deleted.map(drop)),
            }
        }
        Ok(())
    }

    /// Refuses also those writes that would change nothing, so that a mistake shows at once.
    fn check_writable(&self) -> Result<(), ZarrStoreError> {
        match self.session.is_read_only() {
            true => Err(SessionError::ReadOnly.into()),
            false => Ok(()),
        }
    }
}

/// A node or chunk that another task has deleted meanwhile is deleted.
fn unless_gone(result: Result<(), SessionError>) -> Result<(), ZarrStoreError> {
    match result {
        Ok(())
        | Err(
            SessionError::NodeNotFound { .. }
            | SessionError::NotAnArray { .. }
            | SessionError::OutOfGrid { .. },
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

//! Erasing values, one by one and by prefix.

use std::ops::Range;

use icefield_core::SessionError;

use super::ZarrStore;
use crate::ZarrStoreError;
use crate::key::ZarrKey;
use crate::prefix::Prefix;

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
                unless_gone(self.session.delete_chunk(&array, &index).await)
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
    /// [`ZarrStoreError::InvalidPrefix`]; [`ZarrStoreError::Session`] if the session takes no writes.
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
        let scope = prefix.chunks_of_ancestor(&self.session)?;
        self.session.delete_below(prefix.path()).await?;
        let Some(scope) = scope else {
            return Ok(());
        };
        let array = match self.session.array(&scope.array) {
            Ok(array) => array,
            Err(error) => return unless_gone(Err(error)),
        };
        let rows = scope.leading.iter().map(|at| *at..at.saturating_add(1));
        let rest = array.chunk_counts.iter().skip(scope.leading.len());
        let within: Vec<Range<u32>> = rows.chain(rest.map(|count| 0..*count)).collect();
        let deleted = self.session.delete_chunks(&scope.array, &within).await;
        unless_gone(deleted.map(drop))
    }

    /// Refuses also those writes that would change nothing, so that a mistake shows at once.
    fn check_writable(&self) -> Result<(), ZarrStoreError> {
        match self.session.is_read_only() {
            true => Err(SessionError::ReadOnly.into()),
            false => Ok(()),
        }
    }
}

/// What another task has deleted meanwhile is deleted.
fn unless_gone(result: Result<(), SessionError>) -> Result<(), ZarrStoreError> {
    match result {
        Ok(())
        | Err(
            SessionError::NodeNotFound { .. }
            | SessionError::NotAnArray { .. }
            | SessionError::ArrayChanged { .. }
            | SessionError::OutOfGrid { .. },
        ) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

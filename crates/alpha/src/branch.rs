//! How a branch moved in that generation: each commit creates one more numbered file, and of several that create the
//! same one wins.

use bytes::Bytes;
use icefield_storage::{PutMode, PutOutcome, Storage, StorageError};
use serde_json::json;

use crate::refs::newest;
use crate::{AlphaError, AlphaId, Layout};

/// The outcome of an attempt to move a branch.
#[derive(Debug)]
#[must_use = "another writer may have been first, or the outcome may be unknown"]
pub enum Advance {
    /// The file with this number was created: the branch points to the new snapshot.
    Created {
        /// The number.
        number: u64,
    },
    /// The branch does not point to the parent; `None` if it does not exist.
    Conflict {
        /// Where it points.
        found: Option<AlphaId>,
    },
    /// The store did not say whether it took the file.
    Unknown {
        /// The number of the file to look at.
        number: u64,
        /// The error of the store.
        source: StorageError,
    },
}

/// Moves a branch from `parent` to `to`, or creates it without a `parent`: the newest file must point to the parent, and
/// the next one is created if it is absent. If another writer was faster, the look begins again, and finds its file.
///
/// For the tests of readers: repositories of this generation are not written otherwise, because nothing reads them any
/// more. The file has the one key that all code of that time reads.
///
/// # Errors
/// [`AlphaError::Damaged`] if the newest file cannot be read; [`StorageError::Unsupported`] of a store that cannot
/// decide races; the errors of the store.
pub async fn advance(
    storage: &dyn Storage,
    layout: Layout,
    branch: &str,
    parent: Option<AlphaId>,
    to: AlphaId,
) -> Result<Advance, AlphaError> {
    if !storage.capabilities().conditional_create {
        return Err(AlphaError::Storage(StorageError::Unsupported {
            store: storage.to_string(),
            what: "creating an object only if it is absent".to_owned(),
        }));
    }
    let directory = layout.branch(branch, storage.capabilities().key_form)?;
    loop {
        let newest = newest(storage, layout, &directory).await?;
        let found = newest.as_ref().map(|it| it.file.snapshot);
        if found != parent {
            return Ok(Advance::Conflict { found });
        }
        let number = match newest {
            Some(it) => it.number.saturating_add(1),
            None => 0,
        };
        if let Some(settled) = create(storage, layout, branch, number, to).await? {
            return Ok(settled);
        }
    }
}

/// Creates a file; `None` if there is one of this number already.
async fn create(
    storage: &dyn Storage,
    layout: Layout,
    branch: &str,
    number: u64,
    to: AlphaId,
) -> Result<Option<Advance>, AlphaError> {
    let directory = layout.branch(branch, storage.capabilities().key_form)?;
    let Some(file) = layout.file(number) else {
        return Err(AlphaError::Storage(StorageError::Unsupported {
            store: storage.to_string(),
            what: format!("a file number {number} of branch {branch}: numbers end before it"),
        }));
    };
    let key = directory.key(&file)?;
    let body = Bytes::from(json!({"snapshot": to.to_string()}).to_string());
    let outcome = storage
        .put(&key, body.into(), PutMode::Create.into())
        .await?;
    Ok(match outcome {
        PutOutcome::Written(_) => Some(Advance::Created { number }),
        PutOutcome::Refused => None,
        PutOutcome::Unknown(source) => Some(Advance::Unknown { number, source }),
    })
}

#[cfg(test)]
mod tests {
    use icefield_storage_memory::MemoryStorage;

    use super::*;
    use crate::BranchFile;

    /// The newest file of a branch.
    async fn seen(storage: &MemoryStorage, layout: Layout, branch: &str) -> Option<BranchFile> {
        let form = storage.capabilities().key_form;
        let directory = layout.branch(branch, form).unwrap();
        newest(storage, layout, &directory).await.unwrap()
    }

    const fn id(byte: u8) -> AlphaId {
        AlphaId::from_bytes([byte; 16])
    }

    #[tokio::test]
    async fn two_that_have_both_looked_are_told_apart_by_the_create() {
        for layout in Layout::ALL {
            let storage = MemoryStorage::new();
            let first = advance(&storage, layout, "main", None, id(0)).await;
            assert!(matches!(first, Ok(Advance::Created { number: 0 })));
            for _ in 0..2 {
                let seen = seen(&storage, layout, "main").await.unwrap();
                assert_eq!((seen.number, seen.file.snapshot), (0, id(0)));
            }
            let one = create(&storage, layout, "main", 1, id(1)).await.unwrap();
            assert!(matches!(one, Some(Advance::Created { number: 1 })));
            let other = create(&storage, layout, "main", 1, id(2)).await.unwrap();
            assert!(other.is_none());
            // The second look finds why.
            let other = advance(&storage, layout, "main", Some(id(0)), id(2)).await;
            assert!(
                matches!(other, Ok(Advance::Conflict { found: Some(found) }) if found == id(1))
            );
        }
    }

    #[tokio::test]
    async fn a_branch_is_created_once_and_its_last_number_is_the_last() {
        let storage = MemoryStorage::new();
        let layout = Layout::Literal;
        let missing = advance(&storage, layout, "b", Some(id(0)), id(1)).await;
        assert!(matches!(missing, Ok(Advance::Conflict { found: None })));
        let made = advance(&storage, layout, "b", None, id(0)).await;
        assert!(matches!(made, Ok(Advance::Created { number: 0 })));
        let again = advance(&storage, layout, "b", None, id(0)).await;
        assert!(matches!(again, Ok(Advance::Conflict { found: Some(_) })));
        let last = layout.sequence_form().largest();
        create(&storage, layout, "b", last, id(7)).await.unwrap();
        let seen = seen(&storage, layout, "b").await.unwrap();
        assert_eq!((seen.number, seen.file.snapshot), (last, id(7)));
        assert!(
            advance(&storage, layout, "b", Some(id(7)), id(8))
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn what_has_no_number_does_not_count() {
        let storage = MemoryStorage::new();
        for name in ["0", "0.json", "ZZZZZZZZZZZZY.json", "ZZZZZZZZ", "ref.json"] {
            let key = icefield_storage::Key::parse(&format!("r/main/{name}")).unwrap();
            let put = storage.put(&key, Bytes::from("x").into(), PutMode::Create.into());
            assert!(matches!(put.await, Ok(PutOutcome::Written(_))));
        }
        assert_eq!(seen(&storage, Layout::Literal, "main").await, None);
    }
}

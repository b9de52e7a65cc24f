//! The two spellings that the name of a ref may have in a store: the store's own, and that of the stores from which a tool
//! may have copied the repository byte for byte.

use icefield_format::layout::{self, KeyForm};
use icefield_storage::{
    Bytes, Compared, DeleteOutcome, Deletion, Key, PutMode, PutOutcome, StorageError, StorageExt,
};

use crate::ref_files::{MAX_REF_LEN, RefFiles, branch_key, ref_options, tag_key, tombstone_key};
use crate::{BranchName, EditOutcome, RefsError, Refusal, TagName};

/// An object of a ref that is not in the store's own spelling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Misspelled {
    /// Where it is.
    pub found: Key,
    /// Where the store's own spelling has it.
    pub own: Key,
}

impl RefFiles {
    /// Returns the form in which the store has a branch, its own if there is none. Names that both forms spell alike cost
    /// no request.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`]; the errors of the store.
    pub(crate) async fn form_of_branch(&self, name: &BranchName) -> Result<KeyForm, RefsError> {
        let Some(second) = layout::second_form(name.as_str(), self.form()) else {
            return Ok(self.form());
        };
        let keys = [self.form(), second].map(|form| Ok([branch_key(name, form)?]));
        self.choose(second, keys).await
    }

    /// Returns the form in which the store has a tag or its tombstone, as [`RefFiles::form_of_branch`] does.
    ///
    /// # Errors
    /// As there.
    pub(crate) async fn form_of_tag(&self, name: &TagName) -> Result<KeyForm, RefsError> {
        let Some(second) = layout::second_form(name.as_str(), self.form()) else {
            return Ok(self.form());
        };
        let keys = [self.form(), second]
            .map(|form| Ok([tag_key(name, form)?, tombstone_key(name, form)?]));
        self.choose(second, keys).await
    }

    /// As [`RefFiles::form_of_tag`], of a name as lists have it: in a bucket, that is always its own form.
    pub(crate) async fn form_in_list(&self, name: &TagName) -> Result<KeyForm, RefsError> {
        match self.form() {
            KeyForm::Raw => Ok(KeyForm::Raw),
            KeyForm::ObjectStorePath => self.form_of_tag(name).await,
        }
    }

    async fn choose<const N: usize>(
        &self,
        second: KeyForm,
        [own, other]: [Result<[Key; N], RefsError>; 2],
    ) -> Result<KeyForm, RefsError> {
        let (own, other) = (own?, other?);
        // In a bucket, the second spelling is a name by itself wherever the first one is there.
        if self.form() == KeyForm::Raw && self.first_of(&own).await?.is_some() {
            return Ok(self.form());
        }
        let (own, other) = match self.form() {
            KeyForm::Raw => (None, self.first_of(&other).await?),
            KeyForm::ObjectStorePath => {
                let (own, other) = futures::join!(self.first_of(&own), self.first_of(&other));
                (own?, other?)
            }
        };
        match (own, other) {
            (Some(own), Some(other)) => Err(RefsError::SpelledTwice { own, other }),
            (None, Some(_)) => Ok(second),
            (_, None) => Ok(self.form()),
        }
    }

    /// Returns the first of some keys that there is an object of.
    async fn first_of(&self, keys: &[Key]) -> Result<Option<Key>, StorageError> {
        for key in keys {
            if self.storage().exists(key).await? {
                return Ok(Some(key.clone()));
            }
        }
        Ok(None)
    }

    /// Gives an object of a ref its own spelling: copies it, and deletes it under the other one. Where both are there with
    /// the same bytes, as an interrupted call leaves them, it deletes the other one.
    ///
    /// # Errors
    /// [`RefsError::NoConditions`], [`RefsError::SpelledTwice`] where the bytes differ, and the errors of the store.
    pub(crate) async fn respell(&self, misspelled: &Misspelled) -> Result<EditOutcome, RefsError> {
        let (storage, Misspelled { found, own }) = (self.storage(), misspelled);
        let capabilities = storage.capabilities();
        if !capabilities.safe_commits() || !capabilities.conditional_delete {
            let location = storage.to_string();
            return Err(RefsError::NoConditions { location });
        }
        let Some((bytes, version)) = storage.try_read_at_most(found, MAX_REF_LEN).await? else {
            return Ok(EditOutcome::Refused(Refusal::NotFound));
        };
        let options = ref_options(PutMode::Create);
        let written = match storage
            .put(own, Bytes::clone(&bytes).into(), options)
            .await?
        {
            PutOutcome::Written(written) => Some(written.version),
            PutOutcome::Refused => match storage.compare(own, &bytes).await? {
                Compared::Same(_) => None,
                Compared::Absent | Compared::Other => {
                    let (own, other) = (own.clone(), found.clone());
                    return Err(RefsError::SpelledTwice { own, other });
                }
            },
            PutOutcome::Unknown(source) => return Ok(EditOutcome::Unknown(source)),
        };
        // A copy that is not found under its own name must not cost the original.
        if let EditOutcome::Unknown(source) = self.make_durable(EditOutcome::Done(None)).await? {
            return Ok(EditOutcome::Unknown(source));
        }
        let conditional = |key: &Key, version| Deletion {
            key: key.clone(),
            version: Some(version),
        };
        let outcome = match storage.delete_one(conditional(found, version)).await? {
            DeleteOutcome::Deleted => EditOutcome::Done(None),
            DeleteOutcome::Unknown(source) => EditOutcome::Unknown(source),
            // Another program has moved the ref since it was read: the copy is out of date.
            DeleteOutcome::Refused => {
                if let Some(written) = written {
                    let _ = storage.delete_one(conditional(own, written)).await?;
                }
                EditOutcome::Refused(Refusal::AlreadyExists)
            }
        };
        self.make_durable(outcome).await
    }
}

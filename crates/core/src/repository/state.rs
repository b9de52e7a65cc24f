//! The state of a repository of spec version 2 as a whole: status, features, metadata, and the operations on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use futures::stream::BoxStream;
use icefield_format::{Availability, FeatureFlag, FeatureFlags, RepoStatus, SpecVersion, Update};
use icefield_refs::{Edit, EditOutcome, RefsError, UpgradeOptions, UpgradeReport};
use serde_json::Value;

use super::{Repository, RepositoryBuilder};
use crate::RepositoryError;

impl Repository {
    /// Returns the version of the format that the repository has. It is read when the repository is opened.
    pub fn spec_version(&self) -> SpecVersion {
        self.0.ledger.spec_version()
    }

    /// Makes a repository of spec version 2 out of this one of version 1, as [`RepositoryBuilder::upgrade`] does. This handle and
    /// its sessions are of no more use for writing then: open it again.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::upgrade`].
    pub async fn upgrade(
        &self,
        options: &UpgradeOptions<'_>,
    ) -> Result<UpgradeReport, RepositoryError> {
        self.builder_again().upgrade(options).await
    }

    /// Returns the steps that [`Repository::upgrade`] would take, and writes nothing.
    ///
    /// # Errors
    /// As [`Repository::upgrade`].
    pub async fn plan_upgrade(
        &self,
        options: &UpgradeOptions<'_>,
    ) -> Result<UpgradeReport, RepositoryError> {
        self.builder_again().plan_upgrade(options).await
    }

    /// Begins to open the same place.
    fn builder_again(&self) -> RepositoryBuilder {
        let shared = &self.0;
        Self::builder(Arc::clone(&shared.storage))
            .settings(shared.settings.clone())
            .clock(Arc::clone(&shared.clock))
            .entropy(Arc::clone(&shared.entropy))
    }

    /// Returns whether the repository accepts writes, and the reason if it does not. Spec version 2 only.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], and the errors of the store.
    pub async fn status(&self) -> Result<RepoStatus, RepositoryError> {
        Ok(self.0.ledger.status().await?)
    }

    /// Sets whether the repository accepts writes, with a reason and a time, which is now unless given. Open sessions
    /// cannot commit to a repository that is not online either.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], and the errors of the store. Nothing was changed.
    pub async fn set_status(
        &self,
        availability: Availability,
        reason: Option<String>,
        set_at: Option<SystemTime>,
    ) -> Result<EditOutcome, RepositoryError> {
        self.edit_state(Edit::SetStatus {
            availability,
            reason,
            set_at,
        })
        .await
    }

    /// Returns the operations that the repository allows and forbids. Spec version 2 only.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], and the errors of the store.
    pub async fn feature_flags(&self) -> Result<FeatureFlags, RepositoryError> {
        Ok(self.0.ledger.flags().await?)
    }

    /// Allows or forbids an operation; `None` restores the default of the flag.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], [`RefsError::NotOnline`], and the errors of the store. Nothing was changed.
    pub async fn set_feature_flag(
        &self,
        flag: FeatureFlag,
        value: Option<bool>,
    ) -> Result<EditOutcome, RepositoryError> {
        self.edit_state(Edit::SetFlag { flag, value }).await
    }

    /// Returns the metadata of the repository as a whole, JSON values by name. Spec version 2 only; the metadata of a
    /// commit is in the history.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], [`RefsError::InvalidRepo`], and the errors of the store.
    pub async fn metadata(&self) -> Result<BTreeMap<String, Value>, RepositoryError> {
        Ok(self.0.ledger.metadata().await?)
    }

    /// Replaces the metadata of the repository as a whole. Keys that another writer sets at the same time may be lost;
    /// [`Repository::update_metadata`] keeps them.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], [`RefsError::NotOnline`], and the errors of the store. Nothing was changed.
    pub async fn set_metadata(
        &self,
        metadata: BTreeMap<String, Value>,
    ) -> Result<EditOutcome, RepositoryError> {
        self.edit_state(Edit::SetMetadata { metadata }).await
    }

    /// Sets some keys of the metadata of the repository as a whole. Keys that other writers set at the same time stay.
    ///
    /// # Errors
    /// As [`Repository::set_metadata`].
    pub async fn update_metadata(
        &self,
        entries: BTreeMap<String, Value>,
    ) -> Result<EditOutcome, RepositoryError> {
        self.edit_state(Edit::UpdateMetadata { entries }).await
    }

    /// Returns the operations on the repository, newest first: commits, edits of refs, collections and so on, each with
    /// its time. The stream reads backups of `repo` as far as it is polled, and ends after the first error.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], and the errors of the store.
    pub async fn operations(
        &self,
    ) -> Result<BoxStream<'static, Result<Update, RefsError>>, RepositoryError> {
        Ok(self.0.ledger.operations().await?)
    }

    async fn edit_state(&self, edit: Edit) -> Result<EditOutcome, RepositoryError> {
        Ok(self.0.ledger.apply(edit).await?)
    }
}

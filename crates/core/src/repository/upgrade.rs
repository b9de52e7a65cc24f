//! Upgrading a repository of spec version 1 to version 2.

use std::sync::Arc;

use icefield_format::{FormatError, SpecVersion};
use icefield_refs::{RefsError, Upgrade, UpgradeOptions, UpgradeReport};

use super::RepositoryBuilder;
use crate::RepositoryError;
use crate::session::CollectionHold;

impl RepositoryBuilder {
    /// Makes a repository of spec version 2 out of the one of version 1 that is there, also while version-1 programs write to it.
    /// One that was stopped is gone on with. Handles and sessions that were opened before are of no more use for writing.
    ///
    /// # Errors
    /// [`RepositoryError::NotFound`], [`RepositoryError::NewerSpecVersion`], [`RepositoryError::UnsafeStore`],
    /// [`RepositoryError::CollectionRunning`], as [`Upgrade::run`], and the errors of the store.
    pub async fn upgrade(
        self,
        options: &UpgradeOptions<'_>,
    ) -> Result<UpgradeReport, RepositoryError> {
        let upgrade = self.begin_upgrade().await?;
        self.check_store().await?;
        // A collection that goes by refs of version 1 would miss those that are gone already.
        let hold = self.clone().spec_version(SpecVersion::V1);
        let hold = Arc::new(hold.hold_collections().await?);
        let upgrade = upgrade.keeping({
            let hold = Arc::clone(&hold);
            Box::new(move || Box::pin(keep(Arc::clone(&hold))))
        });
        let upgraded = upgrade.run(options).await;
        drop(upgrade);
        if let Some(hold) = Arc::into_inner(hold) {
            hold.release().await;
        }
        Ok(upgraded?)
    }

    /// Returns the steps that [`RepositoryBuilder::upgrade`] would take, and writes nothing.
    ///
    /// # Errors
    /// As [`RepositoryBuilder::upgrade`].
    pub async fn plan_upgrade(
        self,
        options: &UpgradeOptions<'_>,
    ) -> Result<UpgradeReport, RepositoryError> {
        Ok(self.begin_upgrade().await?.plan(options).await?)
    }

    async fn begin_upgrade(&self) -> Result<Upgrade, RepositoryError> {
        let parts = self.parts(Arc::new(self.objects(SpecVersion::V2)));
        let location = self.location();
        match Upgrade::begin(parts).await {
            Ok(Some(upgrade)) => Ok(upgrade),
            Ok(None) => Err(RepositoryError::NotFound { location }),
            Err(RefsError::InvalidRepo {
                source: FormatError::NewerSpecVersion { .. },
            }) => Err(RepositoryError::NewerSpecVersion { location }),
            Err(error) => Err(error.into()),
        }
    }
}

async fn keep(hold: Arc<CollectionHold>) -> Result<(), RefsError> {
    hold.keep().await.map_err(|error| match error {
        RepositoryError::Storage(error) => RefsError::Storage(error),
        error => RefsError::UpgradeStopped {
            source: error.into(),
        },
    })
}

//! The settings of a repository: its status, its feature flags, its metadata and its configuration.

use std::collections::BTreeMap;

use icefield_format::{DecodeLimits, FeatureFlags, RepoStatus, RepositoryConfig};

use super::{Layout, Ledger};
use crate::{RefsError, RepoSettings, StoredConfig};

impl Ledger {
    /// Returns whether the repository may be changed; one of spec version 1 has no status.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV2`], and as [`Ledger::branch`].
    pub async fn status(&self) -> Result<RepoStatus, RefsError> {
        let state = self.object("a status")?.read().await?;
        Ok(state.info.status().clone())
    }

    /// Returns which features the repository allows.
    ///
    /// # Errors
    /// As [`Ledger::status`].
    pub async fn flags(&self) -> Result<FeatureFlags, RefsError> {
        let state = self.object("feature flags")?.read().await?;
        Ok(state.info.flags().clone())
    }

    /// Returns the metadata of the repository.
    ///
    /// # Errors
    /// As [`Ledger::status`]; [`RefsError::InvalidRepo`].
    pub async fn metadata(&self) -> Result<BTreeMap<String, serde_json::Value>, RefsError> {
        let state = self.object("metadata of the repository")?.read().await?;
        let metadata = state.info.metadata(DecodeLimits::default().max_metadata);
        metadata.map_err(|source| RefsError::InvalidRepo { source })
    }

    /// Returns whether a later version of the format has put something into the reserved field `extra` of `repo`. Spec version 1
    /// has no such field.
    ///
    /// # Errors
    /// As [`Ledger::list`].
    pub async fn has_extra(&self) -> Result<bool, RefsError> {
        match &self.layout {
            Layout::V1(_) => Ok(false),
            Layout::V2(object) => Ok(object.read().await?.info.extra().is_some()),
        }
    }

    /// Reads the stored configuration, `None` if none is stored.
    ///
    /// # Errors
    /// [`RefsError::Config`] and the errors of the store.
    pub async fn config(&self) -> Result<Option<StoredConfig>, RefsError> {
        let files = match &self.layout {
            Layout::V1(files) => files,
            Layout::V2(object) => return object.read().await?.config(),
        };
        let Some((bytes, version)) = files.read_config().await? else {
            return Ok(None);
        };
        let config = RepositoryConfig::decode(&bytes).map_err(RefsError::config_file)?;
        Ok(Some(StoredConfig { config, version }))
    }

    /// Returns the settings of the repository.
    ///
    /// # Errors
    /// [`RefsError::Config`], [`RefsError::InvalidRepo`], and the errors of the store.
    pub async fn settings(&self) -> Result<RepoSettings, RefsError> {
        let Layout::V2(object) = &self.layout else {
            let stored = self.config().await?;
            return Ok(RepoSettings {
                config: stored.map(|stored| stored.config),
                ..RepoSettings::default()
            });
        };
        RepoSettings::of(&object.read().await?.info)
    }
}

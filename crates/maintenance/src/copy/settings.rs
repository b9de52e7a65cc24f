//! The settings of a repository: configuration, metadata, feature flags. A copy brings them to a place that has none; what
//! is there stays, unless it is to be replaced.

use std::sync::Arc;

use icefield_format::layout;
use icefield_refs::RepoSettings;
use icefield_storage::{
    Bytes, Key, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};
use serde::Serialize;

use super::CopyError;

/// Most bytes of `config.yaml` that are read, as many as decoding takes.
pub(crate) const MAX_CONFIG_LEN: u64 = 4 << 20;

/// The outcome for one setting of a repository: its configuration, its metadata, its feature flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConfigAction {
    /// The source has no such setting.
    #[default]
    None,
    /// The setting is new at the destination.
    Copied,
    /// The destination has the same setting already.
    Unchanged,
    /// The destination has another setting, which stays.
    Kept,
    /// The destination had another setting, and has that of the source now, because the caller asked for that.
    Replaced,
}

/// The outcome for each setting of a repository of spec version 2.
#[derive(Debug, Default)]
pub(crate) struct SettingsPlan {
    pub(crate) config: ConfigAction,
    pub(crate) metadata: ConfigAction,
    pub(crate) flags: ConfigAction,
    /// The settings before and after.
    pub(crate) change: Option<Box<(RepoSettings, RepoSettings)>>,
}

impl SettingsPlan {
    /// Decides by what the source says, and what the destination says now.
    pub(crate) fn decide(source: &RepoSettings, there: RepoSettings, force: bool) -> Self {
        let mut next = there.clone();
        let config = decide(&source.config, &mut next.config, force);
        let metadata = decide(&source.metadata, &mut next.metadata, force);
        let flags = decide(&source.flags, &mut next.flags, force);
        let change = (next != there).then(|| Box::new((there, next)));
        Self {
            config,
            metadata,
            flags,
            change,
        }
    }
}

fn decide<T: Clone + Default + PartialEq>(ours: &T, theirs: &mut T, force: bool) -> ConfigAction {
    let none = T::default();
    let action = if *ours == none {
        return ConfigAction::None;
    } else if ours == theirs {
        return ConfigAction::Unchanged;
    } else if *theirs == none {
        ConfigAction::Copied
    } else if force {
        ConfigAction::Replaced
    } else {
        return ConfigAction::Kept;
    };
    *theirs = ours.clone();
    action
}

/// Reads the stored configuration as it is.
pub(crate) async fn read_config(storage: &Arc<dyn Storage>) -> Result<Option<Bytes>, StorageError> {
    let key = Key::parse(layout::CONFIG)?;
    let read = storage.try_read_at_most(&key, MAX_CONFIG_LEN).await?;
    Ok(read.map(|(bytes, _)| bytes))
}

/// Stores a configuration, if there is none.
pub(crate) async fn put_config(
    config: Option<Bytes>,
    destination: &Arc<dyn Storage>,
    force: bool,
    dry_run: bool,
) -> Result<ConfigAction, CopyError> {
    let Some(config) = config else {
        return Ok(ConfigAction::None);
    };
    // A configuration that cannot be read is not copied.
    icefield_format::RepositoryConfig::decode(&config)?;
    let key = Key::parse(layout::CONFIG).map_err(|error| CopyError::Destination(error.into()))?;
    let read = destination.try_read_at_most(&key, MAX_CONFIG_LEN);
    let (mode, action) = match read.await.map_err(CopyError::Destination)? {
        Some((found, _)) if found == config => return Ok(ConfigAction::Unchanged),
        Some(_) if !force => return Ok(ConfigAction::Kept),
        Some((_, version)) => (PutMode::Update(version), ConfigAction::Replaced),
        None => (PutMode::Create, ConfigAction::Copied),
    };
    if dry_run {
        return Ok(action);
    }
    let options = PutOptions::mode(mode).with_content_type("application/yaml");
    let put = destination.put(&key, config.clone().into(), options).await;
    let settled = match put.map_err(CopyError::Destination)? {
        PutOutcome::Written(_) => return Ok(action),
        PutOutcome::Refused => None,
        PutOutcome::Unknown(source) => Some(source),
    };
    match (
        destination.try_read_at_most(&key, MAX_CONFIG_LEN).await,
        settled,
    ) {
        (Ok(Some((found, _))), _) if found == config => Ok(action),
        (_, Some(source)) => Err(CopyError::WriteUnknown { key, source }),
        (_, None) => Err(CopyError::RefChanged {
            name: layout::CONFIG.to_owned(),
        }),
    }
}

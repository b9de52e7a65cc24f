//! Making `repo`: with it, a repository of spec version 2 exists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{
    NewRepoInfo, NewSnapshotInfo, OpsLog, RepoInfo, RepoStatus, RepositoryConfig, Snapshot,
    SnapshotId, UpdateKind,
};
use icefield_storage::{Compared, PutMode, PutOutcome, StorageExt};

use super::object::{RepoObject, RepoState, config_in};
use crate::create::Creation;
use crate::{BranchName, FetchError, RefsError};

impl RepoObject {
    /// Writes the object of a new repository, whose first snapshot is stored already.
    ///
    /// # Errors
    /// [`RefsError::RepoEdit`] and the errors of the store.
    pub(crate) async fn create(
        &self,
        first: &Snapshot,
        config: Option<RepositoryConfig>,
    ) -> Result<Creation, RefsError> {
        let now = self.now().max(first.flushed_at());
        let metadata = first.metadata().map_err(FetchError::from)?;
        let id = SnapshotId::INITIAL;
        let log = OpsLog::new([(UpdateKind::RepoInitialized, now)]);
        let info = RepoInfo::new(NewRepoInfo {
            snapshots: vec![NewSnapshotInfo {
                id,
                parent: None,
                flushed_at: first.flushed_at(),
                message: first.message(),
                metadata: &metadata,
                pruned_ancestor_tx_logs: &[],
            }],
            branches: BTreeMap::from([(BranchName::main().to_string(), id)]),
            tags: BTreeMap::new(),
            deleted_tags: BTreeSet::new(),
            status: RepoStatus::online(now),
            metadata: BTreeMap::new(),
            config,
            log: log.map_err(icefield_format::RepoEditError::from)?,
        })?;
        self.create_with(info).await
    }

    /// Writes the object, if there is none.
    pub(crate) async fn create_with(&self, info: RepoInfo) -> Result<Creation, RefsError> {
        let shared = self.shared();
        let config = config_in(&info)?.map(Box::new);
        let bytes = info.encode(&shared.writer);
        let bytes = bytes.map_err(icefield_format::RepoEditError::from)?;
        let options = self.put_options(PutMode::Create);
        let put = shared
            .storage
            .put(&shared.key, bytes.clone().into(), options);
        let version = match put.await? {
            PutOutcome::Written(written) => written.version,
            // It may be the answer to a repetition of our own request, sent by a client below us.
            PutOutcome::Refused => match shared.storage.compare(&shared.key, &bytes).await {
                Ok(Compared::Same(version)) => version,
                Ok(Compared::Other | Compared::Absent) => return Ok(Creation::Exists),
                Err(source) => return Ok(Creation::Unknown(source)),
            },
            PutOutcome::Unknown(source) => {
                match shared.storage.compare(&shared.key, &bytes).await {
                    Ok(Compared::Same(version)) => version,
                    Ok(Compared::Other) => return Ok(Creation::Exists),
                    Ok(Compared::Absent) | Err(_) => return Ok(Creation::Unknown(source)),
                }
            }
        };
        if let Err(source) = shared.storage.sync().await {
            return Ok(Creation::Unknown(source));
        }
        self.remember(&Arc::new(RepoState {
            info,
            version,
            bytes,
        }));
        Ok(Creation::Created(config))
    }
}

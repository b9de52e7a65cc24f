//! The files of a copy whose version of the format is earlier than its source's.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{Containers, FetchError, Repository, RepositoryError};
use icefield_format::{DecodeLimits, Manifest, Snapshot, SnapshotId, SpecVersion, TransactionLog};
use icefield_storage::Bytes;

use super::logs::{self, Expired};
use super::manifests::{self, Locations, Unwritable};
use crate::copy::plan::{Step, repository_error};
use crate::copy::{CopyError, spec_v1};

/// Logs of expired commits read at a time.
const LOGS: usize = 4;

/// Writes files of spec version 2 anew in version 1. Files of version 1, which a repository has that was upgraded, stay as they
/// are.
pub(crate) struct Rewriter<'a> {
    source: &'a Repository,
    containers: &'a Containers,
    limits: &'a DecodeLimits,
    /// Bytes of the manifests that were written anew: snapshots name them.
    sizes: Mutex<BTreeMap<[u8; 12], u64>>,
}

impl<'a> Rewriter<'a> {
    pub(crate) fn new(
        source: &'a Repository,
        containers: &'a Containers,
        limits: &'a DecodeLimits,
    ) -> Self {
        Self {
            source,
            containers,
            limits,
            sizes: Mutex::default(),
        }
    }

    /// Returns the file of a manifest. All manifests of a snapshot go before it.
    pub(crate) fn manifest(&self, file: Bytes, manifest: &Manifest) -> Result<Bytes, CopyError> {
        if manifest.spec_version() == SpecVersion::V1 {
            return Ok(file);
        }
        let mut locations = Locations::of(self.containers);
        let written = manifests::rewritten(&file, manifest, &mut locations);
        let file = written.map_err(|error| match error {
            Unwritable::Format(error) => CopyError::Format(error),
            // Not of a manifest that was examined before.
            Unwritable::Location { location, reason } => CopyError::NotInVersion1 {
                problems: vec![format!("the location {location}: {reason}")],
            },
        })?;
        let mut sizes = self.sizes.lock().unwrap_or_else(|it| it.into_inner());
        sizes.insert(*manifest.id().as_bytes(), file.len() as u64);
        Ok(file)
    }

    /// Returns the file of a snapshot.
    pub(crate) fn snapshot(
        &self,
        file: Bytes,
        snapshot: &Snapshot,
        step: &Step,
    ) -> Result<Bytes, CopyError> {
        let parent = match step.shortened {
            true => Some(SnapshotId::INITIAL),
            false => step.parent,
        };
        let sizes = self.sizes.lock().unwrap_or_else(|it| it.into_inner());
        let is_rewritten = |id: &[u8; 12]| sizes.contains_key(id);
        let as_it_is = snapshot.spec_version() == SpecVersion::V1
            && snapshot.parent_id() == parent
            && !snapshot
                .manifest_files()
                .any(|it| is_rewritten(it.id.as_bytes()));
        match as_it_is {
            true => Ok(file),
            false => spec_v1::rewritten(&file, snapshot, parent, &sizes),
        }
    }

    /// Returns the file of a transaction log; none if it would not tell all, since the log of a commit that expired is missing.
    pub(crate) async fn log(&self, file: Bytes, step: &Step) -> Result<Option<Bytes>, CopyError> {
        let own = TransactionLog::decode(&file, step.id, self.limits)?;
        let pruned = match step.shortened {
            true => Vec::new(),
            false => self.source.ledger().snapshot(step.id).await?.pruned_logs,
        };
        let Some(parent) = step.parent.filter(|_| !pruned.is_empty()) else {
            return Ok(Some(match own.spec_version() {
                SpecVersion::V1 => file,
                _ => logs::rewritten(&file, &own, None)?,
            }));
        };
        let logs = stream::iter(pruned).map(|id| self.source.transaction_log(id));
        let logs = match logs.buffered(LOGS).boxed().try_collect().await {
            Ok(logs) => logs,
            Err(RepositoryError::Fetch(FetchError::Missing { .. })) => return Ok(None),
            Err(error) => return Err(repository_error(error)),
        };
        let (before, after) =
            futures::try_join!(self.source.snapshot(parent), self.source.snapshot(step.id))
                .map_err(repository_error)?;
        let expired = Expired {
            logs,
            before,
            after,
        };
        Ok(Some(logs::rewritten(&file, &own, Some(&expired))?))
    }
}

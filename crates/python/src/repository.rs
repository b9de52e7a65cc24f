//! Open repositories as Python calls them. The work is in `refs`, `upkeep` and `inspect`.

use icefield::{EditOutcome, Interrupt, UpgradeOptions};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::opening::{Grant, Opening, fetch_config, fetch_spec_version};
use crate::process::ProcessOwned;
use crate::rows::DiffRow;
use crate::session::Session;
use crate::storage::Storage;
use crate::stream::{Stream, stream};
use crate::task::{
    BEGINS_ANEW, GOES_ON, Task, begin, begin_for, begin_interruptible, begin_lasting,
};
use crate::{convert, document, inspect, refs, state, upkeep};

/// The number of snapshots of a history, or entries of the operations log, in one batch.
const HISTORY_BATCH: usize = 100;

/// Names of lasting changes, each with the way to find out its outcome.
const CREATION: (&str, &str) = (
    "The creation of the repository",
    "`Repository.exists` tells",
);
const CONFIG: (&str, &str) = (
    "The change of the stored configuration",
    "`Repository.fetch_config` shows it",
);
const BRANCH: (&str, &str) = (
    "The change of the branch",
    "`lookup_branch` shows where it points",
);
const STATUS: (&str, &str) = ("The change of the status", "`get_status` shows it");
const UPGRADE: (&str, &str) = (
    "The upgrade",
    "`Repository.fetch_spec_version` shows the version; called again, the upgrade goes on",
);
const FLAG: (&str, &str) = ("The change of the feature flag", "`feature_flags` shows it");
const METADATA: (&str, &str) = (
    "The change of the metadata of the repository",
    "`get_metadata` shows it",
);
const TAG: (&str, &str) = (
    "The change of the tag",
    "`lookup_tag` shows where it points",
);

/// An open repository. Methods that do I/O begin a [`Task`].
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Repository(ProcessOwned<icefield::Repository>, u8);

impl Repository {
    pub(crate) fn new(repository: icefield::Repository) -> Self {
        // A forked child may show the repository, too.
        let version = repository.spec_version() as u8;
        Self(ProcessOwned::new(repository), version)
    }

    /// Returns a handle of the repository itself.
    ///
    /// # Errors
    /// `forked`, if a parent of this process opened it.
    pub(crate) fn handle(&self) -> Result<icefield::Repository, Failure> {
        Ok(self.0.get()?.clone())
    }
}

async fn save_config(repository: icefield::Repository) -> Result<(), Failure> {
    match repository.save_config(repository.config()).await? {
        EditOutcome::Done(_) => Ok(()),
        EditOutcome::Refused(_) => Err(Failure::new(
            "config-updated",
            "another client has changed the stored configuration since the repository was opened: nothing was \
             changed; open it again, look at what is stored, and save again",
        )),
        outcome => Err(Failure::of_edit(outcome, "the stored configuration")),
    }
}

#[pymethods]
impl Repository {
    #[staticmethod]
    #[pyo3(signature = (storage, config, grants, among_other_objects, spec_version, cache=None))]
    fn create(
        py: Python<'_>,
        storage: &Storage,
        config: Option<&str>,
        grants: Vec<Grant>,
        among_other_objects: bool,
        spec_version: u8,
        cache: Option<&str>,
    ) -> PyResult<Task> {
        let opening = Opening::new(storage, config, grants, cache)?.of_version(spec_version)?;
        begin_lasting(py, CREATION.0, CREATION.1, async move {
            let builder = opening.creation(among_other_objects).await?;
            Ok(Self::new(builder.create().await?))
        })
    }

    /// Opens a repository. With `for_all`, several callers wait for it, and one that gives up does not end it for the others.
    #[staticmethod]
    #[pyo3(signature = (storage, config, grants, for_all=false, cache=None))]
    fn open(
        py: Python<'_>,
        storage: &Storage,
        config: Option<&str>,
        grants: Vec<Grant>,
        for_all: bool,
        cache: Option<&str>,
    ) -> PyResult<Task> {
        let opening = Opening::new(storage, config, grants, cache)?;
        let work = async move { Ok(Self::new(opening.open().await?)) };
        begin_for(for_all, py, work)
    }

    #[staticmethod]
    #[pyo3(signature = (storage, config, grants, among_other_objects, spec_version, cache=None))]
    fn open_or_create(
        py: Python<'_>,
        storage: &Storage,
        config: Option<&str>,
        grants: Vec<Grant>,
        among_other_objects: bool,
        spec_version: u8,
        cache: Option<&str>,
    ) -> PyResult<Task> {
        let opening = Opening::new(storage, config, grants, cache)?.of_version(spec_version)?;
        begin_lasting(py, CREATION.0, CREATION.1, async move {
            let opened = opening.open_or_create(among_other_objects).await?;
            Ok(Self::new(opened))
        })
    }

    #[staticmethod]
    fn exists(py: Python<'_>, storage: &Storage) -> PyResult<Task> {
        let place = storage.storage_handle()?;
        begin(py, async move {
            let storage = place.open().await?;
            Ok(icefield::Repository::exists(storage).await?)
        })
    }

    #[staticmethod]
    fn fetch_spec_version(py: Python<'_>, storage: &Storage) -> PyResult<Task> {
        begin(py, fetch_spec_version(storage.storage_handle()?))
    }

    #[staticmethod]
    fn fetch_config(py: Python<'_>, storage: &Storage) -> PyResult<Task> {
        begin(py, fetch_config(storage.storage_handle()?))
    }

    /// Returns the effective configuration.
    fn config(&self) -> PyResult<String> {
        Ok(document::config_to_json(&self.0.get()?.config())?)
    }

    fn save_config(&self, py: Python<'_>) -> PyResult<Task> {
        begin_lasting(py, CONFIG.0, CONFIG.1, save_config(self.handle()?))
    }

    fn granted_prefixes(&self) -> PyResult<Vec<String>> {
        let access = self.0.get()?.virtual_access();
        Ok(access.prefixes().map(ToString::to_string).collect())
    }

    fn list_branches(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move { refs::list_branches(&repository).await })
    }

    fn list_tags(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move { refs::list_tags(&repository).await })
    }

    fn lookup_branch(&self, py: Python<'_>, name: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(
            py,
            async move { refs::lookup_branch(&repository, &name).await },
        )
    }

    fn lookup_tag(&self, py: Python<'_>, name: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(
            py,
            async move { refs::lookup_tag(&repository, &name).await },
        )
    }

    fn create_branch(&self, py: Python<'_>, name: String, snapshot_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, BRANCH.0, BRANCH.1, async move {
            refs::create_branch(&repository, &name, &snapshot_id).await
        })
    }

    fn create_tag(&self, py: Python<'_>, name: String, snapshot_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, TAG.0, TAG.1, async move {
            refs::create_tag(&repository, &name, &snapshot_id).await
        })
    }

    fn reset_branch(
        &self,
        py: Python<'_>,
        name: String,
        snapshot_id: String,
        expected: Option<String>,
    ) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, BRANCH.0, BRANCH.1, async move {
            refs::reset_branch(&repository, &name, &snapshot_id, expected.as_deref()).await
        })
    }

    fn delete_branch(&self, py: Python<'_>, name: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, BRANCH.0, BRANCH.1, async move {
            refs::delete_branch(&repository, &name).await
        })
    }

    fn delete_tag(&self, py: Python<'_>, name: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, TAG.0, TAG.1, async move {
            refs::delete_tag(&repository, &name).await
        })
    }

    fn ancestry(&self, kind: &str, name: &str) -> PyResult<Stream> {
        let revision = refs::revision(kind, name, None)?;
        let history = refs::ancestry(self.handle()?, revision);
        Ok(stream(history, HISTORY_BATCH))
    }

    fn lookup_snapshot(&self, py: Python<'_>, snapshot_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move {
            refs::lookup_snapshot(&repository, &snapshot_id).await
        })
    }

    fn list_manifest_files(&self, py: Python<'_>, snapshot_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move {
            refs::list_manifest_files(&repository, &snapshot_id).await
        })
    }

    fn diff(
        &self,
        py: Python<'_>,
        from_: (String, String),
        to: (String, String),
    ) -> PyResult<Task> {
        let from = refs::revision(&from_.0, &from_.1, None)?;
        let to = refs::revision(&to.0, &to.1, None)?;
        let repository = self.handle()?;
        begin(py, async move {
            let from = repository.resolve(&from).await?;
            let to = repository.resolve(&to).await?;
            Ok(DiffRow(repository.diff(from, to).await?))
        })
    }

    #[pyo3(signature = (kind, name, as_of, for_all=false))]
    fn readonly_session(
        &self,
        py: Python<'_>,
        kind: &str,
        name: &str,
        as_of: Option<i64>,
        for_all: bool,
    ) -> PyResult<Task> {
        let revision = refs::revision(kind, name, as_of)?;
        let repository = self.handle()?;
        let work = async move {
            let session = repository.read_session(revision).await?;
            Ok(Session::new(repository, session))
        };
        begin_for(for_all, py, work)
    }

    fn writable_session(&self, py: Python<'_>, branch: &str) -> PyResult<Task> {
        let branch = convert::branch(branch)?;
        let repository = self.handle()?;
        begin(py, async move {
            let session = repository.write_session(branch).await?;
            Ok(Session::new(repository, session))
        })
    }

    fn rearrange_session(&self, py: Python<'_>, branch: &str) -> PyResult<Task> {
        let branch = convert::branch(branch)?;
        let repository = self.handle()?;
        begin(py, async move {
            refs::rearrange_session(repository, branch).await
        })
    }

    #[pyo3(signature = (blob, for_all=false))]
    fn open_fork(&self, py: Python<'_>, blob: Vec<u8>, for_all: bool) -> PyResult<Task> {
        let repository = self.handle()?;
        let work = async move {
            let session = repository.open_fork(&blob).await?;
            Ok(Session::new(repository, session))
        };
        begin_for(for_all, py, work)
    }

    fn inspect_snapshot(&self, py: Python<'_>, snapshot_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move {
            inspect::inspect_snapshot(&repository, &snapshot_id).await
        })
    }

    fn inspect_manifest(&self, py: Python<'_>, manifest_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move {
            inspect::inspect_manifest(&repository, &manifest_id).await
        })
    }

    fn inspect_transaction_log(&self, py: Python<'_>, snapshot_id: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move {
            inspect::inspect_transaction_log(&repository, &snapshot_id).await
        })
    }

    fn inspect_repo_info(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(
            py,
            async move { inspect::inspect_repo_info(&repository).await },
        )
    }

    fn upgrade(&self, py: Python<'_>, dry_run: bool, keep_files: bool) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, UPGRADE.0, UPGRADE.1, async move {
            let options = UpgradeOptions {
                keep_files,
                ..UpgradeOptions::default()
            };
            match dry_run {
                true => repository.plan_upgrade(&options).await?,
                false => repository.upgrade(&options).await?,
            };
            Ok(())
        })
    }

    fn spec_version(&self) -> u8 {
        self.1
    }

    fn status(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move { state::status(&repository).await })
    }

    fn set_status(
        &self,
        py: Python<'_>,
        online: bool,
        set_at: i64,
        reason: Option<String>,
    ) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, STATUS.0, STATUS.1, async move {
            state::set_status(&repository, online, set_at, reason).await
        })
    }

    fn feature_flags(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move { state::flags(&repository).await })
    }

    fn set_feature_flag(
        &self,
        py: Python<'_>,
        name: String,
        value: Option<bool>,
    ) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, FLAG.0, FLAG.1, async move {
            state::set_flag(&repository, &name, value).await
        })
    }

    fn metadata(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(py, async move { state::metadata(&repository).await })
    }

    fn set_metadata(&self, py: Python<'_>, document: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, METADATA.0, METADATA.1, async move {
            state::set_metadata(&repository, &document).await
        })
    }

    fn update_metadata(&self, py: Python<'_>, document: String) -> PyResult<Task> {
        let repository = self.handle()?;
        begin_lasting(py, METADATA.0, METADATA.1, async move {
            state::update_metadata(&repository, &document).await
        })
    }

    fn operations(&self) -> PyResult<Stream> {
        Ok(stream(state::operations(self.handle()?), HISTORY_BATCH))
    }

    fn expire_snapshots(
        &self,
        py: Python<'_>,
        older_than: i64,
        delete_branches: bool,
        delete_tags: bool,
    ) -> PyResult<Task> {
        let repository = self.handle()?;
        let interrupt = Interrupt::new();
        begin_interruptible(py, interrupt.clone(), GOES_ON, async move {
            let refs = (delete_branches, delete_tags);
            upkeep::expire_snapshots(&repository, older_than, refs, &interrupt).await
        })
    }

    fn garbage_collect(
        &self,
        py: Python<'_>,
        older_than: i64,
        dry_run: bool,
        force: bool,
    ) -> PyResult<Task> {
        let repository = self.handle()?;
        // A collection dropped halfway would block other collections until its lock expires.
        let interrupt = Interrupt::new();
        begin_interruptible(py, interrupt.clone(), GOES_ON, async move {
            upkeep::garbage_collect(&repository, older_than, dry_run, force, &interrupt).await
        })
    }

    fn chunk_storage_stats(&self, py: Python<'_>) -> PyResult<Task> {
        let repository = self.handle()?;
        begin(
            py,
            async move { upkeep::chunk_storage_stats(&repository).await },
        )
    }

    fn rewrite_manifests(
        &self,
        py: Python<'_>,
        message: String,
        branch: String,
        metadata: Option<String>,
        amends: bool,
    ) -> PyResult<Task> {
        let repository = self.handle()?;
        let interrupt = Interrupt::new();
        begin_interruptible(py, interrupt.clone(), BEGINS_ANEW, async move {
            let commit = (&*message, metadata.as_deref(), amends);
            upkeep::rewrite_manifests(&repository, &branch, commit, &interrupt).await
        })
    }
}

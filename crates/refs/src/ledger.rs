//! The ledger: reading what of a repository changes in place.

mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt};
use icefield_format::{Snapshot, SnapshotId, SpecVersion, Update, Writer};
use icefield_storage::{Clock, Entropy, Key, ObjectMeta, Storage, StorageError};

use crate::graph::{GraphSource, LedgerGraph, SnapshotSource};
use crate::ref_files::{self, RefFiles};
use crate::spec_v2::{self, RepoObject};
use crate::walk::{Pace, ancestors};
use crate::{
    BranchName, EditOutcome, FetchError, Misspelled, RefList, RefsError, SnapshotInfo, TagName,
    TagState, Tip,
};

/// All state of one repository that changes in place: refs, parents, configuration, and in spec version 2 the status
/// and the operations log. Cheap to clone. It holds no state but the handles it was given, and in spec version 2 the
/// content of `repo` as it was read last.
///
/// ```
/// use std::sync::Arc;
/// use icefield_format::{DecodeLimits, Snapshot, SnapshotId, Writer, layout};
/// use icefield_refs::{Creation, Edit, EditOutcome, FetchError, Ledger, NewRepository, SnapshotSource};
/// use icefield_storage::{Key, Storage, StorageExt};
/// # use icefield_storage_memory::MemoryStorage;
///
/// /// Reads snapshots from the store, without a cache.
/// #[derive(Debug)]
/// struct Snapshots(Arc<dyn Storage>);
///
/// #[async_trait::async_trait]
/// impl SnapshotSource for Snapshots {
///     async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError> {
///         let key = Key::parse(&layout::snapshot_key(id)).expect("a key of the format");
///         let what = "snapshot";
///         let failed = |source| FetchError::Storage { what, id: id.to_string(), source };
///         let (file, _) = self.0.read(&key).await.map_err(failed)?;
///         Ok(Arc::new(Snapshot::decode(&file, id, &DecodeLimits::default())?))
///     }
///
///     fn forget(&self, _: SnapshotId) {}
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
/// let ledger = Ledger::spec_v1(Arc::clone(&storage), Arc::new(Snapshots(storage)));
/// let new = NewRepository {
///     created_at: 0,
///     writer: Writer::default(),
///     config: None,
///     initial: None,
///     among_others: false,
/// };
/// assert!(matches!(ledger.create(new).await?, Creation::Created(_)));
///
/// let edit = Edit::CreateTag { name: "v1".parse()?, target: SnapshotId::INITIAL };
/// assert!(matches!(ledger.apply(edit).await?, EditOutcome::Done(_)));
/// assert_eq!(ledger.list().await?.tags.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) layout: Layout,
    pub(crate) snapshots: Arc<dyn SnapshotSource>,
}

/// Where the spec versions keep what changes in place.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    V1(RefFiles),
    V2(RepoObject),
}

impl Ledger {
    /// Returns the ledger of a repository of spec version 1 at `storage`. Sends no request.
    pub fn spec_v1(storage: Arc<dyn Storage>, snapshots: Arc<dyn SnapshotSource>) -> Self {
        Self {
            layout: Layout::V1(RefFiles::new(storage)),
            snapshots,
        }
    }

    /// Returns the ledger of a repository of spec version 2 at `storage`. Sends no request.
    ///
    /// # Errors
    /// None in practice: the key of `repo` is a constant of the format.
    pub fn spec_v2(
        storage: Arc<dyn Storage>,
        snapshots: Arc<dyn SnapshotSource>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        writer: Writer,
    ) -> Result<Self, StorageError> {
        Ok(Self {
            layout: Layout::V2(RepoObject::new(storage, clock, entropy, writer)?),
            snapshots,
        })
    }

    /// Returns the ledger with another source of decoded snapshots.
    #[must_use]
    pub fn with_snapshots(self, snapshots: Arc<dyn SnapshotSource>) -> Self {
        Self { snapshots, ..self }
    }

    /// Returns a ledger that goes on reading the state as it is stored now, whatever is edited meanwhile, and that
    /// edits nothing. In spec version 1, whose state is many objects, it reads like this one.
    ///
    /// # Errors
    /// [`RefsError::RepoMissing`], [`RefsError::InvalidRepo`], and the errors of the store.
    pub async fn pinned(&self) -> Result<Self, RefsError> {
        let layout = match &self.layout {
            Layout::V1(files) => Layout::V1(files.clone()),
            Layout::V2(object) => Layout::V2(object.pinned().await?),
        };
        let snapshots = Arc::clone(&self.snapshots);
        Ok(Self { layout, snapshots })
    }

    /// Returns the version of the format that the repository has.
    pub fn spec_version(&self) -> SpecVersion {
        match &self.layout {
            Layout::V1(_) => SpecVersion::V1,
            Layout::V2(_) => SpecVersion::V2,
        }
    }

    /// Returns the tip of a branch; `None` if there is no such branch. One request.
    ///
    /// # Errors
    /// [`RefsError::InvalidRefFile`] and the errors of the store.
    pub async fn branch(&self, name: &BranchName) -> Result<Option<Tip>, RefsError> {
        match &self.layout {
            Layout::V1(files) => files.branch(name).await,
            Layout::V2(object) => self.branch_in(&*object.read().await?, name).await,
        }
    }

    /// Returns the present tip of a branch of which a tip was read before; `None` if the branch is gone. In a bucket, a
    /// branch whose name is the other spelling of this one is another branch, also where [`Ledger::branch`] would find
    /// it.
    ///
    /// # Errors
    /// [`RefsError::Upgraded`], and as [`Ledger::branch`].
    pub async fn branch_of(&self, name: &BranchName, tip: &Tip) -> Result<Option<Tip>, RefsError> {
        match &self.layout {
            Layout::V1(files) => {
                let found = files.branch_of(name, tip).await?;
                if found.is_none() {
                    self.require_all_here().await?;
                }
                Ok(found)
            }
            Layout::V2(_) => self.branch(name).await,
        }
    }

    /// Returns the state of a tag name: free, in use, or taken by a deleted tag.
    ///
    /// # Errors
    /// [`RefsError::InvalidRefFile`] and the errors of the store.
    pub async fn tag(&self, name: &TagName) -> Result<TagState, RefsError> {
        match &self.layout {
            Layout::V1(files) => files.tag(name).await,
            Layout::V2(object) => Ok(spec_v2::tag_state(&object.read().await?.info, name)),
        }
    }

    /// Returns the tip of a branch.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`], and as [`Ledger::branch`].
    pub async fn resolve_branch(&self, name: &BranchName) -> Result<Tip, RefsError> {
        match self.branch(name).await? {
            Some(tip) => Ok(tip),
            None => {
                self.require_all_here().await?;
                Err(RefsError::BranchNotFound(name.clone()))
            }
        }
    }

    /// Returns the tip of a branch for a session that is about to write. Whether the repository accepts writes is
    /// decided again when the session commits.
    ///
    /// # Errors
    /// [`RefsError::NotOnline`], and as [`Ledger::resolve_branch`].
    pub async fn branch_to_write(&self, name: &BranchName) -> Result<Tip, RefsError> {
        let tip = match &self.layout {
            Layout::V1(_) => return self.resolve_branch(name).await,
            Layout::V2(object) => {
                let state = object.read().await?;
                spec_v2::require_online(&state.info)?;
                state.branch(name)
            }
        };
        tip.ok_or_else(|| RefsError::BranchNotFound(name.clone()))
    }

    /// Returns the snapshot that a tag points to.
    ///
    /// # Errors
    /// [`RefsError::TagNotFound`], [`RefsError::TagDeleted`], and as [`Ledger::tag`].
    pub async fn resolve_tag(&self, name: &TagName) -> Result<SnapshotId, RefsError> {
        match self.tag(name).await? {
            TagState::Present(id) => Ok(id),
            TagState::Absent => {
                self.require_all_here().await?;
                Err(RefsError::TagNotFound(name.clone()))
            }
            TagState::Deleted => Err(RefsError::TagDeleted(name.clone())),
        }
    }

    /// Lists all refs, and everything else below `refs/`. A ref that cannot be read is listed with its error.
    ///
    /// # Errors
    /// The errors of the store; a list that failed is never an empty one.
    pub async fn list(&self) -> Result<RefList, RefsError> {
        match &self.layout {
            Layout::V1(files) => {
                let list = files.list().await?;
                if !list.branches.contains_key(&BranchName::main()) {
                    self.require_all_here().await?;
                }
                Ok(list)
            }
            Layout::V2(object) => object.read().await?.refs(),
        }
    }

    /// Returns the keys of the file and of the tombstone of a tag by the name that [`Ledger::list`] gives it, in the spelling
    /// that the store has one of them in.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`], [`RefsError::OnlySpecV1`], and the errors of the store.
    pub async fn tag_keys(&self, name: &TagName) -> Result<(Key, Key), RefsError> {
        let form = self.files("the key of a tag")?.form_in_list(name).await?;
        Ok((
            ref_files::tag_key(name, form)?,
            ref_files::tombstone_key(name, form)?,
        ))
    }

    /// Gives an object of a ref the store's own spelling. Readers that come in between see it spelled twice, which writers
    /// refuse; a call that was interrupted there is finished by the next one.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`] if the store has both spellings with different bytes, [`RefsError::NoConditions`], and
    /// the errors of the store.
    pub async fn respell(&self, misspelled: &Misspelled) -> Result<EditOutcome, RefsError> {
        self.files("the spelling of a ref")?
            .respell(misspelled)
            .await
    }

    /// Returns the graph of the repository, from memory where this handle has it, else from the store.
    pub fn graph(&self) -> LedgerGraph {
        match &self.layout {
            Layout::V1(files) => LedgerGraph(GraphSource::Files {
                storage: Arc::clone(files.shared_storage()),
                snapshots: Arc::clone(&self.snapshots),
            }),
            Layout::V2(object) => LedgerGraph(GraphSource::Object(object.clone())),
        }
    }

    /// Walks a history, newest first, one snapshot at a time. The stream ends after the first error.
    pub fn ancestry(
        &self,
        start: SnapshotId,
    ) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
        ancestors(self.graph(), start, Pace::together(1)).boxed()
    }

    /// Returns the record of one snapshot: parent, time, message, metadata.
    ///
    /// # Errors
    /// The [`FetchError`] that names the snapshot.
    pub async fn snapshot(&self, id: SnapshotId) -> Result<SnapshotInfo, FetchError> {
        let object = match &self.layout {
            Layout::V1(_) => return SnapshotInfo::of(&*self.snapshots.snapshot(id).await?),
            Layout::V2(object) => object,
        };
        match object.snapshot(id).await {
            Ok(info) => Ok(info),
            Err(RefsError::Fetch(error)) => Err(error),
            Err(RefsError::InvalidRepo { source }) => Err(source.into()),
            Err(error) => Err(FetchError::Storage {
                what: "snapshot",
                id: id.to_string(),
                source: error.into_storage(object.key()),
            }),
        }
    }

    /// Returns what the file of a snapshot says of itself, as a child of another one: for a snapshot that an edit is to add, and
    /// that no graph has yet.
    ///
    /// # Errors
    /// The [`FetchError`] that names it.
    pub async fn as_child(
        &self,
        id: SnapshotId,
        parent: SnapshotId,
    ) -> Result<SnapshotInfo, FetchError> {
        Ok(SnapshotInfo {
            parent_id: Some(parent),
            ..SnapshotInfo::of(&*self.snapshots.snapshot(id).await?)?
        })
    }

    /// Returns whether the file of a snapshot is in the state in which the graph told its parent. Expiration rewrites files of
    /// spec version 1.
    pub fn is_as_read(&self, file: &Snapshot, parent: Option<SnapshotId>) -> bool {
        match &self.layout {
            Layout::V1(_) => file.parent_id() == parent,
            Layout::V2(_) => true,
        }
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        match &self.layout {
            Layout::V1(files) => files.shared_storage(),
            Layout::V2(object) => object.storage(),
        }
    }

    /// Refuses an operation that exists in spec version 1 alone; `what` names it in the message.
    ///
    /// # Errors
    /// [`RefsError::OnlySpecV1`].
    pub fn require_spec_v1(&self, what: &'static str) -> Result<(), RefsError> {
        self.files(what).map(drop)
    }

    /// The files of spec version 1, which alone has what is asked for.
    pub(crate) fn files(&self, edit: &'static str) -> Result<&RefFiles, RefsError> {
        match &self.layout {
            Layout::V1(files) => Ok(files),
            Layout::V2(_) => Err(RefsError::OnlySpecV1 { edit }),
        }
    }

    /// The object of spec version 2, which alone has what is asked for.
    pub(crate) fn object(&self, edit: &'static str) -> Result<&RepoObject, RefsError> {
        match &self.layout {
            Layout::V1(_) => Err(RefsError::OnlySpecV2 { edit }),
            Layout::V2(object) => Ok(object),
        }
    }

    /// Returns the snapshots that the repository lists, whether a ref reaches them or not, each with its
    /// [pruned logs](SnapshotInfo::pruned_logs). Spec version 1 lists none.
    ///
    /// # Errors
    /// As [`Ledger::list`].
    pub async fn listed(&self) -> Result<BTreeMap<SnapshotId, Vec<SnapshotId>>, RefsError> {
        let Layout::V2(object) = &self.layout else {
            return Ok(BTreeMap::new());
        };
        let state = object.read().await?;
        let listed = state.info.snapshots().snapshots();
        let listed = listed.map(|it| (it.id(), it.pruned_ancestor_tx_logs().collect()));
        Ok(listed.collect())
    }

    /// Lists the objects in `overwritten/` that hold earlier states of the repository and that its operations log does not need.
    /// Spec version 1 has none.
    ///
    /// # Errors
    /// [`RefsError::LogPageMissing`], [`RefsError::LogRepeats`], and as [`Ledger::list`].
    pub async fn unneeded_backups(&self) -> Result<Vec<ObjectMeta>, RefsError> {
        match &self.layout {
            Layout::V1(_) => Ok(Vec::new()),
            Layout::V2(object) => object.unneeded_backups().await,
        }
    }

    /// Returns the operations on the repository, newest first. The stream ends after the first error.
    ///
    /// # Errors
    /// As [`Ledger::status`].
    pub async fn operations(
        &self,
    ) -> Result<BoxStream<'static, Result<Update, RefsError>>, RefsError> {
        let object = self.object("the operations log")?;
        Ok(object.log(object.read().await?).boxed())
    }

    /// Checks that a ref may point to a snapshot.
    ///
    /// # Errors
    /// [`RefsError::SnapshotNotFound`] if there is no such snapshot.
    pub async fn check_target(&self, id: SnapshotId) -> Result<(), RefsError> {
        if let Layout::V2(_) = &self.layout {
            self.snapshot(id).await.map_err(|error| match error {
                FetchError::NotListed { id } => RefsError::SnapshotNotFound(id),
                error => error.into(),
            })?;
        }
        match self.snapshots.snapshot(id).await {
            Ok(_) => Ok(()),
            Err(FetchError::Missing { .. }) => Err(RefsError::SnapshotNotFound(id)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the state of a branch that is to be replaced or deleted whatever it points to, also if its ref
    /// file is damaged. In a bucket, the name is that of the list: one in the other spelling is not looked for.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`] and the errors of the store.
    pub async fn branch_to_replace(&self, name: &BranchName) -> Result<Tip, RefsError> {
        let tip = match &self.layout {
            Layout::V1(files) => files.branch_to_replace(name).await?,
            Layout::V2(_) => self.branch(name).await?,
        };
        match tip {
            Some(tip) => Ok(tip),
            None => {
                self.require_all_here().await?;
                Err(RefsError::BranchNotFound(name.clone()))
            }
        }
    }
}

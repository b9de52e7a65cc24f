//! The findings of a check: one per object and rule, with the refs that lead to it and the advice.

use icefield_format::SnapshotId;
use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// An object that a ref reaches is missing, cannot be read, or differs from what was committed.
    Damage,
    /// A rule of the format is broken. This program can still read everything; other readers may fail.
    Warning,
    /// Harmless, and worth knowing.
    Note,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $severity:ident, $title:literal, $advice:literal;)*) => {
        /// The kind of a problem that a check finds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])* $name,)*
        }

        impl FindingKind {
            /// Returns the severity of findings of this kind.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// Returns a description of this kind, for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// Returns the next step, for people.
            pub fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)* }
            }
        }
    };
}

kinds! {
    /// A ref file that cannot be read.
    RefDamaged, Damage, "refs whose file is damaged",
        "`fsck --repair` moves a branch to the newest whole snapshot that no other branch reaches; `branch reset` to any";
    /// Backups of another `repo` that was there before this one was made.
    RepoAnew, Damage, "backups of a repository that was there before `repo` was made anew",
        "run no `icefield gc`: what was committed to the earlier repository may still be there. Copy all objects elsewhere, delete `repo` in that copy and run `fsck --repair` there; or, if the earlier repository is given up, delete its backups";
    /// A ref that points to no snapshot.
    RefDangling, Damage, "refs that point to a missing snapshot",
        "`fsck --repair` moves a branch to the newest whole snapshot that no other branch reaches; `branch reset` to any";
    /// Something below `refs/` that is no ref, or cannot be read as one.
    RefStray, Damage, "things below refs/ that are not understood",
        "each may be a ref, so that nothing is collected, expired or copied while it is there: give it the name it should have, or move it out of refs/; it is never deleted";
    /// A ref in both spellings.
    RefTwice, Damage, "refs whose name is there in two spellings",
        "`fsck --repair` drops the second spelling if both say the same; otherwise move away the file that is wrong: until then the ref is neither read nor written";
    /// No branch `main`.
    MainMissing, Damage, "a repository without its branch main",
        "`fsck --repair --restore-branch main` makes it again at the snapshot proposed";
    /// The object of spec version 2, beside refs of version 1.
    RepoObject, Damage, "an object `repo` beside refs of spec version 1",
        "if the repository was not upgraded to spec version 2, move the object away: while it is there, no program opens it as version 1";
    /// No object `repo` where its backups are.
    RepoMissing, Damage, "a repository of spec version 2 without its object `repo`",
        "`fsck --repair` puts the newest sound backup out of overwritten/ in its place; what was committed after that is not listed then: run no `icefield gc` before it is settled";
    /// An object `repo` that cannot be decoded.
    RepoDamaged, Damage, "an object `repo` that cannot be decoded",
        "`fsck --repair` keeps it aside and puts the newest sound backup out of overwritten/ in its place; what was committed after that is not listed then: run no `icefield gc` before it is settled";
    /// An object `repo` that lists none of the snapshots that are there.
    RepoForeign, Damage, "an object `repo` of another repository",
        "`fsck --repair` keeps it aside and puts the newest backup out of overwritten/ that is of this repository in its place";
    /// Metadata of the repository that cannot be read.
    RepoMetadataDamaged, Damage, "metadata of the repository that cannot be read",
        "set the metadata of the repository again";
    /// A configuration that cannot be read.
    ConfigDamaged, Damage, "a configuration that cannot be read",
        "put back a copy of config.yaml, or move it away: a repository without one has the default settings";
    /// A history leads to a snapshot that is not there.
    SnapshotMissing, Damage, "snapshots of a history that are missing",
        "put the object back from a copy; what lies after it in the history is not touched by this, what lies before it is lost";
    /// A snapshot that cannot be decoded, or says to be another.
    SnapshotDamaged, Damage, "snapshots that cannot be decoded",
        "put the object back from a copy; of a branch that points to it, `fsck --repair` restores an older snapshot";
    /// A history that goes round in a circle.
    HistoryCycle, Damage, "histories that go round in a circle",
        "`branch reset` moves the branch to a snapshot whose history ends";
    /// A node below an array.
    NodeBelowArray, Damage, "nodes below an array",
        "`fsck --repair` drops them from the branch in a new commit";
    /// A `zarr.json` that is none.
    MetadataInvalid, Damage, "nodes whose zarr.json cannot be used",
        "write the node's zarr.json again, or delete the node";
    /// A snapshot that records another shape than `zarr.json`.
    MetadataDisagrees, Damage, "arrays whose recorded shape is not that of zarr.json",
        "write the node's zarr.json again, with a changed attribute: the commit records what it says";
    /// A manifest that is not there.
    ManifestMissing, Damage, "manifests that are missing",
        "put the object back from a copy; `fsck --repair` drops its chunk refs from the branch in a new commit";
    /// A manifest that cannot be decoded, or says to be another.
    ManifestDamaged, Damage, "manifests that cannot be decoded",
        "put the object back from a copy; `fsck --repair` drops its chunk refs from the branch in a new commit";
    /// Chunk refs that no lookup finds.
    ExtentsTooSmall, Damage, "chunk refs outside of the extents of their manifest",
        "these chunks are stored and never found; `fsck --repair` corrects the extents in a new commit";
    /// Two refs for one chunk.
    ChunkTwice, Damage, "chunks with refs in two manifests of their array",
        "which one is read is chance: write these chunks again";
    /// A chunk object that is not there.
    ChunkMissing, Damage, "chunk objects that are missing",
        "put the object back from a copy; `fsck --repair` drops the refs to it from the branch in a new commit";
    /// A chunk object that is shorter than a ref says.
    ChunkShort, Damage, "chunk objects that are too short",
        "put the object back from a copy; `fsck --repair` drops the refs beyond its end from the branch in a new commit";
    /// A chunk object whose bytes cannot be had.
    ChunkUnreadable, Damage, "chunk objects that cannot be read to their end",
        "copy the repository away from this store, then check the copy";
    /// A virtual ref with a location that is none.
    VirtualLocationInvalid, Damage, "virtual chunks whose location is none",
        "import them again; `fsck --repair --drop-virtual` drops the refs from the branch in a new commit";
    /// A foreign object that is not there.
    VirtualMissing, Damage, "foreign objects that are missing",
        "put the file back; `fsck --repair --drop-virtual` drops the refs to it from the branch in a new commit";
    /// A foreign object that is shorter than a ref says.
    VirtualShort, Damage, "foreign objects that are too short",
        "put the file back, or import it again; `fsck --repair --drop-virtual` drops the refs to it in a new commit";
    /// A foreign object that was written since.
    VirtualChanged, Damage, "foreign objects that have changed",
        "import it again; `fsck --repair --drop-virtual` drops the refs to it from the branch in a new commit";
    /// A transaction log that is not there.
    LogMissing, Damage, "transaction logs that are missing",
        "data is not touched by this, but writers that began before that commit cannot be rebased by it; `fsck --repair` writes it anew from what the commit changed";
    /// A transaction log that cannot be decoded, or says to be another.
    LogDamaged, Damage, "transaction logs that cannot be decoded",
        "data is not touched by this, but writers that began before that commit cannot be rebased by it; `fsck --repair` writes it anew from what the commit changed";
    /// A log that keeps a change quiet.
    LogIncomplete, Damage, "transaction logs that do not tell all that changed",
        "data is not touched by this, but a writer that began before that commit may overwrite what it does not tell; `fsck --repair` makes it tell that, too";
    /// A ref in the spelling of another kind of store.
    RefSpelling, Warning, "refs whose key is spelled as in another kind of store",
        "they are read here, and other programs may not see them: `fsck --repair` renames their files";
    /// A file that an operating system has dropped below `refs/`.
    RefSystemFile, Warning, "files of operating systems below refs/",
        "nothing: they say nothing of refs, and can be deleted";
    /// A deleted tag whose mark has bytes.
    TombstoneNotEmpty, Warning, "marks of deleted tags that are not empty",
        "nothing: the tag counts as deleted";
    /// A mark of a deleted tag without the tag.
    TombstoneWithoutTag, Warning, "marks of deleted tags without the tag's file",
        "nothing: the name stays taken here, but others may make a tag of it that no reader sees";
    /// A child that is not younger than its parent.
    NotYounger, Warning, "snapshots that are not younger than their parent",
        "versions given by time may be the wrong ones there: give them by id";
    /// A history that ends at another snapshot than every other.
    NoRoot, Warning, "histories that do not begin with the first snapshot of every repository",
        "nothing, if the repository was made by another program on purpose";
    /// A node without its group.
    NodeWithoutParent, Warning, "nodes whose group is missing",
        "lists of groups do not show them; `fsck --repair` makes the groups in a new commit";
    /// Other dimension names than in `zarr.json`.
    NamesDisagree, Warning, "arrays whose recorded dimension names are not those of zarr.json",
        "write the node's zarr.json again, with a changed attribute: the commit records what it says";
    /// A manifest of another length than recorded.
    ManifestSize, Warning, "manifests of another length than the snapshot says",
        "the object was replaced after the commit: compare it with a copy";
    /// A manifest with another number of refs than recorded.
    ManifestCount, Warning, "manifests with another number of chunk refs than the snapshot says",
        "the object was replaced after the commit: compare it with a copy";
    /// Extents that claim more than there is.
    ExtentsTooLarge, Warning, "extents that are larger than their chunk refs",
        "nothing: reads of absent chunks are slower; `fsck --repair` corrects the extents in a new commit";
    /// Two manifests that claim the same region.
    ExtentsOverlap, Warning, "manifests of one array whose extents overlap",
        "other readers look into the first one only: write the chunks of that region again";
    /// A virtual ref that no container covers.
    VirtualNoContainer, Warning, "virtual chunks that no container of the configuration covers",
        "add a container with that prefix to the configuration: until then they cannot be read";
    /// A foreign object that was not looked at.
    VirtualUnchecked, Warning, "foreign objects that could not be looked at",
        "grant access to them with --grant PREFIX, or check that their store is up";
    /// A snapshot of which `repo` says something else than its file.
    SnapshotDisagrees, Warning, "snapshots of which `repo` says something else than their file",
        "compare `repo` with its backups in overwritten/: histories show what `repo` says";
    /// Something that is damaged of a snapshot that `repo` lists and no ref reaches, or the snapshot itself.
    DetachedBroken, Warning, "damage of snapshots that `repo` lists and no ref reaches",
        "nothing: `icefield gc` takes them out of the list once they are old";
    /// A `repo` that was put back, and snapshots that may have been committed after the backup.
    PutBackUnsettled, Warning, "snapshots that a `repo` which was put back does not list",
        "they may be of commits that were acknowledged, and `gc` and `expire` change nothing until that is settled: `fsck --repair --restore-branch recovered/NAME` makes a branch of the newest whose parent is certain, and `fsck --repair --give-up-unlisted` gives up those that are left";
    /// Refs of spec version 1 beside a sound `repo`.
    RefsBesideRepo, Warning, "refs of spec version 1 beside the object `repo`",
        "programs that opened the repository before it was upgraded may write there what no other program sees: `icefield upgrade` tells what differs";
    /// A page of the operations log that cannot be read.
    OpsLogBroken, Warning, "operations logs that end early",
        "put the object back from a copy: nothing but the log before it is lost, and `icefield gc` deletes no backups until then";
    /// A backup that an entry of the operations log names, and that is gone.
    BackupMissing, Warning, "backups of `repo` that are named and missing",
        "put the object back from a copy: the operations log ends there once its list outgrows its page";
    /// Entries of the operations log that are not in the order of their times.
    OpsLogTimes, Warning, "operations logs whose times do not descend",
        "nothing: states given by time may be the wrong ones there";
    /// An operations log whose newest entry lies ahead of the clock.
    OpsLogAhead, Warning, "operations logs that are ahead of the clock",
        "set the clock that is wrong: more than ten minutes ahead, no edit is taken";
    /// A tag whose name is listed as deleted.
    TagDeletedToo, Warning, "tags that are listed as deleted, too",
        "`tag delete` it: other readers may not see it";
    /// A log that tells what did not happen.
    LogExcess, Warning, "transaction logs that tell what did not happen",
        "nothing: writers that began before that commit may get conflicts for no reason";
    /// A repository that takes no writes.
    RepoNotOnline, Note, "repositories that take no writes",
        "`icefield set-status LOCATION online` allows writes again";
    /// Feature flags that are not known.
    FlagUnknown, Note, "feature flags that are not known",
        "nothing: a newer version of the format has them, and they are kept";
    /// Updates of an unknown kind in the operations log.
    UpdateUnknown, Note, "kinds of update in the operations log that are not known",
        "nothing: a newer version of the format has them, and the list that holds them is kept in overwritten/";
    /// A snapshot that may have been committed after the state that a check goes by.
    SnapshotUnlisted, Note, "snapshots that may have been committed after the newest sound backup of `repo`",
        "run no `icefield gc` before: files do not tell whether a commit was acknowledged: `fsck --repair --restore-branch recovered/NAME` makes a branch of the newest whose parent is certain";
    /// A name in a bucket that may be an encoded one.
    RefNameEncoded, Note, "refs whose name looks percent-encoded",
        "nothing, if it was given so; if the repository was copied here from a disk by another tool, `icefield copy` from there keeps names";
    /// A manifest that is listed and not used.
    ManifestUnused, Note, "manifests that are listed and not used", "nothing";
    /// Refs of a node that the snapshot does not have.
    ManifestUnknownNode, Note, "chunk refs of nodes that do not exist", "nothing: no reader uses them";
    /// A chunk outside the grid.
    ChunkOutsideGrid, Note, "chunk refs outside the grid of their array", "nothing: no reader uses them";
    /// A chunk with another number of coordinates.
    ChunkWrongRank, Note, "chunk refs with a wrong number of coordinates", "nothing: no reader uses them";
    /// Virtual refs that were counted only.
    VirtualCounted, Note, "virtual chunks that were counted and not looked at",
        "`fsck --virtual`, with --grant PREFIX, looks whether their files are there";
    /// An object that is none of the repository's.
    Stray, Note, "objects that do not belong to the repository", "nothing: they are never touched";
    /// Objects that no ref reaches.
    Garbage, Note, "objects that no ref reaches",
        "nothing: they are of commits under way, or left by stopped ones and deleted branches, and can be collected";
}

impl FindingKind {
    /// Whether it concerns all of the repository, whichever ref is looked at.
    pub(super) fn is_general(self) -> bool {
        matches!(
            self,
            Self::RepoObject
                | Self::RepoMissing
                | Self::RepoDamaged
                | Self::RepoForeign
                | Self::RepoAnew
                | Self::ConfigDamaged
                | Self::RefsBesideRepo
        )
    }
}

/// One problem that a check has found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The severity of the problem.
    pub severity: Severity,
    /// The kind of the problem.
    pub kind: FindingKind,
    /// The key of the object; for virtual chunks, the location.
    pub key: String,
    /// The rule that is broken, and how, as a sentence.
    pub rule: String,
    /// The snapshot that refers to the object, the oldest if several do.
    pub snapshot: Option<SnapshotId>,
    /// The path of the node that refers to the object in that snapshot.
    pub path: Option<String>,
    /// The first chunk that is concerned.
    pub index: Option<Vec<u32>>,
    /// The number of chunks, nodes or objects that are concerned.
    pub count: u64,
    /// The refs whose history contains the snapshot.
    pub refs: Vec<String>,
    /// The refs among these that show the damage now.
    pub tips: Vec<String>,
    /// The advice.
    pub next: &'static str,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, key: impl Into<String>, rule: impl Into<String>) -> Self {
        Self {
            severity: kind.severity(),
            kind,
            key: key.into(),
            rule: rule.into(),
            snapshot: None,
            path: None,
            index: None,
            count: 1,
            refs: Vec::new(),
            tips: Vec::new(),
            next: kind.advice(),
        }
    }

    pub(super) fn advise(mut self, next: &'static str) -> Self {
        self.next = next;
        self
    }

    /// Makes damage a warning, but for that of logs, which a repair mends: no ref shows a snapshot that is detached.
    pub(super) fn of_detached(mut self) -> Self {
        let is_of_log = matches!(
            self.kind,
            FindingKind::LogMissing | FindingKind::LogDamaged | FindingKind::LogIncomplete
        );
        if self.severity == Severity::Damage && !is_of_log {
            let kind = FindingKind::DetachedBroken;
            self.rule = format!("of {}: {}", self.kind.title(), self.rule);
            (self.severity, self.kind, self.next) = (kind.severity(), kind, kind.advice());
        }
        self
    }

    pub(super) fn of(mut self, snapshot: SnapshotId) -> Self {
        self.snapshot = Some(snapshot);
        self
    }

    pub(super) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub(super) fn chunks(mut self, first: &[u32], count: u64) -> Self {
        self.index = Some(first.to_vec());
        self.count = count;
        self
    }

    pub(super) fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    pub(super) fn by(mut self, name: impl Into<String>) -> Self {
        self.refs.push(name.into());
        self
    }

    /// The mark by which the same damage at two snapshots is known: an object, or a place in the hierarchy.
    pub(super) fn mark(&self) -> (FindingKind, String) {
        let place = match (&self.path, self.key.starts_with("snapshots/")) {
            (Some(path), true) => path.clone(),
            _ => self.key.clone(),
        };
        let kind = match self.kind {
            FindingKind::ChunkShort | FindingKind::ChunkUnreadable => FindingKind::ChunkMissing,
            FindingKind::VirtualShort | FindingKind::VirtualChanged => FindingKind::VirtualMissing,
            kind => kind,
        };
        (kind, place)
    }
}

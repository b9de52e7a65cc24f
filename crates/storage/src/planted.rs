//! Faults to be planted on purpose, which show that the tests find faults. `cargo xtask planted` plants one after the other,
//! and requires that the test that `xtask/planted.txt` names for it fails.
//!
//! A place that can have a fault asks [`planted`]. The answer is a constant `false` without the feature `planted-bugs`, and in every
//! build without debug assertions, which a release is.

/// Declares the faults, and the names by which the environment names them.
macro_rules! bugs {
    ($($(#[doc = $doc:literal])+ $bug:ident = $name:literal,)+) => {
        /// A fault that can be planted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PlantedBug {
            $($(#[doc = $doc])+ $bug,)+
        }

        impl PlantedBug {
            /// All of them, with their names.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$bug, $name),)+];
        }
    };
}

bugs! {
    // The local disk.
    /// A file that must be flushed before it gets its name is not.
    SkipFileFlush = "skip-file-flush",
    /// No directory is flushed.
    SkipDirectoryFlush = "skip-directory-flush",
    /// A file gets its name before it is flushed.
    NameBeforeFlush = "name-before-flush",
    /// `sync` flushes directories, and not the chunks that were recorded for it.
    SyncForgetsChunks = "sync-forgets-chunks",
    /// An update compares the version before it takes the lock, and not under it.
    UpdateComparesEarly = "update-compares-early",
    /// A create replaces a file that appeared since it looked.
    CreateReplaces = "create-replaces",
    /// A conditional delete does not compare the version.
    DeleteIgnoresVersion = "delete-ignores-version",

    // Stores behind a network.
    /// A refused write is not read back, so that the answer to its own repetition counts as another client's write.
    RefusalNotReadBack = "refusal-not-read-back",
    /// A write of unknown outcome counts as refused if another one's object is there.
    DoubtTakenForRefusal = "doubt-taken-for-refusal",
    /// A body is taken up again whatever state the object has by then.
    ResumedInAnotherState = "resumed-in-another-state",

    // Refs and the object `repo`.
    /// The creation of a tag overwrites another one.
    TagOverwritten = "tag-overwritten",
    /// A tombstone is not looked at, so that a deleted tag lives.
    TombstoneIgnored = "tombstone-ignored",
    /// The file of a branch is replaced whatever its state is.
    BranchMovedUnconditionally = "branch-moved-unconditionally",
    /// The file of a branch is deleted whatever its state is.
    BranchDeletedUnconditionally = "branch-deleted-unconditionally",
    /// A commit of unknown outcome is looked for at the tip, and not below it.
    HistoryNotSearched = "history-not-searched",
    /// A refused move of a branch is believed, although it may be the answer to its own repetition.
    RefusalBelieved = "refusal-believed",
    /// A move of unknown outcome counts as refused.
    UnknownMoveRefused = "unknown-move-refused",
    /// An edit of a ref is acknowledged before it is durable.
    RefNotSynced = "ref-not-synced",
    /// `repo` is replaced without a backup.
    BackupSkipped = "backup-skipped",
    /// `repo` names another backup than the one that was made.
    LogNamesNoBackup = "log-names-no-backup",
    /// A collection deletes backups in which the operations log goes on.
    NeededBackupDeleted = "needed-backup-deleted",
    /// A repository that is read-only takes writes.
    StatusIgnored = "status-ignored",
    /// An edit of `repo` moves a branch from wherever it is.
    ExpectationIgnored = "expectation-ignored",
    /// An edit whose answer was lost is made again, without a look whether it landed.
    LostAnswerNotLookedFor = "lost-answer-not-looked-for",
    /// An amended commit is the child of what it replaces.
    AmendIsChild = "amend-is-child",
    /// An upgrade deletes a ref that moved after it was carried over.
    UpgradeDeletesMovedRef = "upgrade-deletes-moved-ref",

    // Sessions and commits.
    /// A ref names a snapshot before it is durable.
    PublishedBeforeSync = "published-before-sync",
    /// A session that lost a race and rebased stays on its old base.
    RebaseKeepsBase = "rebase-keeps-base",
    /// A rebase does not look at the oldest of the commits that were missed.
    MissedCommitSkipped = "missed-commit-skipped",
    /// A chunk that both sides wrote is no conflict.
    DoubleWriteAllowed = "double-write-allowed",
    /// Chunks of equal lengths count as equal.
    EqualLengthsAreEqual = "equal-lengths-are-equal",
    /// The deletion of an array that others have changed is no conflict.
    DeleteOfUpdatedAllowed = "delete-of-updated-allowed",
    /// A rebase does not follow a resize on the other side.
    ResizeForgotten = "resize-forgotten",
    /// A rebase over a move drops edits of the old path that were to be kept.
    MoveDropsEdits = "move-drops-edits",
    /// A manifest that is rewritten loses the last chunk along each axis.
    ExtentOneShort = "extent-one-short",
    /// Manifests are split one chunk too early.
    SplitOneEarly = "split-one-early",
    /// A chunk as long as the inline threshold goes into an object.
    InlineLimitOneShort = "inline-limit-one-short",
    /// The log of a commit leaves out the chunks of one array.
    LogLacksArray = "log-lacks-array",
    /// A chunk whose object is missing reads as one that was never written.
    MissingChunkIsFill = "missing-chunk-is-fill",
    /// A merge of forks drops the chunks that a fork deleted.
    ForkDeletesDropped = "fork-deletes-dropped",
    /// A commit sends the packs that it refers to, and neither waits for them nor checks that they are stored.
    PackNotAwaited = "pack-not-awaited",
    /// A session whose commit has an unknown outcome stays open for writes.
    OpenAfterUnknown = "open-after-unknown",
    /// A shift moves chunks one place too far.
    ShiftOneFar = "shift-one-far",
    /// An old session writes its lease when it commits, and not before.
    LeaseWrittenLate = "lease-written-late",
    /// An old session commits without a look whether its chunks were collected.
    CollectionNotLookedFor = "collection-not-looked-for",

    // Upkeep.
    /// A collection takes no account of leases.
    LeasesIgnored = "leases-ignored",
    /// A collection takes its floor for milliseconds instead of seconds.
    FloorInMilliseconds = "floor-in-milliseconds",
    /// A collection follows one ref only.
    OneRefFollowed = "one-ref-followed",
    /// A collection does not go from snapshots to their parents.
    ParentsNotFollowed = "parents-not-followed",
    /// A collection deletes logs of expired commits that another one is told by.
    PrunedLogsDeleted = "pruned-logs-deleted",
    /// A collection that others took for stopped goes on.
    CollectionNotFenced = "collection-not-fenced",
    /// An expiration releases what only a tag points to.
    ExpireIgnoresTags = "expire-ignores-tags",
    /// An expiration gives a snapshot the ancestor behind its nearest one.
    ExpireSkipsParent = "expire-skips-parent",
    /// A copy takes along the manifests of tips only.
    CopyOfTipsOnly = "copy-of-tips-only",
    /// A check does not compare the length of a chunk object with what refers to it.
    ShortChunkNotFound = "short-chunk-not-found",
}

/// Returns whether a fault is planted in this process: the environment variable `ICEFIELD_PLANTED_BUG` names one. An unknown name
/// plants none.
#[cfg(all(feature = "planted-bugs", debug_assertions))]
#[must_use]
pub fn planted(bug: PlantedBug) -> bool {
    static PLANTED: std::sync::OnceLock<Option<PlantedBug>> = std::sync::OnceLock::new();
    let found = PLANTED.get_or_init(|| {
        let wanted = std::env::var("ICEFIELD_PLANTED_BUG").ok()?;
        let mut all = PlantedBug::ALL.iter();
        all.find(|(_, name)| *name == wanted).map(|(bug, _)| *bug)
    });
    *found == Some(bug)
}

/// Returns whether a fault is planted: none is in this build.
#[cfg(not(all(feature = "planted-bugs", debug_assertions)))]
#[must_use]
pub const fn planted(_bug: PlantedBug) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::PlantedBug;

    #[test]
    fn names_differ_and_are_words_with_dashes() {
        let names: BTreeSet<&str> = PlantedBug::ALL.iter().map(|(_, name)| *name).collect();
        assert_eq!(names.len(), PlantedBug::ALL.len());
        let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(names.iter().all(|name| name.chars().all(is_word)));
    }
}

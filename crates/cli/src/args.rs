//! What can be asked, and how.

mod amend;
mod archives;
mod collected;
mod combined;
mod config;
mod copies;
mod du;
mod expire;
mod fsck;
mod gc;
mod import;
mod layout;
mod netcdf;
mod pages;
mod rewrite_manifests;
mod selection;
mod stats;
mod windows;

use std::path::PathBuf;

use clap::{ArgAction, Args as ArgGroup, Parser, Subcommand, ValueEnum};
use icefield::format::SpecVersion;
use icefield::{BranchName, Location, NodePath, RevisionSpec, SnapshotId, TagName};

use crate::failure::chain;

pub(crate) use amend::Amend;
pub(crate) use archives::Archives;
pub(crate) use collected::Collected;
pub(crate) use combined::Combined;
pub(crate) use config::{Config, ConfigGet, ConfigSet, ConfigUnset};
pub(crate) use copies::{Bundle, Copy, Downgrade, Part, Unbundle};
pub(crate) use du::{By, Du};
pub(crate) use expire::Expire;
pub(crate) use fsck::Fsck;
pub(crate) use gc::Gc;
pub(crate) use import::{Import, Overlapping, SourceOrder};
pub(crate) use layout::{Laid, Rechunk};
pub(crate) use netcdf::{Ncdump, Ncgen, as_written};
#[cfg(feature = "pages")]
pub(crate) use pages::ShellName;
pub(crate) use pages::{Completions, Man};
pub(crate) use rewrite_manifests::RewriteManifests;
pub(crate) use selection::Selected;
pub(crate) use stats::Stats;
pub(crate) use windows::{Grow, Moving, Roll, Slots, Trim};

const EXIT_CODES: &str = "\
LOCATION is a path or a URL: data/ocean, file:///data/my%20ocean, memory: (empty each time).
file:///path?locks=trusted vouches for a file system whose locks are not known to reach writers on other machines.
REF is a branch, tag:NAME, branch:NAME or a snapshot id, then ~N (N snapshots back) or @TIME (the newest that is not
younger than an RFC 3339 time), for example main~2 or main@2015-03-01T00:00:00Z.

Exit codes: 0 done, 1 failure, 2 wrong usage, 3 conflict (somebody was first, or the name is taken), 4 not found,
5 damage found, 6 the outcome of a write is not known, 130 ended by Ctrl-C: of `gc`, `expire`, `fsck --repair`, `import`,
`export`, `materialize`, `rechunk` and `rewrite-manifests`, where that does no harm; Ctrl-C once more ends them at once.

Environment: ICEFIELD_LOG is a filter of log events such as `debug` or `icefield_core=trace`; NO_COLOR is honoured.";

/// Versioned n-dimensional arrays: Zarr hierarchies with commits, branches, tags and time travel.
#[derive(Debug, Parser)]
#[command(name = "icefield", version, after_help = EXIT_CODES, max_term_width = 120)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Show what happens on standard error; twice for everything.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When writes to a local disk are made to survive a loss of power.
    #[arg(long, global = true, value_enum, default_value_t = Fsync::Commit, value_name = "WHEN")]
    pub(crate) fsync: Fsync,

    /// Let the repository refer to foreign files below this prefix: a folder by its path or URL, or s3://archive/2015
    /// (repeatable). Requests are unsigned, unless it ends with ?credentials. An endpoint that the repository names must be
    /// named here, too: ?endpoint=URL.
    #[arg(long, global = true, value_name = "PREFIX")]
    pub(crate) grant: Vec<String>,
}

/// When writes are flushed to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fsync {
    /// Never: for scratch data.
    None,
    /// Before a commit or an edit of a ref is acknowledged.
    Commit,
    /// At every write.
    Each,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create an empty repository.
    Init(Init),
    /// Copy arrays into a branch, or refer to them where they lie, in one commit.
    #[command(after_help = import::SOURCES)]
    Import(Box<Import>),
    /// Copy chunks that lie in foreign files into the repository, in one commit.
    Materialize(Materialize),
    /// Give an array other chunks, shards or codecs, in one commit.
    #[command(after_help = layout::RECHUNK)]
    Rechunk(Rechunk),
    /// Let elements come in at the end of a dimension, in all arrays that have it, in one commit.
    #[command(after_help = windows::WINDOWS)]
    Append(Grow),
    /// Let elements come in at the start of a dimension.
    #[command(after_help = windows::WINDOWS)]
    Prepend(Grow),
    /// Let elements go at the ends of a dimension.
    #[command(after_help = windows::WINDOWS)]
    Trim(Trim),
    /// Move a window: elements come in at one end of a dimension, and others go at the other one.
    #[command(after_help = windows::WINDOWS)]
    Roll(Roll),
    /// Show which chunks of a window are not written.
    Slots(Slots),
    /// Write a version out for other programs: as Zarr of format 3 or 2, or as NCZarr.
    Export(Export),
    /// Print a version as CDL, as netCDF's ncdump prints a file.
    #[command(disable_help_flag = true)]
    Ncdump(Ncdump),
    /// Make a dataset of a text in CDL, in one commit.
    Ncgen(Ncgen),
    /// List what is in a group.
    Ls(Ls),
    /// Show the whole hierarchy.
    Tree(Tree),
    /// Print the bytes of one Zarr key.
    Cat(Cat),
    /// Summarise the numbers of an array: count, missing, minimum, mean, maximum, deviation.
    #[command(after_help = stats::STATS)]
    Stats(Stats),
    /// Show the history.
    Log(Log),
    /// Show what is known of a repository and one version of it.
    Info(Info),
    /// Show what was done to a repository of spec version 2, the newest first.
    OpsLog(OpsLog),
    /// Allow or forbid writes to a repository of spec version 2.
    SetStatus(SetStatus),
    /// Make a repository of spec version 2 out of one of version 1, in place.
    #[command(after_help = UPGRADE)]
    Upgrade(Upgrade),
    /// Make a copy of spec version 1 of a repository of version 2, and say what it cannot have.
    #[command(after_help = copies::DOWNGRADE)]
    Downgrade(Downgrade),
    /// Show or change the settings that are stored with a repository.
    #[command(subcommand)]
    Config(Config),
    /// Take old snapshots out of the histories.
    #[command(after_help = expire::EXPIRE)]
    Expire(Expire),
    /// Delete what nothing refers to any more.
    #[command(after_help = gc::GC)]
    Gc(Gc),
    /// List, create, delete or move branches.
    #[command(subcommand)]
    Branch(Branch),
    /// List, create or delete tags.
    #[command(subcommand)]
    Tag(Tag),
    /// Show what differs between two versions.
    Diff(Diff),
    /// Take over into a branch what another version changed since the two went apart.
    Merge(Carry),
    /// Take over into a branch what one commit changed.
    CherryPick(Carry),
    /// Take back on a branch what one commit changed; what came after it stays.
    Revert(Carry),
    /// Put all that changed between two versions into one commit on a new branch.
    Squash(Squash),
    /// Give the last commit of a branch another message or metadata. Spec version 2.
    #[command(after_help = amend::AMEND)]
    Amend(Amend),
    /// Give an array or group another path, in one commit; no chunk is copied.
    Mv(Mv),
    /// Split manifests anew, by the rules of the configuration or by size, in one commit; no array changes by it.
    RewriteManifests(RewriteManifests),
    /// Compare a version with another one that it may be merged into, or show what a serialised fork holds.
    Status(Status),
    /// Show where the bytes are: stored, in use, garbage; by array, commit, ref or container.
    Du(Du),
    /// Copy a repository to another place; a second time, only what is new.
    Copy(Copy),
    /// Write a repository into one file.
    Bundle(Bundle),
    /// Read such a file into a repository.
    Unbundle(Unbundle),
    /// Check that all is there and whole that refs reach; repair branches.
    Fsck(Fsck),
    /// Say what a location is, what it guarantees, and what is wrong with it.
    Doctor(Doctor),
    /// Show what one file of the repository says.
    #[command(after_help = "A manifest's id is printed by `inspect snapshot`.")]
    Inspect(Inspect),
    /// Print a script that completes commands and options in a shell.
    #[command(hide = true)]
    Completions(Completions),
    /// Write manual pages, one for the program and one for each command.
    #[command(hide = true)]
    Man(Man),
}

/// How facts are printed.
#[derive(Clone, Copy, Debug, ArgGroup)]
pub(crate) struct Facts {
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Init {
    /// Where to create it.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The version of the format. Every release of every reader opens version 1; version 2 needs icechunk 2 or this program.
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_SPEC, value_parser = spec_version)]
    pub(crate) spec: SpecVersion,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// The version of the format that new repositories have unless told otherwise.
const DEFAULT_SPEC: &str = "1";

fn spec_version(text: &str) -> Result<SpecVersion, String> {
    match text {
        "1" => Ok(SpecVersion::V1),
        "2" => Ok(SpecVersion::V2),
        _ => Err("there are versions 1 and 2".to_owned()),
    }
}

/// `icefield ops-log`
#[derive(Debug, ArgGroup)]
pub(crate) struct OpsLog {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Show at most so many entries.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

const UPGRADE: &str = "\
No array changes, and no chunk is read or copied: the refs and the configuration move into the object `repo`, which lists the \
history, too. Programs that know only version 1 of the format cannot open the repository any more.

Other programs may go on writing meanwhile. What they commit before their branch is moved is carried over; a commit that comes \
later is refused. An upgrade that was stopped leaves the repository read-only; run again, it goes on. Run on a repository beside \
whose `repo` a version-1 program has written refs again, it carries those over.";

/// `icefield set-status`
#[derive(Debug, ArgGroup)]
pub(crate) struct SetStatus {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Whether it may be changed.
    pub(crate) status: Availability,
    /// Why: shown to those whose writes are refused.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// What a status can be set to.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Availability {
    /// Reads and writes.
    Online,
    /// Reads alone.
    ReadOnly,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Materialize {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The array, or the group with all that is below it.
    #[arg(value_parser = in_full(node_path), default_value = "/")]
    pub(crate) path: NodePath,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Export {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The directory to write, which must not exist or be empty; a zip file, if its name ends in `.zip`; or a URL with
    /// nothing below it.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) destination: Location,
    /// Write a zip file, whatever its name is.
    #[arg(long)]
    pub(crate) zip: bool,
    /// The format to write.
    #[arg(long, value_enum, default_value_t = Format::Zarr3, value_name = "FORMAT")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Zarr format 3, as it is in the repository.
    Zarr3,
    /// Zarr format 2, with the names of dimensions that xarray looks for.
    Zarr2,
    /// The same for programs that move windows by an attribute `_offset`: chunks keep their keys, and nobody else reads it right.
    Zarr2Offset,
    /// NCZarr, which netCDF-C reads since 4.9.3.
    Nczarr,
}

/// Which version.
#[derive(Clone, Debug, ArgGroup)]
pub(crate) struct At {
    /// The version.
    #[arg(long = "ref", value_name = "REF", value_parser = in_full(RevisionSpec::parse), default_value = "main")]
    pub(crate) revision: RevisionSpec,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Ls {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The group, or one array.
    #[arg(value_parser = in_full(node_path), default_value = "/")]
    pub(crate) path: NodePath,
    /// With shapes, types, and the chunks that exist.
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Tree {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Cat {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The key, as tos/zarr.json or tos/c/0/0/0.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Log {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Stop after so many snapshots.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Draw the histories of all branches and tags.
    #[arg(long, conflicts_with = "revision")]
    pub(crate) graph: bool,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Info {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Count chunks and bytes by where they live; reads all manifests.
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Branch {
    /// List branches and where they point.
    List(ListRefs),
    /// Create a branch.
    Create {
        /// The repository.
        #[arg(value_parser = in_full(Location::parse))]
        location: Location,
        /// The new name.
        #[arg(value_parser = in_full(new_branch))]
        name: BranchName,
        #[command(flatten)]
        at: At,
        #[command(flatten)]
        facts: Facts,
    },
    /// Delete a branch; its snapshots stay.
    Delete {
        /// The repository.
        #[arg(value_parser = in_full(Location::parse))]
        location: Location,
        /// The branch.
        #[arg(value_parser = in_full(BranchName::parse))]
        name: BranchName,
        #[command(flatten)]
        facts: Facts,
    },
    /// Move a branch to another version.
    Reset {
        /// The repository.
        #[arg(value_parser = in_full(Location::parse))]
        location: Location,
        /// The branch.
        #[arg(value_parser = in_full(BranchName::parse))]
        name: BranchName,
        /// Where it shall point.
        #[arg(long = "ref", value_name = "REF", value_parser = in_full(RevisionSpec::parse))]
        revision: RevisionSpec,
        /// Only if it points there now; exit code 3 otherwise.
        #[arg(long, value_name = "REF", value_parser = in_full(RevisionSpec::parse))]
        expect: Option<RevisionSpec>,
        #[command(flatten)]
        facts: Facts,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tag {
    /// List tags and what they point to.
    List(ListRefs),
    /// Create a tag. Its name is never given again, even after it is deleted.
    Create {
        /// The repository.
        #[arg(value_parser = in_full(Location::parse))]
        location: Location,
        /// The new name.
        #[arg(value_parser = in_full(new_tag))]
        name: TagName,
        #[command(flatten)]
        at: At,
        #[command(flatten)]
        facts: Facts,
    },
    /// Delete a tag.
    Delete {
        /// The repository.
        #[arg(value_parser = in_full(Location::parse))]
        location: Location,
        /// The tag.
        #[arg(value_parser = in_full(TagName::parse))]
        name: TagName,
        #[command(flatten)]
        facts: Facts,
    },
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ListRefs {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Diff {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The older version.
    #[arg(value_parser = in_full(RevisionSpec::parse))]
    pub(crate) from: RevisionSpec,
    /// The newer version.
    #[arg(value_parser = in_full(RevisionSpec::parse))]
    pub(crate) to: RevisionSpec,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Carry {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The version to merge, or the commit to pick or to revert.
    #[arg(value_name = "REF", value_parser = in_full(RevisionSpec::parse))]
    pub(crate) revision: RevisionSpec,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// What stays where both changed the same thing.
    #[arg(long, value_enum, default_value_t = OnConflict::Fail, value_name = "SIDE")]
    pub(crate) on_conflict: OnConflict,
    /// Carry changes along where the branch has moved the arrays or groups that they are made to (spec version 2).
    #[arg(long)]
    pub(crate) follow_moves: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// Whose change stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// Nothing is committed; exit code 3.
    Fail,
    /// That of the version named.
    Source,
    /// That of the branch.
    Branch,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Squash {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The version that the new commit follows.
    #[arg(value_parser = in_full(RevisionSpec::parse))]
    pub(crate) from: RevisionSpec,
    /// The version that it shows.
    #[arg(value_parser = in_full(RevisionSpec::parse))]
    pub(crate) to: RevisionSpec,
    /// The new branch.
    #[arg(value_parser = in_full(new_branch))]
    pub(crate) name: BranchName,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Mv {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The array or group.
    #[arg(value_parser = in_full(node_path))]
    pub(crate) from: NodePath,
    /// Its new path.
    #[arg(value_parser = in_full(node_path))]
    pub(crate) to: NodePath,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// Where another commit is first and has moved the node, move it on from there (spec version 2).
    #[arg(long)]
    pub(crate) follow_moves: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Status {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) at: At,
    /// The version to compare with.
    #[arg(long, value_name = "REF", value_parser = in_full(RevisionSpec::parse), default_value = "main")]
    pub(crate) against: RevisionSpec,
    /// Show the uncommitted edits of a serialised fork instead.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["revision", "against"])]
    pub(crate) fork: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Doctor {
    /// The location, with a repository or without.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Also write a small object under `icefield/doctor/`, and delete it.
    #[arg(long)]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Inspect {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The kind of file.
    #[arg(value_enum)]
    pub(crate) kind: FileKind,
    /// The id of a snapshot (also of the one whose transaction log is meant) or of a manifest.
    #[arg(value_parser = in_full(str::parse::<SnapshotId>))]
    pub(crate) id: SnapshotId,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// The kinds of files that can be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    /// The hierarchy at one version.
    Snapshot,
    /// Where the chunks of some arrays are.
    Manifest,
    /// What one commit changed.
    TransactionLog,
}

/// A parser whose error is the message with all its causes: clap prints the first message only, and the rule that a text
/// breaks is often the last.
fn in_full<T, E: std::error::Error>(
    parse: impl Fn(&str) -> Result<T, E> + Clone,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| parse(text).map_err(|error| chain(&error))
}

/// A path with or without its first slash; a slash at the end is ignored.
fn node_path(text: &str) -> Result<NodePath, icefield::format::PathError> {
    match text.trim_matches('/') {
        "" => Ok(NodePath::root()),
        relative => NodePath::root().join(relative),
    }
}

fn new_branch(text: &str) -> Result<BranchName, icefield::NameError> {
    BranchName::parse_new(text)
}

fn new_tag(text: &str) -> Result<TagName, icefield::NameError> {
    TagName::parse_new(text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn paths_need_no_first_slash() {
        let path = |text| node_path(text).expect("a path").to_string();
        assert_eq!(
            [path(""), path("/"), path("a/b"), path("/a/b/")],
            ["/", "/", "/a/b", "/a/b"]
        );
        assert!(node_path("a//b").is_err() && node_path("../a").is_err());
    }
}

/// `icefield upgrade`
#[derive(Debug, ArgGroup)]
pub(crate) struct Upgrade {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Show what would be done; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

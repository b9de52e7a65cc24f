//! The command line: its commands, and the arguments of each.

mod amend;
mod archives;
mod carry;
mod collected;
mod combined;
mod common;
mod config;
mod copies;
mod du;
mod expire;
mod export;
mod fsck;
mod gc;
mod history;
mod import;
mod inspect;
mod layout;
mod materialize;
mod netcdf;
mod nodes;
mod pages;
mod parse;
#[cfg(feature = "plot")]
mod plot;
mod refs;
mod repack;
mod repository;
mod rewrite_manifests;
mod selection;
#[cfg(feature = "serve")]
mod serve;
mod stats;
mod windows;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};

pub(crate) use amend::Amend;
pub(crate) use carry::{Carry, OnConflict, Squash};
pub(crate) use common::OutputFormat;
pub(crate) use config::{Config, ConfigGet, ConfigSet, ConfigUnset};
pub(crate) use copies::{Bundle, Copy, Downgrade, RefSelectionArgs, Unbundle};
pub(crate) use du::{Du, DuGrouping};
pub(crate) use expire::Expire;
pub(crate) use export::{Export, ExportFormat};
pub(crate) use fsck::Fsck;
pub(crate) use gc::Gc;
pub(crate) use history::{Diff, Log, Status};
pub(crate) use import::{Import, OnOverlap, SourceOrder};
pub(crate) use inspect::{Doctor, FileKind, Inspect};
pub(crate) use layout::Rechunk;
pub(crate) use materialize::Materialize;
pub(crate) use netcdf::{Ncdump, Ncgen, with_ncdump_variables};
pub(crate) use nodes::{Cat, Ls, Mv, Tree};
#[cfg(feature = "pages")]
pub(crate) use pages::ShellName;
pub(crate) use pages::{Completions, Man};
#[cfg(feature = "plot")]
pub(crate) use plot::{PictureFile, PictureFormat, Plot};
pub(crate) use refs::{Branch, ListRefs, Tag};
pub(crate) use repack::Repack;
pub(crate) use repository::{Availability, Info, Init, OpsLog, SetStatus, Upgrade};
pub(crate) use rewrite_manifests::RewriteManifests;
#[cfg(feature = "serve")]
pub(crate) use serve::{NamedLocation, Serve};
pub(crate) use stats::Stats;
pub(crate) use windows::{Grow, Roll, Slots, Trim, WindowArgs};

const EXIT_CODES: &str = "\
LOCATION is a path or a URL: data/ocean, file:///data/my%20ocean, memory: (empty each time).
file:///path?locks=trusted vouches for a file system whose locks are not known to reach writers on other machines.
REF is a branch, tag:NAME, branch:NAME or a snapshot id, then ~N (N snapshots back) or @TIME (the newest that is not
younger than an RFC 3339 time), for example main~2 or main@2015-03-01T00:00:00Z.

Exit codes: 0 done, 1 failure, 2 wrong usage, 3 conflict (another writer was first, or the name is taken), 4 not found,
5 damage found, 6 the outcome of a write is not known, 130 interrupted by Ctrl-C. The first Ctrl-C ends `gc`, `expire`,
`fsck --repair`, `import`, `export`, `materialize`, `rechunk`, `rewrite-manifests` and `repack` where that does no harm,
the second at once.

Environment: ICEFIELD_LOG filters log events, such as `debug` or `icefield_core=trace`; NO_COLOR is honoured.";

/// Versioned n-dimensional arrays: Zarr hierarchies with commits, branches, tags and time travel.
#[derive(Debug, Parser)]
#[command(name = "icefield", version, after_help = EXIT_CODES, max_term_width = 120)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Log to standard error; given twice, log everything.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When writes to a local disk are flushed, so that they survive a loss of power.
    #[arg(long, global = true, value_enum, default_value_t = Fsync::Commit, value_name = "WHEN")]
    pub(crate) fsync: Fsync,

    /// Let the repository refer to foreign files below this prefix: a folder by its path or URL, or s3://archive/2015
    /// (repeatable). Requests are unsigned unless the prefix ends with ?credentials. An endpoint that the repository names must be
    /// named here, too: ?endpoint=URL.
    #[arg(long, global = true, value_name = "PREFIX")]
    pub(crate) grant: Vec<String>,

    /// Keep objects that are read over a network in this local directory, which other processes may use at the same time,
    /// up to a size such as 500MB or 20GiB (10GiB, if none is said). Without it, ICEFIELD_CACHE says so in the environment,
    /// if it is set. `fsck`, `gc`, `du` and copies ask the store all the same.
    #[cfg(feature = "cache")]
    #[arg(long, global = true, value_name = "PATH[,SIZE]")]
    #[arg(value_parser = parse::with_causes(str::parse::<icefield::CacheSpec>))]
    pub(crate) cache: Option<icefield::CacheSpec>,
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
    /// Import arrays into a branch in one commit, as copies or as references to their files.
    #[command(after_help = import::SOURCES)]
    Import(Box<Import>),
    /// Copy virtual chunks from their files into the repository, in one commit.
    Materialize(Materialize),
    /// Change the chunks, shards or codecs of an array, in one commit.
    #[command(after_help = layout::RECHUNK)]
    Rechunk(Rechunk),
    /// Add elements at the end of a dimension, to all arrays that have it, in one commit.
    #[command(after_help = windows::WINDOWS)]
    Append(Grow),
    /// Add elements at the start of a dimension.
    #[command(after_help = windows::WINDOWS)]
    Prepend(Grow),
    /// Remove elements at the ends of a dimension.
    #[command(after_help = windows::WINDOWS)]
    Trim(Trim),
    /// Move a window: add elements at one end of a dimension, and remove elements at the other.
    #[command(after_help = windows::WINDOWS)]
    Roll(Roll),
    /// Show the chunks of a window that are not written yet.
    Slots(Slots),
    /// Export a version for other programs: as Zarr of format 3 or 2, or as NCZarr.
    Export(Export),
    /// Print a version as CDL, the way netCDF's ncdump prints a file.
    #[command(disable_help_flag = true)]
    Ncdump(Ncdump),
    /// Create a dataset from CDL text, in one commit.
    Ncgen(Ncgen),
    /// List the contents of a group.
    Ls(Ls),
    /// Show the whole hierarchy.
    Tree(Tree),
    /// Print the bytes of one Zarr key.
    Cat(Cat),
    /// Summarise the numbers of an array: count, missing, minimum, mean, maximum, deviation.
    #[command(after_help = stats::STATS)]
    Stats(Stats),
    /// Draw a slice of an array: an image of two dimensions, a line of one.
    #[cfg(feature = "plot")]
    #[command(after_help = plot::PLOT)]
    Plot(Plot),
    /// Show the history.
    Log(Log),
    /// Describe a repository and one version of it.
    Info(Info),
    /// Show the operations log of a repository of spec version 2, newest entry first.
    OpsLog(OpsLog),
    /// Allow or forbid writes to a repository of spec version 2.
    SetStatus(SetStatus),
    /// Upgrade a repository of spec version 1 to version 2, in place.
    #[command(after_help = repository::UPGRADE)]
    Upgrade(Upgrade),
    /// Copy a repository of spec version 2 as one of version 1, and list what the copy cannot hold.
    #[command(after_help = copies::DOWNGRADE)]
    Downgrade(Downgrade),
    /// Show or change the settings that are stored with a repository.
    #[command(subcommand)]
    Config(Config),
    /// Remove old snapshots from the histories.
    #[command(after_help = expire::EXPIRE)]
    Expire(Expire),
    /// Delete objects that nothing refers to any more.
    #[command(after_help = gc::GC)]
    Gc(Gc),
    /// List, create, delete or move branches.
    #[command(subcommand)]
    Branch(Branch),
    /// List, create or delete tags.
    #[command(subcommand)]
    Tag(Tag),
    /// Show the differences between two versions.
    Diff(Diff),
    /// Apply to a branch the changes of another version since the two diverged.
    Merge(Carry),
    /// Apply to a branch the changes of one commit.
    CherryPick(Carry),
    /// Undo on a branch the changes of one commit; later changes stay.
    Revert(Carry),
    /// Combine the changes between two versions into one commit on a new branch.
    Squash(Squash),
    /// Change the message or the metadata of the last commit of a branch. Spec version 2.
    #[command(after_help = amend::AMEND)]
    Amend(Amend),
    /// Move an array or group to another path, in one commit; no chunk is copied.
    Mv(Mv),
    /// Split manifests again, by the rules of the configuration or by size, in one commit; no array changes.
    RewriteManifests(RewriteManifests),
    /// Write chunks that share objects anew, densely and in an order, in one commit; no array changes.
    #[command(after_help = repack::REPACK)]
    Repack(Repack),
    /// Compare a version with the one that it may be merged into, or show the edits of a serialised fork.
    Status(Status),
    /// Show the bytes that are stored, in use and garbage; by array, commit, ref or container.
    Du(Du),
    /// Copy a repository to another location; a second run copies only new objects.
    Copy(Copy),
    /// Write a repository into one file.
    Bundle(Bundle),
    /// Read a bundle into a repository.
    Unbundle(Unbundle),
    /// Check that all objects that refs reach exist and are intact; repair branches.
    Fsck(Fsck),
    /// Serve every version of repositories over HTTP, as plain Zarr, with a page that shows them.
    #[cfg(feature = "serve")]
    #[command(after_help = serve::SERVE)]
    Serve(Serve),
    /// Diagnose a location: its kind, its guarantees, and its faults.
    Doctor(Doctor),
    /// Show the contents of one file of the repository.
    #[command(after_help = "`inspect snapshot` prints the ids of manifests.")]
    Inspect(Inspect),
    /// Print a script that completes commands and options in a shell.
    #[command(hide = true)]
    Completions(Completions),
    /// Write manual pages, one for the program and one for each command.
    #[command(hide = true)]
    Man(Man),
}

impl Command {
    /// Returns whether the command answers requests until it is told to stop.
    #[cfg(feature = "serve")]
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Serve(_))
    }

    /// Returns whether the command answers requests: this build has none that does.
    #[cfg(not(feature = "serve"))]
    pub(crate) fn is_server(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }
}

//! 2, 8 and 32 writers with 25 commits each on one repository of spec version 2, all on one branch and each on its own, through
//! one handle and through one each, on a local disk without fsync and in memory: commits per second, and how often `repo` was
//! written. Fails if a commit or its chunk is lost.
//!
//! `--json` prints a line of JSON for each case. `benches/reference` has the same beside the reference implementation.

use icefield_benches::files::scratch;
use icefield_benches::{Mode, fact, runtime};

/// Our types, for the part that is shared with the benchmark beside the reference.
mod api {
    pub(crate) use icefield_core::{
        BranchName, ByteRange, CommitOutcome, Detector, NodePath, Repository, WriteMode,
    };
    pub(crate) use icefield_format::SpecVersion;
    pub(crate) use icefield_storage::wrap::CountingStorage;
    pub(crate) use icefield_storage::{Clock, Storage, SystemClock};
    pub(crate) use icefield_storage_local::{Fsync, LocalStorage};
    pub(crate) use icefield_storage_memory::MemoryStorage;
}

#[path = "../shared/contention.rs"]
mod contention;

use contention::{Case, median, ours};

fn main() {
    let mode = Mode::of_command_line();
    let is_json = std::env::args().any(|it| it == "--json");
    let (rounds, commits) = (mode.pick(5, 1), mode.pick(25, 3));
    let runtime = runtime();
    // Kept until the end: file systems are slow to hand out again what was deleted a moment ago.
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    for (at, case) in Case::all(mode.pick(&[2, 8, 32][..], &[3]), commits)
        .into_iter()
        .enumerate()
    {
        let mut figures = Vec::new();
        for round in 0..rounds {
            let folder = scratch.path().join(format!("{at}-{round}"));
            let figure = runtime.block_on(ours(&folder, case));
            let tried = case.tried() as usize;
            let found = (figure.acknowledged, figure.landed);
            assert_eq!(found, (tried, tried), "{case:?}");
            figures.push(figure);
        }
        let figure = median(figures);
        let (storage, layout, writers) = (case.storage(), case.layout(), case.writers);
        let handles = case.handles();
        let (rate, landed, attempts) = (figure.rate(), figure.landed, figure.attempts);
        if is_json {
            let tried = case.tried();
            println!(
                r#"{{"storage":"{storage}","layout":"{layout}","handles":"{handles}","writers":{writers},"tried":{tried},"landed":{landed},"attempts":{attempts},"per_second":{rate:.1}}}"#
            );
        } else {
            fact(
                format_args!("{writers} writers, handles: {handles}, {layout}, {storage}"),
                format_args!(
                    "{rate:.1} commits/s, {landed} landed with {attempts} writes of `repo`"
                ),
            );
        }
    }
}

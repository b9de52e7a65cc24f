//! Ten thousand commits on one repository of spec version 2, on a local disk without fsync: what a commit takes at the beginning
//! and at the end, and what the repository takes after a collection. Fails where the end is slower by more than the target.
//!
//! `--commits N` makes a history of another length, `--collect-every N` collects in between, `--json` prints a line of JSON.
//! `benches/reference` has the same beside the reference implementation.

use std::process::ExitCode;

use icefield_benches::files::scratch;
use icefield_benches::{Mode, fact, runtime};

/// Our types, for the part that is shared with the benchmark beside the reference.
mod api {
    pub(crate) use icefield_core::{BranchName, CommitOutcome, NodePath, Repository, WriteMode};
    pub(crate) use icefield_format::SpecVersion;
    pub(crate) use icefield_maintenance::Collect;
    pub(crate) use icefield_storage::{Clock, SystemClock};
    pub(crate) use icefield_storage_local::{Fsync, LocalStorage};
}

#[path = "../shared/history.rs"]
mod history;

/// By how many milliseconds the last commits may be slower, of ten thousand.
const TARGET: f64 = 5.0;

fn number(option: &str) -> Option<usize> {
    let mut arguments = std::env::args().skip_while(|it| it != option).skip(1);
    arguments.next().map(|it| it.parse().expect("a number"))
}

fn main() -> ExitCode {
    let mode = Mode::of_command_line();
    let commits = number("--commits").unwrap_or(mode.pick(10_000, 20));
    let collect_every = number("--collect-every").unwrap_or(mode.pick(usize::MAX, 8));
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let figure = runtime().block_on(history::ours(
        &scratch.path().join("r"),
        commits,
        collect_every,
    ));
    // Each commit has a snapshot, a manifest and a log; before them there are the first one, and the one of the array.
    let count = |folder: &str| figure.objects.get(folder).map_or(0, |it| it.0);
    assert_eq!(count("snapshots"), commits as u64 + 2);
    assert_eq!(count("manifests"), commits as u64);
    assert_eq!(count("chunks"), 0, "the chunk stands in its manifest");
    if std::env::args().any(|it| it == "--json") {
        println!("{{{}}}", figure.json());
    } else {
        let slower = figure.slower_by();
        fact(
            format_args!("{commits} commits"),
            format_args!("{figure} slower by {slower:.2} ms, target {TARGET} of ten thousand"),
        );
    }
    let is_target = mode == Mode::Measure && commits == 10_000;
    ExitCode::from(u8::from(is_target && figure.slower_by() > TARGET))
}

//! `icefield append`, `prepend`, `trim` and `roll`

use std::io::{self, Write};
use std::sync::Arc;

use icefield::ingest::Import;
use icefield::rolling::{Attempt, Begun, Change, Method, Options, Rolled, Rolling, Staged, Window};
use icefield::{Repository, SnapshotId, VirtualAccess};
use serde::Serialize;

use super::{Context, import};
use crate::args::{Grow, Roll, Trim, WindowArgs};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};
use crate::progress::ChunkProgress;

#[derive(Serialize)]
struct WindowChangeFacts {
    location: String,
    branch: String,
    dimension: String,
    /// `committed`, or `already-there`.
    outcome: &'static str,
    snapshot_id: SnapshotId,
    /// The window, in absolute indices.
    window: Option<WindowFacts>,
}

#[derive(Serialize)]
struct WindowFacts {
    /// The absolute index of element 0 of the arrays.
    origin: i64,
    first: i64,
    end: i64,
    length: u64,
}

/// The end of the dimension at which elements are added.
#[derive(Clone, Copy, Debug)]
pub(super) enum GrowthEnd {
    End,
    Start,
}

pub(super) async fn grow(context: &Context, way: GrowthEnd, args: Grow) -> Result<(), Failure> {
    let mut change = match way {
        GrowthEnd::End => Change::append(args.elements),
        GrowthEnd::Start => Change::prepend(args.elements),
    };
    change.keep = args.keep;
    let change = labelled(change, args.labels);
    let repository = context.open(&args.location).await?;
    let rolled = rolling(&repository, &args.moving).change(&change).await?;
    print(output::location(&args.location), &args.moving, rolled)
}

pub(super) async fn trim(context: &Context, args: Trim) -> Result<(), Failure> {
    if args.start == 0 && args.end == 0 && args.keep.is_none() {
        return Err(
            Failure::new(Exit::Usage, "no option says which elements to remove").hint(
                "--start and --end remove so many elements, --keep gives the length afterwards",
            ),
        );
    }
    let mut change = Change::trim(args.start, args.end);
    change.keep = args.keep;
    let repository = context.open(&args.location).await?;
    let rolled = rolling(&repository, &args.moving).change(&change).await?;
    print(output::location(&args.location), &args.moving, rolled)
}

pub(super) async fn roll(context: &Context, args: Roll) -> Result<(), Failure> {
    let location = output::location(&args.location);
    let rolled = match args.elements {
        None => from_sources(context, &args).await?,
        Some(elements) => {
            let mut change = Change::roll(elements);
            if args.keep.is_some() {
                change = change.and_trim(0, 0);
                change.keep = args.keep;
            }
            let change = labelled(change, args.labels);
            let repository = context.open(&args.location).await?;
            rolling(&repository, &args.moving).change(&change).await?
        }
    };
    print(location, &args.moving, rolled)
}

/// Appends sources, and removes as many elements at the start, or all beyond the length to keep.
async fn from_sources(context: &Context, args: &Roll) -> Result<Rolled, Failure> {
    let (sources, _) =
        import::open_sources(context, &args.from, import::ReadOptions::default()).await?;
    let access: VirtualAccess = context.access.clone();
    let repository = context.open_with(&args.location, access).await?;
    let rolling = rolling(&repository, &args.moving);
    let bar = Arc::new(ChunkProgress::new("committing"));
    let mut sources = sources.into_iter();
    let first = sources.next().expect("BUG: clap asks for at least one");
    let dimension = &args.moving.dimension;
    let import = Import::new(first)
        .into_group(args.moving.group.clone())
        .concat(dimension, sources)
        .append(dimension)
        .progress(Arc::<ChunkProgress>::clone(&bar));
    for _ in 0..TRIES {
        let attempt = match rolling.begin().await? {
            Begun::Open(attempt) => attempt,
            Begun::AlreadyThere { snapshot } => return Ok(Rolled::AlreadyThere { snapshot }),
        };
        let staged = put(&attempt, &import, args).await;
        bar.clear();
        if let Some(rolled) = attempt.commit(&staged?).await? {
            return Ok(rolled);
        }
    }
    Err(Failure::new(
        Exit::Conflict,
        "other commits moved the window before each attempt",
    )
    .hint("roll again"))
}

/// The number of attempts to append the sources when other commits move the window first.
const TRIES: usize = 5;

async fn put(attempt: &Attempt, import: &Import, args: &Roll) -> Result<Staged, Failure> {
    let (session, moving) = (attempt.session(), &args.moving);
    let window = || Window::of(session, &moving.group, &moving.dimension);
    let before = window()?;
    import.stage(session).await?;
    let came_in = window()?.length().saturating_sub(before.length());
    let change = match args.keep {
        Some(keep) => Change::default().and_keep(keep),
        None => Change::trim(came_in, 0),
    };
    let mut staged = attempt.stage(&change).await?;
    staged.new = before.end()..staged.window.end();
    Ok(staged)
}

fn labelled(change: Change, labels: Vec<f64>) -> Change {
    match labels.is_empty() {
        true => change,
        false => change.with_labels(labels),
    }
}

fn rolling(repository: &Repository, args: &WindowArgs) -> Rolling {
    let mut options = Options::default();
    options.mask = args.mask;
    options.drop_coverage = args.drop_coverage;
    if args.absolute {
        options.method = Method::Absolute;
    }
    let mut rolling = Rolling::new(repository, args.branch.clone(), &args.dimension)
        .below(args.group.clone())
        .options(options);
    if let Some(key) = &args.key {
        rolling = rolling.key(key);
    }
    if let Some(message) = &args.message {
        rolling = rolling.message(message);
    }
    rolling
}

fn print(location: String, args: &WindowArgs, rolled: Rolled) -> Result<(), Failure> {
    let (outcome, snapshot_id, window) = match rolled {
        Rolled::Committed { snapshot, window } => ("committed", snapshot, Some(window)),
        Rolled::AlreadyThere { snapshot } => ("already-there", snapshot, None),
    };
    let facts = WindowChangeFacts {
        location,
        branch: args.branch.to_string(),
        dimension: args.dimension.clone(),
        outcome,
        snapshot_id,
        window: window.map(|window| WindowFacts {
            origin: window.origin(),
            first: window.first(),
            end: window.end(),
            length: window.length(),
        }),
    };
    Output::new(args.output).facts(&facts, text)
}

fn text(facts: &WindowChangeFacts, out: &mut dyn Write) -> io::Result<()> {
    let (id, branch) = (facts.snapshot_id, printable(&facts.branch));
    match &facts.window {
        None => writeln!(out, "nothing to do: {id} on {branch} has this key"),
        Some(window) => writeln!(
            out,
            "committed {id} to {branch}: {} shows elements {} to {} of all",
            printable(&facts.dimension),
            window.first,
            window.end
        ),
    }
}

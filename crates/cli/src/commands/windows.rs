//! `icefield append`, `prepend`, `trim` and `roll`

use std::io::{self, Write};
use std::sync::Arc;

use icefield::ingest::Import;
use icefield::rolling::{Attempt, Begun, Change, Method, Options, Rolled, Rolling, Staged, Window};
use icefield::{Repository, SnapshotId, VirtualAccess};
use serde::Serialize;

use super::{Context, import};
use crate::args::{Grow, Moving, Roll, Trim};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};
use crate::progress::Bar;

#[derive(Serialize)]
struct Moved {
    location: String,
    branch: String,
    dimension: String,
    /// `committed`, or `already-there`.
    outcome: &'static str,
    snapshot_id: SnapshotId,
    /// Absolute indices.
    window: Option<Shown>,
}

#[derive(Serialize)]
struct Shown {
    /// The absolute index of element 0 of the arrays.
    origin: i64,
    first: i64,
    end: i64,
    length: u64,
}

/// Which way elements come in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    End,
    Start,
}

pub(super) async fn grow(context: &Context, way: Way, args: Grow) -> Result<(), Failure> {
    let mut change = match way {
        Way::End => Change::append(args.elements),
        Way::Start => Change::prepend(args.elements),
    };
    change.keep = args.keep;
    let change = labelled(change, args.labels);
    let repository = context.open(&args.location).await?;
    let rolled = rolling(&repository, &args.moving).change(&change).await?;
    print(output::location(&args.location), &args.moving, rolled)
}

pub(super) async fn trim(context: &Context, args: Trim) -> Result<(), Failure> {
    if args.start == 0 && args.end == 0 && args.keep.is_none() {
        return Err(Failure::new(Exit::Usage, "nothing says what goes")
            .hint("--start and --end trim so many elements, --keep says what stays"));
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

/// Appends sources, and takes away at the start as much, or what is more than is kept.
async fn from_sources(context: &Context, args: &Roll) -> Result<Rolled, Failure> {
    let (sources, _) =
        import::open_sources(context, &args.from, import::Reading::default()).await?;
    let access: VirtualAccess = context.access.clone();
    let repository = context.open_with(&args.location, access).await?;
    let rolling = rolling(&repository, &args.moving);
    let bar = Arc::new(Bar::new("committing"));
    let mut sources = sources.into_iter();
    let first = sources.next().expect("BUG: clap asks for at least one");
    let dimension = &args.moving.dimension;
    let import = Import::new(first)
        .into_group(args.moving.group.clone())
        .concat(dimension, sources)
        .append(dimension)
        .progress(Arc::<Bar>::clone(&bar));
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
        "other commits moved the window first, every time",
    )
    .hint("roll again"))
}

/// How often sources are appended anew when others move the window first.
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

fn rolling(repository: &Repository, args: &Moving) -> Rolling {
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

fn print(location: String, args: &Moving, rolled: Rolled) -> Result<(), Failure> {
    let (outcome, snapshot_id, window) = match rolled {
        Rolled::Committed { snapshot, window } => ("committed", snapshot, Some(window)),
        Rolled::AlreadyThere { snapshot } => ("already-there", snapshot, None),
    };
    let facts = Moved {
        location,
        branch: args.branch.to_string(),
        dimension: args.dimension.clone(),
        outcome,
        snapshot_id,
        window: window.map(|window| Shown {
            origin: window.origin(),
            first: window.first(),
            end: window.end(),
            length: window.length(),
        }),
    };
    Output::new(args.facts).facts(&facts, text)
}

fn text(facts: &Moved, out: &mut dyn Write) -> io::Result<()> {
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

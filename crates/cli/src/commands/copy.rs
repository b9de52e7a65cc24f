//! `icefield copy`

use std::io::{self, Write};

use icefield::maintenance::{
    ConfigAction, CopiedRef, CopyError, CopyReport, CopyRepository, RefAction,
};
use icefield::{Error, RefsError};
use serde::Serialize;

use super::Context;
use super::found::no_alpha;
use crate::args::{Copy, RefSelectionArgs};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::table::Columns;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

/// Bytes of cached metadata. A copy reads each object once, so a small cache is enough.
pub(super) const CACHE: u64 = 16 << 20;

#[derive(Serialize)]
struct CopyFacts {
    source: String,
    destination: String,
    #[serde(flatten)]
    report: CopyReport,
}

pub(super) async fn run(context: &Context, args: Copy) -> Result<(), Failure> {
    let source = context.open_with_cache(&args.source, CACHE).await?;
    let destination = context.storage(&args.destination).await?;
    no_alpha(&args.destination, &*destination).await?;
    let bar = StepProgress::new();
    let copy = part(CopyRepository::new(), args.part)
        .force(args.force)
        .dry_run(args.dry_run);
    let copy = match args.spec {
        Some(version) => copy.spec_version(version),
        None => copy,
    };
    let copied = copy.run(&source, destination, &bar).await;
    bar.clear();
    let facts = CopyFacts {
        source: output::location(&args.source),
        destination: output::location(&args.destination),
        report: copied.map_err(|error| {
            let spec_2_fits = matches!(
                error,
                CopyError::OtherVersion {
                    found: 2,
                    wanted: 1,
                    ..
                }
            );
            match spec_2_fits {
                true => failure(error).hint("--spec 2 makes a copy of version 2"),
                false => failure(error),
            }
        })?,
    };
    Output::new(args.output).facts(&facts, text)
}

fn part(copy: CopyRepository, part: RefSelectionArgs) -> CopyRepository {
    let copy = copy.refs(part.refs);
    match part.depth {
        Some(depth) => copy.depth(depth.get()),
        None => copy,
    }
}

/// Returns the failure of a copy, with a hint at the next step.
pub(super) fn failure(error: CopyError) -> Failure {
    let error = match error {
        // The reader of the bundle on standard output has closed it.
        CopyError::File { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
            return source.into();
        }
        error => error,
    };
    let own = match &error {
        CopyError::BadBundle { .. } => Some(
            "no ref was changed; create the bundle again, or name a file that `icefield bundle` wrote",
        ),
        CopyError::SourceRefs(RefsError::NotUnderstood { .. }) => {
            Some("--ref NAME still copies single branches and tags")
        }
        CopyError::EarlierVersion => Some(
            "`icefield downgrade SRC DST` makes a copy of version 1, and lists what it cannot hold",
        ),
        CopyError::IsVersion1 => Some("`icefield copy SRC DST` copies it"),
        CopyError::NotInVersion1 { .. } => Some(
            "--leave-out leaves out the branches and tags that reach it, and --dry-run lists all such parts; --ref and --depth select what is copied",
        ),
        CopyError::SourceChanged { .. } => {
            Some("no ref was changed; the next run copies no object twice")
        }
        _ => None,
    };
    let failure = Failure::from(Error::from(error));
    if let Some(hint) = own {
        return failure.hint(hint);
    }
    match failure.exit {
        Exit::Conflict => failure.hint(
            "--ref NAME copies only some refs; --force moves the branches, and objects that only they reached become garbage",
        ),
        Exit::Damage => failure.hint("no ref was changed; --ref NAME copies the refs that are intact"),
        Exit::Unknown => failure.hint("run the command again: it copies no object twice"),
        _ => failure,
    }
}

fn text(facts: &CopyFacts, out: &mut dyn Write) -> io::Result<()> {
    report(&facts.source, &facts.destination, &facts.report, out)
}

/// Prints the totals of a copy.
pub(super) fn report(
    source: &str,
    destination: &str,
    report: &CopyReport,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (from, to) = (printable(source), printable(destination));
    let edits = report.refs.iter().filter(|it| is_edit(it)).count() as u64;
    if report.snapshots.objects == 0 && edits == 0 {
        writeln!(out, "{to} has all of {from} already")?;
    } else {
        let verb = match report.dry_run {
            true => "would copy",
            false => "copied",
        };
        writeln!(
            out,
            "{verb} {from} to {to}: {}, {}, {} ({}), {}",
            count(report.snapshots.objects, "snapshot", "snapshots"),
            count(report.manifests.objects, "manifest", "manifests"),
            count(report.chunks.objects, "chunk object", "chunk objects"),
            output::bytes(report.chunks.bytes),
            count(edits, "ref", "refs"),
        )?;
    }
    refs(&report.refs, out)?;
    let (config, metadata, flags) = (report.config, report.metadata, report.flags);
    settings(config, metadata, flags, destination, out)?;
    for id in &report.shortened {
        writeln!(
            out,
            "the history ends at {id}: it follows the initial snapshot in the copy"
        )?;
    }
    for id in &report.ends_at {
        writeln!(
            out,
            "the destination already has {id} with fewer ancestors: the history ends there"
        )?;
    }
    for id in &report.missing_logs {
        writeln!(out, "the transaction log of {id} is missing in {from}")?;
    }
    Ok(())
}

/// Prints the refs that the copy has changed.
pub(super) fn refs(refs: &[CopiedRef], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Columns::pairs();
    for copied in refs.iter().filter(|it| it.action != RefAction::Unchanged) {
        let id = copied.snapshot_id.map(|id| id.to_string());
        table.row([
            format!("{} {}", copied.kind, copied.name),
            id.unwrap_or_default(),
            action_text(copied.action).to_owned(),
        ]);
    }
    table.write(out)
}

/// Prints the settings of the destination that stay although the source has different ones.
pub(super) fn settings(
    config: ConfigAction,
    metadata: ConfigAction,
    flags: ConfigAction,
    to: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of_each = [
        ("the configuration differs", config),
        ("the metadata of the repository differ", metadata),
        ("the feature flags differ", flags),
    ];
    for (differs, _) in of_each.iter().filter(|it| it.1 == ConfigAction::Kept) {
        let to = printable(to);
        writeln!(
            out,
            "{differs} from what {to} has, which stays; --force replaces it"
        )?;
    }
    Ok(())
}

fn is_edit(copied: &CopiedRef) -> bool {
    use RefAction::{Created, Deleted, Forced, Moved};
    matches!(copied.action, Created | Moved | Forced | Deleted)
}

fn action_text(action: RefAction) -> &'static str {
    match action {
        RefAction::Created => "new",
        RefAction::Moved => "moved forward",
        RefAction::Forced => "moved by force",
        RefAction::Deleted => "deleted, its name stays taken",
        RefAction::StaysDeleted => "deleted there, and stays so",
        RefAction::StaysPresent => "deleted in the source, and stays there",
        _ => "unchanged",
    }
}

//! The findings of a check as text.

use std::io::{self, Write};

use icefield::maintenance::{CheckReport, Finding, Severity};

use crate::output::escape::printable;
use crate::output::{self, count};

/// Prints the findings of a check, and its verdict.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn check_text(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut last = None;
    for (at, finding) in report.findings.iter().enumerate() {
        if last != Some(finding.kind) {
            let word = match finding.severity {
                Severity::Damage => "DAMAGE",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let total = report.kinds.get(&finding.kind).copied().unwrap_or(1);
            writeln!(out, "{word}: {} ({total})", finding.kind.title())?;
            last = Some(finding.kind);
        }
        finding_text(finding, out)?;
        let next = report.findings.get(at + 1).map(|it| it.kind);
        if next != last {
            writeln!(out, "  what to do: {}", finding.next)?;
        }
    }
    if report.left_out > 0 {
        let more = count(report.left_out, "finding more is", "findings more are");
        writeln!(out, "{more} not listed here")?;
    }
    for proposal in &report.proposals {
        let branch = printable(&proposal.branch);
        match proposal.snapshot {
            Some(id) if report.spec_version > 1 && !proposal.lost => writeln!(
                out,
                "branch {branch} could be made to point to {id}, the nearest whole snapshot of its history"
            )?,
            Some(id) => writeln!(
                out,
                "branch {branch} could be made to point to {id}, the newest whole snapshot that no other branch reaches"
            )?,
            None => writeln!(
                out,
                "there is no whole snapshot that branch {branch} alone could have pointed to"
            )?,
        }
    }
    let verdict = match (report.damage, report.warnings) {
        (0, 0) => "sound".to_owned(),
        (0, warnings) => format!("sound, with {}", count(warnings, "warning", "warnings")),
        (damage, _) => format!("DAMAGED ({})", count(damage, "finding", "findings")),
    };
    let read = if report.chunks_read { ", all read" } else { "" };
    write!(
        out,
        "{verdict}: {}, {}, {}, {}, {} ({}{read})",
        count(report.refs, "ref", "refs"),
        count(report.snapshots, "snapshot", "snapshots"),
        count(report.manifests, "manifest", "manifests"),
        count(
            report.transaction_logs,
            "transaction log",
            "transaction logs"
        ),
        count(report.chunks, "chunk object", "chunk objects"),
        output::bytes(report.chunk_bytes),
    )?;
    if report.virtual_chunks > 0 {
        let chunks = count(report.virtual_chunks, "virtual chunk", "virtual chunks");
        write!(out, ", {chunks}")?;
        if report.foreign_objects > 0 {
            let files = count(report.foreign_objects, "file", "files");
            write!(out, " in {files}")?;
        }
    }
    if let Some(garbage) = report.garbage.as_ref().filter(|it| it.objects > 0) {
        let objects = count(garbage.objects, "object", "objects");
        write!(
            out,
            "; {objects} of garbage ({})",
            output::bytes(garbage.bytes)
        )?;
    }
    writeln!(out)
}

fn finding_text(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let (key, rule) = (printable(&finding.key), printable(&finding.rule));
    match key.is_empty() {
        true => writeln!(out, "  {rule} ({})", finding.count)?,
        false => writeln!(out, "  {key}: {rule}")?,
    }
    let mut place = Vec::new();
    if let Some(path) = &finding.path {
        let mut text = printable(path).into_owned();
        if let Some(index) = &finding.index {
            text = match finding.count {
                0 | 1 => format!("{text} chunk {index:?}"),
                more => format!("{text} chunk {index:?} and {} more", more - 1),
            };
        }
        place.push(text);
    }
    if let Some(snapshot) = finding.snapshot {
        place.push(format!("since snapshot {snapshot}"));
    }
    if !finding.refs.is_empty() {
        place.push(format!("in the history of {}", names(&finding.refs)));
    }
    if !finding.tips.is_empty() {
        place.push(format!("seen now at {}", names(&finding.tips)));
    }
    match place.is_empty() {
        true => Ok(()),
        false => writeln!(out, "    {}", place.join(", ")),
    }
}

/// Returns the first names of a list, and the number of the others.
fn names(names: &[String]) -> String {
    const MOST: usize = 4;
    let mut text = names
        .iter()
        .take(MOST)
        .map(|it| printable(it))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MOST {
        text.push_str(&format!(" and {} more", names.len() - MOST));
    }
    text
}

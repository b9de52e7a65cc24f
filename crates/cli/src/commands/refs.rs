//! Listing and editing refs, for `branch` and `tag`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};

use icefield::{EditOutcome, Location, Misspelled, RefList, Refusal, SnapshotId, Stray};
use serde::Serialize;

use crate::args::OutputFormat;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::table::Columns;
use crate::output::{self, Output};

/// A ref and the snapshot that it points to.
#[derive(Debug, Serialize)]
pub(super) struct RefFacts {
    pub(super) name: String,
    pub(super) snapshot_id: Option<String>,
    /// The damage of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) damage: Option<String>,
}

/// One edit of a ref.
#[derive(Serialize)]
pub(super) struct RefEditFacts {
    location: String,
    /// `created`, `deleted`, `reset`
    edit: &'static str,
    kind: &'static str,
    name: String,
    snapshot_id: Option<SnapshotId>,
}

impl RefEditFacts {
    pub(super) fn new(
        location: &Location,
        edit: &'static str,
        (kind, name): (&'static str, &impl Display),
        snapshot_id: Option<SnapshotId>,
    ) -> Self {
        Self {
            location: output::location(location),
            edit,
            kind,
            name: name.to_string(),
            snapshot_id,
        }
    }
}

/// Files below `refs/` that are no refs, or refs under the key of another kind of store.
#[derive(Debug, Default)]
pub(super) struct StrayFiles {
    strays: Vec<Stray>,
    system_files: Vec<String>,
    misspelled: Vec<(String, String)>,
}

impl StrayFiles {
    pub(super) fn of(refs: &RefList) -> Self {
        let spelled = |it: &Misspelled| (it.found.to_string(), it.own.to_string());
        Self {
            strays: refs.strays.clone(),
            system_files: refs.system_files.iter().map(ToString::to_string).collect(),
            misspelled: refs.misspelled.iter().map(spelled).collect(),
        }
    }

    /// Returns the keys that are not understood.
    pub(super) fn names(&self) -> Vec<String> {
        self.strays.iter().map(|it| it.name.clone()).collect()
    }

    /// Prints one line per file.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for stray in &self.strays {
            let stray = stray.to_string();
            writeln!(
                out,
                "warning: {} among the refs is not understood, and prevents every collection",
                printable(&stray)
            )?;
        }
        for key in &self.system_files {
            let key = printable(key);
            writeln!(out, "warning: a file of an operating system: {key}")?;
        }
        for (found, own) in &self.misspelled {
            writeln!(
                out,
                "warning: {} is spelled {} here: `icefield fsck --repair` renames it",
                printable(found),
                printable(own)
            )?;
        }
        Ok(())
    }

    /// Prints the files on standard error, beside a list of refs.
    pub(super) fn warn(&self) {
        // A closed standard error does not prevent the list.
        let _ = self.write(&mut io::stderr().lock());
    }
}

pub(super) fn list(
    refs: BTreeMap<impl Display, Result<impl Display, impl Display>>,
) -> Vec<RefFacts> {
    refs.into_iter()
        .map(|(name, target)| {
            let name = name.to_string();
            match target {
                Ok(id) => RefFacts {
                    name,
                    snapshot_id: Some(id.to_string()),
                    damage: None,
                },
                Err(error) => RefFacts {
                    name,
                    snapshot_id: None,
                    damage: Some(error.to_string()),
                },
            }
        })
        .collect()
}

pub(super) fn table(refs: &[RefFacts], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Columns::pairs();
    for one in refs {
        match (&one.snapshot_id, &one.damage) {
            (Some(id), _) => table.row([&one.name, id]),
            (None, Some(damage)) => table.row([&one.name, &format!("DAMAGED: {damage}")]),
            (None, None) => table.row([&one.name, ""]),
        }
    }
    table.write(out)
}

/// Fails if any ref is damaged. Called after the list is printed.
pub(super) fn check(refs: &[RefFacts]) -> Result<(), Failure> {
    match refs.iter().filter(|one| one.damage.is_some()).count() {
        0 => Ok(()),
        count => Err(Failure::new(
            Exit::Damage,
            format!("{count} of the refs cannot be read"),
        )),
    }
}

/// Prints an edit that landed; fails, naming the ref, if it did not.
pub(super) fn print(
    outcome: EditOutcome,
    edited: &RefEditFacts,
    format: OutputFormat,
) -> Result<(), Failure> {
    landed(outcome, edited.kind, &edited.name)?;
    Output::new(format).facts(edited, |edited, out| {
        let (edit, kind, name) = (edited.edit, edited.kind, printable(&edited.name));
        match edited.snapshot_id {
            Some(id) => writeln!(out, "{edit} {kind} {name} at {id}"),
            None => writeln!(out, "{edit} {kind} {name}"),
        }
    })
}

/// Returns the failure of an edit that did not land, which names the ref.
fn landed(outcome: EditOutcome, kind: &str, name: &str) -> Result<(), Failure> {
    let exit = match &outcome {
        EditOutcome::Refused(Refusal::AlreadyExists) => {
            let message = format!("{kind} {name} exists already");
            return Err(Failure::new(Exit::Conflict, message).hint("choose another name"));
        }
        EditOutcome::Refused(Refusal::NotFound) => {
            return Err(Failure::new(
                Exit::NotFound,
                format!("{kind} {name} does not exist"),
            ));
        }
        _ => icefield::landed(outcome),
    };
    Ok(exit?)
}

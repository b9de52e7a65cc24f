//! `icefield import --abandon`: discards interrupted imports.

use std::io::{self, Write};

use icefield::import_name;
use icefield::ingest::abandon_imports;
use serde::Serialize;

use crate::args::Import;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output, count};

#[derive(Serialize)]
struct AbandonFacts {
    location: String,
    abandoned: Vec<AbandonedImport>,
}

#[derive(Serialize)]
struct AbandonedImport {
    about: String,
    branch: String,
    objects: u64,
}

/// Returns the name under which an interrupted import is continued: its sources as given, and their destination.
pub(super) fn name(args: &Import) -> String {
    let mut names = args.sources.clone();
    if let Some(list) = &args.files_from {
        names.extend(icefield::SourceName::parse(&list.display().to_string()));
    }
    let sources = import_name(&names);
    let behind = match (&args.append, &args.concat) {
        (Some(dimension), _) => format!(", appended along {dimension}"),
        (None, Some(dimension)) => format!(", along {dimension}"),
        (None, None) => String::new(),
    };
    format!("{sources} into {} of {}{behind}", args.group, args.branch)
}

pub(super) async fn run(context: &Context, args: &Import, mut out: Output) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let is_one = !args.sources.is_empty() || args.files_from.is_some();
    let name = is_one.then(|| args.collected.name(&name(args)));
    let abandoned = abandon_imports(&repository, name.as_deref()).await?;
    let abandoned = abandoned.into_iter().map(|it| AbandonedImport {
        about: it.about,
        branch: it.branch,
        objects: it.objects,
    });
    let facts = AbandonFacts {
        location: output::location(&args.location),
        abandoned: abandoned.collect(),
    };
    out.facts(&facts, text)
}

fn text(facts: &AbandonFacts, out: &mut dyn Write) -> io::Result<()> {
    if facts.abandoned.is_empty() {
        return writeln!(out, "there is no interrupted import");
    }
    for it in &facts.abandoned {
        let objects = count(it.objects, "object", "objects");
        writeln!(out, "abandoned {}: {objects} removed", printable(&it.about))?;
    }
    writeln!(
        out,
        "the chunks that they stored are garbage for `icefield gc`"
    )
}

//! `icefield set-status`

use icefield::EditOutcome;
use icefield::format::{Availability, RepoStatus};
use serde::Serialize;

use super::Context;
use crate::args::{self, SetStatus};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct StatusFacts {
    location: String,
    status: String,
}

/// Returns a status in words, with its reason.
pub(super) fn status_text(status: &RepoStatus) -> String {
    let word = match status.availability {
        Availability::Online => "online".to_owned(),
        Availability::ReadOnly => "read-only".to_owned(),
        Availability::Offline => "offline: reads are served, writes are refused".to_owned(),
        other => format!("{other:?}, which this version does not know: writes are refused"),
    };
    match &status.reason {
        Some(reason) => format!("{word} ({reason})"),
        None => word,
    }
}

pub(super) async fn run(context: &Context, args: SetStatus) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let availability = match args.status {
        args::Availability::Online => Availability::Online,
        args::Availability::ReadOnly => Availability::ReadOnly,
    };
    match repository
        .set_status(availability, args.reason, None)
        .await?
    {
        EditOutcome::Done(_) => {}
        EditOutcome::Unknown(unknown) => {
            let text = format!("it is not known whether the status was set: {unknown}");
            let hint = "`icefield info LOCATION` shows the status";
            return Err(Failure::new(Exit::Unknown, text).hint(hint));
        }
        EditOutcome::Refused(refusal) => {
            let text = format!("the status was not set: {refusal:?}");
            return Err(Failure::new(Exit::Conflict, text));
        }
    }
    let status = repository.status().await?;
    let facts = StatusFacts {
        location: output::location(&args.location),
        status: status_text(&status),
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        writeln!(
            out,
            "{} is {}",
            printable(&facts.location),
            printable(&facts.status)
        )
    })
}

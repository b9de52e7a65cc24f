//! `icefield doctor`

use std::io::{self, Write};
use std::time::Duration;

use futures::StreamExt;
use icefield::storage::{
    Clock, Entropy, Key, KeyError, ListOptions, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageExt, SystemClock, SystemEntropy,
};
use icefield::{Error, ErrorKind, Repository};
use serde::Serialize;

use super::Context;
use crate::args::Doctor;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output};

/// Reads whose time is taken.
const READS: u32 = 7;
/// More than this between two clocks is worth a word.
const SKEW: Duration = Duration::from_secs(600);

#[derive(Serialize)]
struct Report {
    location: String,
    store: Option<String>,
    healthy: bool,
    guarantees: Option<Guarantees>,
    checks: Vec<Check>,
    /// Of one small request: the median and the longest, in microseconds.
    latency_us: Option<(u64, u64)>,
    /// Seconds that this clock is ahead of the store's, where the store said its time.
    clock_ahead_s: Option<i64>,
}

#[derive(Serialize)]
struct Guarantees {
    writable: bool,
    safe_commits: bool,
    conditional_create: bool,
    conditional_update: bool,
    conditional_delete: bool,
    exact_versions: bool,
    user_metadata: bool,
    server_side_copy: bool,
    durable: bool,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    /// `good`, `note` or `bad`.
    verdict: &'static str,
    said: String,
}

impl Report {
    fn note(&mut self, name: &'static str, verdict: &'static str, said: impl Into<String>) {
        self.healthy &= verdict != "bad";
        self.checks.push(Check {
            name,
            verdict,
            said: said.into(),
        });
    }
}

pub(super) async fn run(context: &Context, args: Doctor) -> Result<(), Failure> {
    let mut report = Report {
        location: output::location(&args.location),
        store: None,
        healthy: true,
        guarantees: None,
        checks: Vec::new(),
        latency_us: None,
        clock_ahead_s: None,
    };
    match context.storage(&args.location).await {
        Ok(storage) => examine(&mut report, &*storage, args.write).await?,
        Err(error) => report.note("location", "bad", said(&error)),
    }
    if report.healthy
        && let Ok(storage) = context.storage(&args.location).await
    {
        match Repository::open(storage).await.map_err(Error::from) {
            Ok(_) => report.note("repository", "good", "there is one, and it opens"),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                report.note("repository", "note", "there is none here yet");
            }
            Err(error) => report.note("repository", "bad", said(&error)),
        }
    }
    let healthy = report.healthy;
    Output::new(args.facts).facts(&report, text)?;
    match healthy {
        true => Ok(()),
        false => Err(Failure::new(
            Exit::Failure,
            "something is wrong with this location",
        )),
    }
}

async fn examine(report: &mut Report, storage: &dyn Storage, write: bool) -> Result<(), Failure> {
    let capabilities = storage.capabilities();
    report.store = Some(storage.to_string());
    report.guarantees = Some(Guarantees {
        writable: capabilities.writable,
        safe_commits: capabilities.safe_commits(),
        conditional_create: capabilities.conditional_create,
        conditional_update: capabilities.conditional_update,
        conditional_delete: capabilities.conditional_delete,
        exact_versions: capabilities.exact_versions,
        user_metadata: capabilities.user_metadata,
        server_side_copy: capabilities.server_side_copy,
        durable: capabilities.durable,
    });
    let main = Key::parse("refs/branch.main/ref.json").map_err(invalid)?;
    match storage.exists(&main).await {
        Ok(_) => report.note("read", "good", "objects can be read"),
        Err(error) => {
            report.note("read", "bad", chain(&error));
            return Ok(());
        }
    }
    let refs = Prefix::parse("refs").map_err(invalid)?;
    match storage.list(ListOptions::prefix(refs)).next().await {
        None | Some(Ok(_)) => report.note("list", "good", "objects can be listed"),
        Some(Err(error)) => report.note(
            "list",
            "note",
            format!(
                "objects cannot be listed, so that branches can be opened by name only: {}",
                chain(&error)
            ),
        ),
    }
    latency(report, storage, &main).await;
    if write && capabilities.writable {
        try_writes(report, storage).await?;
    }
    Ok(())
}

async fn latency(report: &mut Report, storage: &dyn Storage, key: &Key) {
    let mut times = Vec::new();
    for _ in 0..READS {
        let begun = SystemClock.monotonic();
        if storage.exists(key).await.is_err() {
            return;
        }
        times.push((SystemClock.monotonic() - begun).as_micros() as u64);
    }
    times.sort_unstable();
    report.latency_us = Some((times[times.len() / 2], times[times.len() - 1]));
}

/// Writes a small object, tries to write it once more, and deletes it.
async fn try_writes(report: &mut Report, storage: &dyn Storage) -> Result<(), Failure> {
    let mut random = [0; 8];
    SystemEntropy.fill(&mut random);
    let name = format!("icefield/doctor/{:016x}", u64::from_le_bytes(random));
    let key = Key::parse(&name).map_err(invalid)?;
    let create = || PutOptions::mode(PutMode::Create);
    let written = match storage.put(&key, name.clone().into(), create()).await {
        Ok(PutOutcome::Written(written)) => written,
        Ok(other) => {
            report.note(
                "write",
                "bad",
                format!("a write of a new object was not done: {other:?}"),
            );
            return Ok(());
        }
        Err(error) => {
            report.note("write", "bad", chain(&error));
            return Ok(());
        }
    };
    report.note("write", "good", "objects can be written");
    if let Some(time) = written.store_time {
        let now = SystemClock.now();
        let (ahead, apart) = match now.duration_since(time) {
            Ok(ahead) => (ahead.as_secs() as i64, ahead),
            Err(behind) => (-(behind.duration().as_secs() as i64), behind.duration()),
        };
        report.clock_ahead_s = Some(ahead);
        match apart > SKEW {
            true => report.note(
                "clock",
                "bad",
                format!("this machine's clock is {ahead} s ahead of the store's: set it"),
            ),
            false => report.note(
                "clock",
                "good",
                format!("this machine's clock is {ahead} s ahead of the store's"),
            ),
        }
    }
    match storage
        .put(&key, format!("{name} again").into(), create())
        .await
    {
        Ok(PutOutcome::Refused) => {
            report.note("conditions", "good", "a second writer is refused");
        }
        other => report.note(
            "conditions",
            "bad",
            format!("a second writer was not refused: {other:?}"),
        ),
    }
    match storage.delete_one(key.into()).await {
        Ok(_) => report.note("delete", "good", "objects can be deleted"),
        Err(error) => report.note(
            "delete",
            "note",
            format!(
                "objects cannot be deleted, so that garbage stays, and {name} with it: {}",
                chain(&error)
            ),
        ),
    }
    Ok(())
}

fn invalid(error: KeyError) -> Failure {
    Error::new(ErrorKind::Invalid, error).into()
}

fn said(error: &Error) -> String {
    chain(error)
}

/// An error and its causes on one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

fn text(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", report.store.as_ref().unwrap_or(&report.location))?;
    for check in &report.checks {
        let mark = match check.verdict {
            "good" => "ok  ",
            "note" => "note",
            _ => "BAD ",
        };
        let said = output::escape::printable(&check.said);
        writeln!(out, "  {mark}  {:<10}  {said}", check.name)?;
    }
    if let Some((median, longest)) = report.latency_us {
        let ms = |us: u64| us as f64 / 1000.0;
        writeln!(
            out,
            "  a small read takes {:.2} ms, the longest of {READS} took {:.2} ms",
            ms(median),
            ms(longest)
        )?;
    }
    if let Some(guarantees) = &report.guarantees {
        writeln!(out, "  {}", promise(guarantees))?;
    }
    Ok(())
}

/// What the store guarantees, in plain words.
fn promise(guarantees: &Guarantees) -> &'static str {
    match (
        guarantees.writable,
        guarantees.safe_commits,
        guarantees.durable,
    ) {
        (false, ..) => "nothing can be written here",
        (true, false, _) => "commits are not safe here: two writers could both win",
        (true, true, false) => {
            "commits have one winner; an acknowledged one may be lost with the power"
        }
        (true, true, true) => "commits have one winner, and an acknowledged one stays",
    }
}

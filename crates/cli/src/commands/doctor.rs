//! `icefield doctor`

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use icefield::maintenance::{Amount, Usage};
use icefield::storage::remote::{RemoteSettings, RetrySettings};
use icefield::storage::{
    Clock, Entropy, Key, KeyError, ListOptions, Prefix, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt, SystemClock, SystemEntropy, Topic, Weight, with_causes,
};
use icefield::{Error, ErrorKind, Repository, Schemes};
use serde::Serialize;

use super::Context;
use super::found::FoundRepository;
use crate::args::Doctor;
use crate::failure::{Exit, Failure};
use crate::output::{self, Output, count};

/// The number of timed reads.
const READS: u32 = 7;
/// The difference between two clocks above which the report mentions it.
const SKEW: Duration = Duration::from_secs(600);
/// The time limit of one request with its retries.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct DoctorFacts {
    location: String,
    store: Option<String>,
    healthy: bool,
    guarantees: Option<Guarantees>,
    checks: Vec<DoctorCheck>,
    /// The median and the longest time of one small request, in microseconds.
    latency_us: Option<(u64, u64)>,
    /// Seconds that the clock of this machine is ahead of the store's, if the store reports its time.
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
struct DoctorCheck {
    name: &'static str,
    /// `good`, `note` or `bad`.
    verdict: &'static str,
    said: String,
}

impl DoctorFacts {
    fn note(&mut self, name: &'static str, verdict: &'static str, said: impl Into<String>) {
        self.healthy &= verdict != "bad";
        self.checks.push(DoctorCheck {
            name,
            verdict,
            said: said.into(),
        });
    }
}

pub(super) async fn run(context: &Context, args: Doctor) -> Result<(), Failure> {
    let context = &Context {
        schemes: impatient(context.schemes.clone()),
        access: context.access.clone(),
        // It says what the store is like.
        #[cfg(feature = "cache")]
        cache: None,
    };
    let mut report = DoctorFacts {
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
        Err(error) => report.note("location", "bad", error_text(&error)),
    }
    if report.healthy
        && let Ok(storage) = context.storage(&args.location).await
    {
        let opened = Repository::open(Arc::clone(&storage)).await;
        match FoundRepository::of(opened, storage).await {
            Ok(FoundRepository::Today(repository)) => {
                report.note("repository", "good", "there is one, and it opens");
                examine_refs(&mut report, &repository).await;
                examine_backups(&mut report, &repository).await;
            }
            Ok(FoundRepository::Alpha(_)) => report.note(
                "repository",
                "note",
                "a repository of the alpha generation, which is read-only: `icefield import` converts it to version 1",
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                report.note("repository", "note", "there is none here yet");
            }
            Err(error) => report.note("repository", "bad", error_text(&error)),
        }
    }
    let healthy = report.healthy;
    Output::new(args.output).facts(&report, text)?;
    match healthy {
        true => Ok(()),
        false => Err(Failure::new(Exit::Failure, "this location has a fault")),
    }
}

/// Returns the schemes with a short retry time: a diagnosis reports a fault and does not wait for its end.
fn impatient(schemes: Schemes) -> Schemes {
    let settings =
        RemoteSettings::default().with_retry(RetrySettings::default().with_deadline(PATIENCE));
    schemes.with_remote(&settings)
}

async fn examine(
    report: &mut DoctorFacts,
    storage: &dyn Storage,
    write: bool,
) -> Result<(), Failure> {
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
    // A read instead of `exists`: the response to a HEAD request has no body, and so no reason for a failure.
    match storage.try_read_at_most(&main, 1 << 20).await {
        Ok(_) | Err(StorageError::ObjectTooLarge { .. }) => {
            report.note("read", "good", "objects can be read")
        }
        Err(error) => {
            report.note("read", "bad", with_causes(&error));
            return Ok(());
        }
    }
    let refs = Prefix::parse("refs").map_err(invalid)?;
    match storage.list(ListOptions::prefix(refs)).next().await {
        None | Some(Ok(_) | Err(StorageError::UnreadableKey { .. })) => {
            report.note("list", "good", "objects can be listed");
        }
        Some(Err(
            error @ (StorageError::PermissionDenied { .. } | StorageError::Unsupported { .. }),
        )) => report.note(
            "list",
            "note",
            format!(
                "objects cannot be listed: a version opens by name, but no command can list the names: {}",
                with_causes(&error)
            ),
        ),
        Some(Err(error)) => report.note("list", "bad", with_causes(&error)),
    }
    match storage.advice().await {
        Ok(advice) => {
            for advice in advice {
                let name = match advice.topic {
                    Topic::Locks => "locks",
                    _ => "rules",
                };
                let verdict = match advice.weight {
                    Weight::Good => "good",
                    Weight::Warning => "bad",
                    _ => "note",
                };
                report.note(name, verdict, advice.text);
            }
        }
        Err(error) => report.note("rules", "note", with_causes(&error)),
    }
    latency(report, storage, &main).await;
    match (write, capabilities.writable) {
        (true, true) => try_writes(report, storage).await?,
        (true, false) => report.note("write", "note", "this location is for reading only"),
        (false, _) => {}
    }
    Ok(())
}

/// Reports files below `refs/` that are no refs, and files that prevent a collection.
async fn examine_refs(report: &mut DoctorFacts, repository: &Repository) {
    let list = match repository.refs().await {
        Ok(list) => list,
        // The check of listing above has reported this failure.
        Err(error) => return report.note("refs", "note", with_causes(&error)),
    };
    if !list.misspelled.is_empty() {
        let count = list.misspelled.len();
        let said = format!(
            "{count} files of refs are spelled as in another kind of store: `icefield fsck --repair` renames them"
        );
        report.note("refs", "note", said);
    }
    for key in &list.system_files {
        let said = format!("{key} was dropped there by an operating system");
        report.note("refs", "note", said);
    }
    if let Err(error) = list.require_understood() {
        report.note("refs", "bad", with_causes(&error));
    }
}

/// Reports the bytes of the backups of `repo`, which only a collection deletes.
async fn examine_backups(report: &mut DoctorFacts, repository: &Repository) {
    let backups = match Usage::new().backups(repository).await {
        Ok(Some(backups)) => backups,
        Ok(None) => return,
        // The check of listing above has reported this failure.
        Err(error) => return report.note("backups", "note", with_causes(&error)),
    };
    let of = |amount: Amount| {
        (
            count(amount.count, "backup", "backups"),
            output::bytes(amount.bytes),
        )
    };
    let ((all, bytes), (_, unneeded)) = (of(backups.total), of(backups.unneeded));
    let said = format!("{all} of `repo` ({bytes}), of which `icefield gc` deletes {unneeded}");
    report.note("backups", "good", said);
}

async fn latency(report: &mut DoctorFacts, storage: &dyn Storage, key: &Key) {
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

/// Writes a small object, tries to create it again, and deletes it.
async fn try_writes(report: &mut DoctorFacts, storage: &dyn Storage) -> Result<(), Failure> {
    let mut random = [0; 8];
    SystemEntropy.fill(&mut random);
    let name = format!("icefield/doctor/{:016x}", u64::from_le_bytes(random));
    let key = Key::parse(&name).map_err(invalid)?;
    let put = async |mode: PutMode, what: &str| {
        let bytes = format!("{name}, {what}");
        storage
            .put(&key, bytes.into(), PutOptions::mode(mode))
            .await
    };
    let written = match put(PutMode::Overwrite, "first").await {
        Ok(PutOutcome::Written(written)) => written,
        Ok(PutOutcome::Refused) => {
            report.note("write", "bad", "the store refused a write for no reason");
            return Ok(());
        }
        Ok(PutOutcome::Unknown(error)) | Err(error) => {
            report.note("write", "bad", with_causes(&error));
            return Ok(());
        }
    };
    report.note("write", "good", "objects can be written");
    if let Some(time) = written.store_time {
        compare_clocks(report, time);
    }
    let create = put(PutMode::Create, "as if it were new").await;
    let update = match create {
        Ok(PutOutcome::Refused) => {
            let stale = PutMode::Update(written.version);
            match put(stale.clone(), "second").await {
                Ok(PutOutcome::Written(_)) => put(stale, "of a state that has passed").await,
                other => other,
            }
        }
        other => other,
    };
    match update {
        Ok(PutOutcome::Refused) => report.note(
            "conditions",
            "good",
            "of two writers the second one is refused",
        ),
        Ok(PutOutcome::Written(_)) => report.note(
            "conditions",
            "bad",
            "a second writer was not refused: of two commits one would be lost; use another store",
        ),
        Ok(PutOutcome::Unknown(error)) | Err(error) => {
            report.note("conditions", "bad", with_causes(&error));
        }
    }
    match storage.delete_one(key.into()).await {
        Ok(_) => report.note("delete", "good", "objects can be deleted"),
        Err(error) => report.note(
            "delete",
            "note",
            format!(
                "objects cannot be deleted, so that garbage stays, and {name} with it: {}",
                with_causes(&error)
            ),
        ),
    }
    Ok(())
}

/// Compares the time that the store gives an object with the clock of this machine.
fn compare_clocks(report: &mut DoctorFacts, time: SystemTime) {
    let (seconds, apart, direction) = match SystemClock.now().duration_since(time) {
        Ok(ahead) => (ahead.as_secs() as i64, ahead, "ahead of"),
        Err(error) => {
            let behind = error.duration();
            (-(behind.as_secs() as i64), behind, "behind")
        }
    };
    report.clock_ahead_s = Some(seconds);
    let apart_s = apart.as_secs();
    match apart > SKEW {
        true => report.note(
            "clock",
            "bad",
            format!(
                "this machine's clock is {apart_s} s {direction} the store's: set it right, or requests are refused \
                 and commits get wrong times"
            ),
        ),
        false => report.note(
            "clock",
            "good",
            format!("this machine's clock and the store's are {apart_s} s apart"),
        ),
    }
}

fn invalid(error: KeyError) -> Failure {
    Error::new(ErrorKind::Invalid, error).into()
}

fn error_text(error: &Error) -> String {
    with_causes(error)
}

fn text(report: &DoctorFacts, out: &mut dyn Write) -> io::Result<()> {
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
    // A store with faults may not keep its guarantees, so the report leaves them out.
    if let Some(guarantees) = report.guarantees.as_ref().filter(|_| report.healthy) {
        writeln!(out, "  {}", promise(guarantees))?;
    }
    Ok(())
}

/// Returns the guarantees of the store in words.
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

//! The life of a window: rolls under readers and writers, and what stays in the store when old windows expire.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{env, time};

use icefield_benches::{fact, path, runtime};
use icefield_core::{BasicSolver, CommitOutcome, Repository};
use icefield_maintenance::{Check, Collect, Expire, Policy};
use icefield_rolling::{Change, Rolled};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Clock, Prefix, Storage, StorageExt, SystemClock};

use crate::STEP;
use crate::figures::{Roll, by_class, cpu, forget_peak, peak_above, percentiles};
use crate::place::{Place, Places};
use crate::reader::{Seen, read};
use crate::world::{
    ARRAYS, CHUNK, Extent, compare_all, create, fill_slab, label, newest, open, reachable_chunks,
    rolling, set_tile, window, writer,
};

/// Processes that read.
const READERS: u64 = 2;
/// Tasks that write beside the rollers.
const WRITERS: usize = 4;
/// Snapshots that are kept when old ones expire.
const KEPT: u64 = 3;
/// An inline chunk has at most so many bytes by default.
const INLINE: u64 = 512;
/// Times of objects may be cut to the second, and so may the time that they are compared with.
const ROUNDING: time::Duration = time::Duration::from_millis(2100);

/// The outcomes of rolls.
#[derive(Debug, Default)]
struct Rolls {
    rolls: Vec<Roll>,
    /// The same, of the roller that came too late.
    late: Vec<Roll>,
    /// Rolls with another number of winners than one.
    unsettled: u32,
    /// Rolls whose winner wrote other chunk bytes than the new slab and labels.
    inexact: u32,
    /// How often a slab was filled by a winner.
    fills: u64,
}

/// Commits of the writers.
#[derive(Debug, Default)]
struct Written {
    committed: AtomicU64,
    refused: AtomicU64,
    tries: AtomicU64,
}

/// Runs it in one kind of place. Returns whether all is as it must be.
pub(crate) fn run(places: &Places<'_>, kind: &str, extent: Extent, rolls: u32) -> bool {
    let place = places.make(kind, "life");
    let runtime = runtime();
    runtime.block_on(create(place.open(), extent, 0..i64::from(extent.slabs)));
    let held = forget_peak();
    let readers: Vec<Child> = match place.words() {
        Some(words) => (0..READERS)
            .map(|seed| reader(&words, extent, seed))
            .collect(),
        None => Vec::new(),
    };
    let is_over = Arc::new(AtomicBool::new(false));
    let (done, written, mut seen) = runtime.block_on(async {
        let repository = open(place.open()).await;
        let mut tasks = Vec::new();
        if readers.is_empty() {
            // No other process sees this memory.
            for seed in 0..READERS {
                let (repository, is_over) = (repository.clone(), Arc::clone(&is_over));
                let read = async move { read(&repository, extent, seed, &is_over).await };
                tasks.push(tokio::spawn(read));
            }
        }
        let written = Arc::new(Written::default());
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let (place, is_over) = (place.clone(), Arc::clone(&is_over));
                let written = Arc::clone(&written);
                tokio::spawn(async move { write(&place, extent, number, &written, &is_over).await })
            })
            .collect();
        let done = roll(&place, extent, rolls).await;
        is_over.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.expect("it writes");
        }
        let mut seen = Seen::default();
        for task in tasks {
            seen.add(task.await.expect("it reads"));
        }
        (done, written, seen)
    });
    for child in readers {
        seen.add(result(child));
    }
    let peak = peak_above(held);
    let subject = format!(
        "life, {kind}, {} slabs of {} chunks",
        extent.slabs,
        extent.chunks()
    );
    tell(&subject, &done, &written, peak);
    fact(
        format!("{subject}, {READERS} readers"),
        format_args!(
            "{} looks, {} held over three rolls; missing {}, wrong {}, mixed windows {}",
            seen.looks, seen.held, seen.faults.missing, seen.faults.wrong, seen.faults.mixed
        ),
    );
    let good = done.unsettled == 0 && done.inexact == 0 && seen.faults.are_none() && seen.looks > 0;
    runtime.block_on(collect(&place, extent, rolls, &subject)) && good
}

/// Begins a process that reads until its input ends.
fn reader(words: &[String; 3], extent: Extent, seed: u64) -> Child {
    let numbers = [extent.slabs, extent.each[0], extent.each[1], 0, seed as u32];
    Command::new(env::current_exe().expect("it runs"))
        .args([STEP, "read", ""])
        .args(words)
        .args(numbers.map(|number| number.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts")
}

fn result(mut child: Child) -> Seen {
    if let Some(mut input) = child.stdin.take() {
        let _nobody_may_read_it = input.flush();
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "a reader ends well");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Seen::parse(&text).expect("what it saw")
}

/// Rolls again and again, each time with two rollers that mean the same roll.
async fn roll(place: &Place, extent: Extent, rolls: u32) -> Rolls {
    let mut done = Rolls::default();
    let rollers = [counted(place).await, counted(place).await];
    for number in 0..i64::from(rolls) {
        let both = rollers
            .iter()
            .map(|roller| one_roll(roller, extent, number));
        let mut winners = 0;
        for (is_winner, fills, roll) in futures::future::join_all(both).await {
            if !is_winner {
                done.late.push(roll);
                continue;
            }
            winners += 1;
            done.fills += fills;
            let labels = [8, 16].map(|bytes| bytes * u64::from(extent.slabs));
            let labels: u64 = labels.iter().filter(|bytes| **bytes > INLINE).sum();
            let exact = fills * (extent.chunks() * CHUNK + labels);
            done.inexact += u32::from(roll.chunk_bytes() != exact || roll.lists > 0);
            done.rolls.push(roll);
        }
        done.unsettled += u32::from(winners != 1);
    }
    done
}

async fn counted(place: &Place) -> (Repository, CountingStorage) {
    let counting = CountingStorage::new(place.open());
    (open(Arc::new(counting.clone())).await, counting)
}

/// One roller: says whether it was the one that rolled, and how often it filled the slab.
async fn one_roll(
    (repository, counting): &(Repository, CountingStorage),
    extent: Extent,
    number: i64,
) -> (bool, u64, Roll) {
    counting.reset();
    let fills = AtomicU64::new(0);
    let (begun, processor) = (SystemClock.monotonic(), cpu());
    let rolling = rolling(repository).key(number.to_string()).complete();
    let change = Change::roll(1);
    let rolled = rolling.run(&change, async |session, staged| {
        fills.fetch_add(1, Ordering::Relaxed);
        let slab = window(session).chunk_of(staged.new.start, 1);
        let slab = slab.expect("it is in the window");
        fill_slab(session, extent, slab, label(staged.new.start)).await;
        Ok(())
    });
    let rolled = rolled.await.expect("an outcome");
    let seconds = (SystemClock.monotonic() - begun).as_secs_f64();
    let mut roll = Roll {
        // Uploads happen while others roll, read and write.
        seconds: [0.0, 0.0, seconds],
        cpu: cpu() - processor,
        ..Roll::default()
    };
    roll.set_counts(&counting.reset());
    let is_winner = matches!(rolled, Rolled::Committed { .. });
    (is_winner, fills.into_inner(), roll)
}

/// Writes some chunks of each newest slab once more, by what they are for, while the window moves on.
async fn write(
    place: &Place,
    extent: Extent,
    number: usize,
    written: &Written,
    is_over: &AtomicBool,
) {
    let repository = open(place.open()).await;
    let own: Vec<[u32; 2]> = extent.tiles().skip(number).step_by(WRITERS).collect();
    let mut last = None;
    while !is_over.load(Ordering::Relaxed) {
        let session = writer(&repository).await;
        let window = window(&session);
        let step = window.end() - 1;
        if last.replace(step) == Some(step) {
            SystemClock.sleep(time::Duration::from_millis(1)).await;
            continue;
        }
        let slab = window.chunk_of(step, 1).expect("it is in the window");
        for (array, name) in ARRAYS.iter().enumerate() {
            session.follow_shifts(&path(name)).expect("writable");
            for at in own.iter().take(3) {
                set_tile(&session, array, slab, label(step), *at).await;
            }
        }
        let commit = session.commit("some chunks");
        let outcome = commit.rebase_with(BasicSolver::default()).await;
        let tries = session.commit_attempts().expect("open");
        written.tries.fetch_add(tries.into(), Ordering::Relaxed);
        match outcome.expect("an outcome") {
            CommitOutcome::Committed(_) => written.committed.fetch_add(1, Ordering::Relaxed),
            CommitOutcome::Conflicts { .. } => written.refused.fetch_add(1, Ordering::Relaxed),
            other => panic!("{other:?}"),
        };
    }
}

fn tell(subject: &str, done: &Rolls, written: &Written, peak: u64) {
    let seconds = done.rolls.iter().map(Roll::own).collect();
    let (middle, slow) = percentiles(seconds);
    let processor = percentiles(done.rolls.iter().map(|roll| roll.cpu).collect()).0;
    fact(
        subject,
        format_args!(
            "{} rolls, {middle:.4} s each with the upload (95 of 100 in {slow:.4}), processor {processor:.4} s of all that \
             runs here; filled {} times; peak of memory {peak} above the start; not exactly one winner: {}, other bytes of \
             chunks than those of the new slab and labels: {}",
            done.rolls.len(),
            done.fills,
            done.unsettled,
            done.inexact,
        ),
    );
    for (who, rolls) in [("first", &done.rolls), ("second", &done.late)] {
        if let Some(roll) = rolls.last() {
            fact(
                format!("{subject}, requests of the roller that was {who}"),
                format_args!("{}; lists {}", by_class(&roll.classes), roll.lists),
            );
        }
    }
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    fact(
        format!("{subject}, {WRITERS} writers"),
        format_args!(
            "{} commits in {} tries, {} refused because their slab was gone",
            load(&written.committed),
            load(&written.tries),
            load(&written.refused)
        ),
    );
}

async fn chunk_objects(storage: &dyn Storage) -> u64 {
    let all = storage.list_all(&Prefix::default()).await.expect("listed");
    let chunks = all
        .iter()
        .filter(|meta| meta.key.as_str().starts_with("chunks/"));
    chunks.count() as u64
}

/// Lets old windows expire and collects. Returns whether what is left is what refs reach, all of it, and right.
async fn collect(place: &Place, extent: Extent, rolls: u32, subject: &str) -> bool {
    let repository = open(place.open()).await;
    let (faults, is_window) = {
        let (labels, faults) = compare_all(&newest(&repository).await, extent).await;
        let last = label(i64::from(extent.slabs + rolls) - 1);
        (
            faults,
            labels.last() == Some(&last) && labels.len() == extent.slabs as usize,
        )
    };
    let storage = repository.storage();
    let before = chunk_objects(&**storage).await;
    SystemClock.sleep(ROUNDING).await;
    let begun = SystemClock.monotonic();
    let mut policy = Policy::default();
    policy.last = KEPT;
    Expire::new(policy)
        .run(&repository, &())
        .await
        .expect("expired");
    let collect = Collect::default().floor(time::Duration::ZERO).force_floor();
    let report = collect.run(&repository).await.expect("collected");
    let seconds = (SystemClock.monotonic() - begun).as_secs_f64();
    let repository = open(place.open()).await;
    let after = chunk_objects(&**repository.storage()).await;
    let reachable = reachable_chunks(&repository).await;
    let check = Check::new(Arc::clone(repository.storage()));
    let is_sound = check.run(&()).await.expect("checked").is_sound();
    let (_, faults_after) = compare_all(&newest(&repository).await, extent).await;
    fact(
        format!("{subject}, {KEPT} snapshots kept"),
        format_args!(
            "chunk objects {before} before, {after} after, {reachable} reachable; {} objects deleted in {seconds:.2} s; \
             sound: {is_sound}; faults of the newest window {}",
            report.total().deleted,
            faults.missing + faults.wrong + faults.mixed
        ),
    );
    after == reachable && is_sound && is_window && faults.are_none() && faults_after.are_none()
}

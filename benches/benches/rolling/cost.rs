//! The cost of a roll of one large array. Chunks are forgotten as soon as they are counted: the subject is what a roll writes
//! beside them.

use std::sync::Arc;

use futures::TryStreamExt;
use icefield_benches::{Chunkless, Mode, fact, path};
use icefield_core::{BranchName, CommitOutcome, Repository, RepositoryConfig, Session, WriteMode};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Bytes, Clock, SystemClock};

use crate::figures::{Roll, by_class, cpu, forget_peak, peak_above, percentiles};
use crate::place::{Place, Places};
use crate::step;

/// Bytes of a chunk: more than a manifest takes.
const CHUNK: usize = 1024;
/// Of a shift: seconds with a million references and with ten thousand, bytes of memory, and bytes written for each
/// reference.
const SHIFT: (f64, f64, u64, f64) = (0.8, 0.2, 150 << 20, 25.0);
/// Bytes that any roll writes, however few references there are: the snapshot, and what compresses badly alone.
const FEW: f64 = 16_384.0;
/// Seconds of a roll that grows, without the upload of new chunks, and bytes that it writes for each of them.
const GROW: (f64, f64) = (0.02, 100.0);
/// Growing takes so many times as long for each new chunk of a large window as of a small one.
const LESS: f64 = 2.0;

/// A window: its name, its slabs, chunks of a slab along its axes, and rolls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) name: &'static str,
    pub(crate) slabs: u32,
    pub(crate) each: [u32; 2],
    pub(crate) rolls: u32,
}

impl Size {
    fn new_chunks(&self) -> u64 {
        u64::from(self.each[0] * self.each[1])
    }
}

async fn open(place: &Place, way: &str) -> (Repository, CountingStorage) {
    let storage = Chunkless::new(place.open());
    let counting = CountingStorage::new(Arc::new(storage));
    let rule = "[any_array, [{condition: !Axis 0, num_chunks: 1}]]";
    let rules = format!("manifest:\n  splitting:\n    split_sizes:\n    - {rule}\n");
    let config = match way {
        "grow" => RepositoryConfig::decode(rules.as_bytes()).expect("a configuration"),
        // Not configured.
        _ => RepositoryConfig::default(),
    };
    let builder = Repository::builder(Arc::new(counting.clone())).config(config);
    let repository = builder.open_or_create().await.expect("opened");
    (repository, counting)
}

async fn resize(session: &Session, slabs: u32, [y, x]: [u32; 2]) {
    let document = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{slabs}, {y}, {x}], "data_type": "int8",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [1, 1, 1]}}}},
        "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{{"name": "bytes"}}],
        "dimension_names": ["time", "y", "x"]}}"#
    );
    let path = path("/a");
    let set = session.set_metadata(&path, document.into(), WriteMode::Overwrite);
    set.await.expect("set");
}

async fn set(session: &Session, slab: u32, [y, x]: [u32; 2]) {
    let (path, bytes) = (path("/a"), Bytes::from_static(&[7; CHUNK]));
    for index in (0..y).flat_map(|y| (0..x).map(move |x| [slab, y, x])) {
        let set = session.set_chunk(&path, &index, bytes.clone(), WriteMode::Overwrite);
        set.await.expect("set");
    }
}

async fn session(repository: &Repository) -> Session {
    let session = repository.write_session(BranchName::main()).await;
    session.expect("a session")
}

async fn commit(session: &Session) {
    let outcome = session.commit("a roll").await.expect("committed");
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
}

/// Fills the window, a slab at a time.
pub(crate) async fn build(way: &str, place: &Place, size: Size) {
    let (repository, _) = open(place, way).await;
    for slab in 0..size.slabs {
        let session = session(&repository).await;
        if slab == 0 {
            resize(&session, size.slabs, size.each).await;
        }
        set(&session, slab, size.each).await;
        commit(&session).await;
    }
}

/// Rolls once, after so many times.
pub(crate) async fn roll(way: &str, place: &Place, size: Size, before: u32) -> Roll {
    let (slabs, each) = (size.slabs, size.each);
    let (repository, counting) = open(place, way).await;
    let session = session(&repository).await;
    let a = path("/a");
    counting.reset();
    let held = forget_peak();
    let mut roll = Roll::default();
    let (begun, processor) = (SystemClock.monotonic(), cpu());
    let new = match way {
        "shift" => {
            session.shift(&a, &[-1, 0, 0]).await.expect("shifted");
            slabs - 1
        }
        _ => {
            resize(&session, slabs + before + 1, each).await;
            let gone = [before..before + 1, 0..each[0], 0..each[1]];
            let deleted = session.delete_chunks(&a, &gone).await.expect("deleted");
            assert_eq!(deleted, size.new_chunks());
            slabs + before
        }
    };
    let (changed, processor_changed) = (SystemClock.monotonic(), cpu());
    set(&session, new, each).await;
    let (uploaded, processor_uploaded) = (SystemClock.monotonic(), cpu());
    commit(&session).await;
    let done = SystemClock.monotonic();
    roll.cpu = cpu() - processor_uploaded + (processor_changed - processor);
    let times = [uploaded - changed, changed - begun, done - uploaded];
    roll.seconds = times.map(|time| time.as_secs_f64());
    roll.peak = peak_above(held);
    roll.set_counts(&counting.reset());
    // A file of one slab after another: every chunk is there.
    let session = repository.read_session(BranchName::main()).await;
    let chunks = session.expect("a session").chunks(&a).expect("an array");
    let count = chunks.try_fold(0, |count, _| async move { Ok(count + 1) });
    let expected = size.new_chunks() * u64::from(slabs);
    assert_eq!(count.await.expect("listed"), expected);
    roll
}

/// Builds a window and rolls it, each roll in a process of its own where another one can see the place.
fn rolls(way: &str, place: &Place, size: Size) -> Vec<Roll> {
    let parse = |text: &str| Roll::parse(text).expect("a roll");
    if place.words().is_none() {
        let text = step("rolls", way, place, size, 0);
        return text.lines().map(parse).collect();
    }
    step("build", way, place, size, 0);
    let roll = |before| parse(&step("roll", way, place, size, before));
    (0..size.rolls).map(roll).collect()
}

/// Measures both ways at all sizes in one kind of place. Returns whether all is as it must be; what takes how long only
/// prints whether it is as it should be.
pub(crate) fn measure(mode: Mode, places: &Places<'_>, kind: &str, sizes: &[Size]) -> bool {
    let mut good = true;
    for way in ["shift", "grow"] {
        let mut each_chunk = Vec::new();
        for &size in sizes {
            let place = places.make(kind, &format!("{way}-{}", size.name));
            let rolls = rolls(way, &place, size);
            let refs = size.new_chunks() * u64::from(size.slabs);
            let subject = format!(
                "{way} {}, {kind}, {refs} refs, {} of them new",
                size.name,
                size.new_chunks()
            );
            let (own, slow) = tell(&subject, &rolls);
            each_chunk.push(own / size.new_chunks() as f64);
            for roll in &rolls {
                good &= roll.lists == 0 && roll.chunk_bytes() == size.new_chunks() * CHUNK as u64;
                let (bytes_each, of) = match way {
                    "shift" => (SHIFT.3, refs),
                    _ => (GROW.1, size.new_chunks()),
                };
                good &= roll.written() as f64 <= bytes_each * of as f64 + FEW;
                // A test is not optimised, and memory has the store in it.
                good &= mode == Mode::Test || kind == "memory" || roll.peak <= SHIFT.2;
            }
            let target = match way {
                "shift" if refs < 20_000 => SHIFT.1,
                "shift" => SHIFT.0,
                _ => GROW.0,
            };
            if mode != Mode::Test && kind == "local" {
                fact(
                    &subject,
                    format_args!("{own:.4} s, 95 of 100 in {slow:.4} s, target {target} s"),
                );
            }
        }
        if let ("grow", [first, .., last]) = (way, &each_chunk[..]) {
            let ratio = last / first;
            fact(
                format!("grow {kind}, largest : smallest, for each new chunk"),
                format_args!("{ratio:.2}, target {LESS}"),
            );
        }
    }
    good
}

/// Prints what rolls took. Returns the seconds without the upload: the middle, and what 95 of 100 do not exceed.
fn tell(subject: &str, rolls: &[Roll]) -> (f64, f64) {
    let of = |what: &dyn Fn(&Roll) -> f64| percentiles(rolls.iter().map(what).collect());
    let (own, slow) = of(&|roll| roll.own());
    let best = rolls.iter().map(Roll::own).fold(f64::INFINITY, f64::min);
    let peak = rolls.iter().map(|roll| roll.peak).max().unwrap_or(0);
    fact(
        subject,
        format_args!(
            "{own:.4} s without the upload (best {best:.4}, 95 of 100 in {slow:.4}; {:.4} to say what goes, {:.4} to commit; \
             processor {:.4} s); upload {:.4} s, in all {:.4} s; peak of memory {peak} above the start",
            of(&|roll| roll.seconds[1]).0,
            of(&|roll| roll.seconds[2]).0,
            of(&|roll| roll.cpu).0,
            of(&|roll| roll.seconds[0]).0,
            of(&Roll::all).0,
        ),
    );
    let last = rolls.last().copied().unwrap_or_default();
    fact(
        format!("{subject}, requests"),
        format_args!("{}; lists {}", by_class(&last.classes), last.lists),
    );
    (own, slow)
}

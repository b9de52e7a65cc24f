//! Readers that look while others write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};

use icefield_core::{Repository, Session};
use icefield_storage::SeededEntropy;

use crate::place::Place;
use crate::world::{ARRAYS, Extent, Faults, STEP, compare, labels, newest, open};

/// A snapshot is held over so many rolls, at least, and then looked at again.
const HELD: f64 = 3.0;

/// The observations of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) looks: u64,
    /// Snapshots that were looked at again after they had been held.
    pub(crate) held: u64,
    pub(crate) faults: Faults,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Self) {
        self.looks += other.looks;
        self.held += other.held;
        self.faults.add(other.faults);
    }

    pub(crate) fn to_text(self) -> String {
        let Faults {
            missing,
            wrong,
            mixed,
        } = self.faults;
        format!("{} {} {missing} {wrong} {mixed}", self.looks, self.held)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text
            .split_whitespace()
            .map_while(|it| it.parse().ok())
            .collect();
        let [looks, held, missing, wrong, mixed] = numbers[..] else {
            return None;
        };
        Some(Self {
            looks,
            held,
            faults: Faults {
                missing,
                wrong,
                mixed,
            },
        })
    }
}

/// Reads in a process of its own until its standard input ends.
pub(crate) async fn read_until_told(place: &Place, extent: Extent, seed: u64) -> Seen {
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    thread::spawn(move || {
        let _ended = io::copy(&mut io::stdin(), &mut io::sink());
        told.store(true, Ordering::Relaxed);
    });
    let repository = open(place.open()).await;
    read(&repository, extent, seed, &is_over).await
}

/// Looks at the newest window again and again: at one chunk of each slab, and at one slab of each array.
pub(crate) async fn read(
    repository: &Repository,
    extent: Extent,
    seed: u64,
    is_over: &AtomicBool,
) -> Seen {
    let entropy = SeededEntropy::new(seed);
    let below = |count: usize| entropy.below(count as u64) as usize;
    let tiles: Vec<[u32; 2]> = extent.tiles().collect();
    let mut seen = Seen::default();
    let mut held: Option<(Session, Vec<f64>)> = None;
    while !is_over.load(Ordering::Relaxed) {
        let session = newest(repository).await;
        let (labels, mixed) = labels(&session).await;
        seen.faults.add(mixed);
        let (array, at) = (below(ARRAYS.len()), tiles[below(tiles.len())]);
        let series = (0..labels.len() as u32).map(|slab| (array, slab, at));
        seen.faults.add(compare(&session, &labels, series).await);
        let slab = below(labels.len()) as u32;
        let mut all = Vec::new();
        for array in 0..ARRAYS.len() {
            all.extend(tiles.iter().map(|at| (array, slab, *at)));
        }
        seen.faults.add(compare(&session, &labels, all).await);
        seen.looks += 1;
        held = match held {
            Some((old, before)) => {
                seen.faults.add(look_again(&old, &before, array, at).await);
                // Where the window shows the same as when it was opened, it was not held over anything.
                match labels[0] - before[0] >= HELD * STEP {
                    true => {
                        seen.held += 1;
                        None
                    }
                    false => Some((old, before)),
                }
            }
            None => Some((session, labels)),
        };
        tokio::task::yield_now().await;
    }
    seen
}

/// Looks whether a session shows what it showed when it was opened.
async fn look_again(session: &Session, before: &[f64], array: usize, at: [u32; 2]) -> Faults {
    let (labels, mut faults) = labels(session).await;
    faults.mixed += u64::from(labels != before);
    let series = (0..labels.len() as u32).map(|slab| (array, slab, at));
    faults.add(compare(session, &labels, series).await);
    faults
}

//! A process that lives long: it commits, reads, forks, merges, expires and collects at a fixed rate, and its memory,
//! descriptors, threads and tasks must not grow.
//!
//! - [`pace`] tells when a round begins.
//! - [`life`] is what it does, on a repository of each version of the format on the local disk.
//! - [`sample`] is what it has at one moment, as the system tells it.
//! - [`verdict`] compares what it had early with what it had late.

pub mod life;
pub mod pace;
pub mod sample;
pub mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use icefield::format::SpecVersion;
use icefield_storage::{Clock as _, SystemClock};
use serde::Serialize;

use life::{Counts, Life};
use pace::Pace;
use sample::Sample;
use verdict::{Growth, WARM_UP, growth};

/// The pause between two samples.
const EVERY: Duration = Duration::from_secs(5);

/// A soak as it is asked for.
#[derive(Clone, Debug)]
pub struct Soak {
    /// How long it lasts.
    pub lasts: Duration,
    /// Rounds a second.
    pub rate: f64,
    /// An empty folder, for the repositories.
    pub folder: PathBuf,
}

/// The figures of a soak.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// How long it lasted.
    pub seconds: u64,
    /// Rounds a second, on each of the repositories.
    pub rate: f64,
    /// Rounds that were left out, as the one before took too long.
    pub missed: u64,
    /// What was done.
    pub counts: Counts,
    /// How many samples count; the others are of the warm-up.
    pub samples: usize,
    /// What the process had early and late, by name.
    pub growth: Vec<Growth>,
}

impl Figures {
    /// Returns whether nothing grew, and enough samples say so.
    #[must_use]
    pub fn are_flat(&self) -> bool {
        self.samples >= 3 && self.growth.iter().all(|it| it.is_flat)
    }

    /// Returns whether nine of ten rounds took place when they were due. The samples of a soak that did less late than early
    /// would not be of the same work.
    #[must_use]
    pub fn kept_pace(&self) -> bool {
        let rounds = self.seconds as f64 * self.rate;
        self.missed as f64 <= rounds / 10.0
    }
}

impl Soak {
    /// Lives on, and prints a line each minute.
    ///
    /// # Errors
    /// Errors of the engine, or of the system.
    pub async fn run(&self) -> anyhow::Result<Figures> {
        let clock = SystemClock;
        let mut pace = Pace::new(self.rate)?;
        let mut lives = Vec::new();
        for spec in [SpecVersion::V1, SpecVersion::V2] {
            lives.push(Life::begin(&self.folder.join(format!("{spec:?}")), spec).await?);
        }
        let begun = clock.monotonic();
        let elapsed = || clock.monotonic().saturating_sub(begun);
        let (mut sampled, mut told) = (Duration::ZERO, Duration::ZERO);
        let mut samples: Vec<(Duration, Sample)> = Vec::new();
        loop {
            let waited = elapsed();
            let left = self.lasts.saturating_sub(waited);
            clock.sleep(pace.wait(waited).min(left)).await;
            let now = elapsed();
            if now >= self.lasts {
                break;
            }
            // Between two rounds, when nothing is under way.
            if now >= sampled {
                let sample = Sample::now()?;
                samples.push((now, sample));
                sampled = now + EVERY;
                if now >= told {
                    println!("{:>5} s  {sample}  {}", now.as_secs(), total(&lives));
                    told = now + Duration::from_secs(60);
                }
            }
            for life in &mut lives {
                life.round().await?;
            }
        }
        let warm = self.lasts.mul_f64(WARM_UP);
        let counted: Vec<Sample> = (samples.into_iter())
            .filter(|(at, _)| *at >= warm)
            .map(|(_, sample)| sample)
            .collect();
        Ok(Figures {
            seconds: elapsed().as_secs(),
            rate: self.rate,
            missed: pace.missed(),
            counts: total(&lives),
            samples: counted.len(),
            growth: growth(&counted),
        })
    }
}

fn total(lives: &[Life]) -> Counts {
    let mut total = Counts::default();
    for life in lives {
        total += life.counts();
    }
    total
}

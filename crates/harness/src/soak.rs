//! A process that lives long: it commits, reads, forks, merges, expires and collects at a bounded rate, and its memory,
//! descriptors, threads and tasks must not grow.
//!
//! - [`life`] is what it does, on a repository of each version of the format on the local disk.
//! - [`sample`] is what it has at one moment, as the system tells it.
//! - [`verdict`] compares what it had early with what it had late.

pub mod life;
pub mod sample;
pub mod verdict;

use std::path::PathBuf;
use std::time::Duration;

use icefield::format::SpecVersion;
use icefield_storage::{Clock as _, SystemClock};
use serde::Serialize;

use life::{Counts, Life};
use sample::Sample;
use verdict::{Growth, WARM_UP, growth};

/// The pause between two samples.
const EVERY: Duration = Duration::from_secs(5);

/// A soak as it is asked for.
#[derive(Clone, Debug)]
pub struct Soak {
    /// How long it lasts.
    pub lasts: Duration,
    /// The pause between two rounds.
    pub pause: Duration,
    /// An empty folder, for the repositories.
    pub folder: PathBuf,
}

/// The figures of a soak.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// How long it lasted.
    pub seconds: u64,
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
}

impl Soak {
    /// Lives on, and prints a line each minute.
    ///
    /// # Errors
    /// Errors of the engine, or of the system.
    pub async fn run(&self) -> anyhow::Result<Figures> {
        let clock = SystemClock;
        let mut lives = Vec::new();
        for spec in [SpecVersion::V1, SpecVersion::V2] {
            lives.push(Life::begin(&self.folder.join(format!("{spec:?}")), spec).await?);
        }
        let begun = clock.monotonic();
        let elapsed = || clock.monotonic().saturating_sub(begun);
        let (mut sampled, mut told) = (Duration::ZERO, Duration::ZERO);
        let mut samples: Vec<(Duration, Sample)> = Vec::new();
        while elapsed() < self.lasts {
            for life in &mut lives {
                life.round().await?;
            }
            clock.sleep(self.pause).await;
            let now = elapsed();
            if now >= sampled {
                let sample = Sample::now()?;
                samples.push((now, sample));
                sampled = now + EVERY;
                if now >= told {
                    println!("{:>5} s  {sample}  {}", now.as_secs(), total(&lives));
                    told = now + Duration::from_secs(60);
                }
            }
        }
        let warm = self.lasts.mul_f64(WARM_UP);
        let counted: Vec<Sample> = (samples.into_iter())
            .filter(|(at, _)| *at >= warm)
            .map(|(_, sample)| sample)
            .collect();
        Ok(Figures {
            seconds: elapsed().as_secs(),
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

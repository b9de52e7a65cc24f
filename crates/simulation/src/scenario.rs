//! The parts of a run: drawn from a seed, written down as JSON, and made smaller while it still fails.

use std::time::Duration;

use icefield::format::SpecVersion;
use icefield_storage::SeededEntropy;
use serde::{Deserialize, Serialize};

use crate::broken::Broken;

const HOUR: u64 = 3600;

/// One run. Equal scenarios give equal traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Decides the order of steps, latencies, faults and values.
    pub seed: u64,
    /// The spec version of the repository when the run begins.
    pub spec: u8,
    /// Whether chunks are objects of their own, or lie in manifests.
    pub native_chunks: bool,
    /// Requests of a thousand that meet a fault, of each kind that the contract of stores permits.
    pub faults: u64,
    /// The processes.
    pub actors: Vec<Actor>,
    /// The disruptions that befall them.
    pub disruptions: Vec<Disruption>,
    /// A planted bug of the store or of the protocol.
    pub broken: Option<Broken>,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Its work.
    pub role: Role,
    /// How often.
    pub rounds: u32,
    /// How many milliseconds its clock is ahead, or behind if negative.
    pub skew_ms: i64,
}

/// The work of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Moves money between accounts in two arrays: their sum is constant at every snapshot.
    Bank,
    /// Appends numbers to an array: each that was acknowledged is there once, in the order of its writer.
    Ledger,
    /// Rolls a window: its numbers always follow each other.
    Window,
    /// Counts one cell up: reads and writes of it are linearizable.
    Register,
    /// Opens a session, waits for hours, and commits.
    Slow,
    /// Sends forks to be filled elsewhere, and merges what comes back.
    Forks,
    /// Reads at tips, tags and older snapshots, and checks every rule of the others.
    Reader,
    /// Creates and deletes tags and branches, and commits to branches.
    Refs,
    /// Collects garbage.
    Collector,
    /// Expires old snapshots.
    Expirer,
    /// Copies the repository and checks the copy.
    Copier,
    /// Upgrades the repository to spec version 2.
    Upgrader,
    /// Changes the configuration.
    Settings,
}

/// Something that befalls a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disruption {
    /// Which process, by its place in the list.
    pub actor: usize,
    /// When, in seconds since the run began.
    pub at_s: u64,
    /// For how many seconds.
    pub for_s: u64,
    /// The kind.
    pub kind: DisruptionKind,
}

/// A kind of disruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisruptionKind {
    /// It dies, and is started again afterwards with nothing in memory.
    Crash,
    /// It stands still, and then goes on as if nothing had happened.
    Pause,
    /// It does not reach the store.
    CutOff,
}

impl Disruption {
    pub(crate) fn at(&self) -> Duration {
        Duration::from_secs(self.at_s)
    }

    pub(crate) fn length(&self) -> Duration {
        Duration::from_secs(self.for_s)
    }
}

impl Scenario {
    /// Draws a scenario.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        use Role::{
            Bank, Collector, Copier, Expirer, Forks, Ledger, Reader, Refs, Register, Settings,
            Slow, Upgrader, Window,
        };
        let dice = SeededEntropy::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xF1EE7);
        let spec = 1 + (seed % 2) as u8;
        let roles = [
            Bank, Bank, Ledger, Ledger, Window, Register, Register, Slow, Forks, Reader, Reader,
            Refs, Collector, Collector, Expirer, Copier, Upgrader, Settings,
        ];
        let count = 2 + dice.below(11) as usize;
        let mut actors = vec![Role::Bank];
        while actors.len() < count {
            actors.push(roles[dice.below(roles.len() as u64) as usize]);
        }
        let skewed = |dice: &SeededEntropy| match dice.below(4) {
            0 => dice.below(120_000).cast_signed() - 60_000,
            _ => 0,
        };
        let actors: Vec<Actor> = actors
            .into_iter()
            .map(|role| Actor {
                role,
                rounds: 2 + dice.below(6) as u32,
                skew_ms: skewed(&dice),
            })
            .collect();
        let disruptions = (0..dice.below(6))
            .map(|_| Disruption {
                actor: dice.below(actors.len() as u64) as usize,
                at_s: dice.below(12 * HOUR),
                for_s: 1 + dice.below([60, HOUR, 30 * HOUR][dice.below(3) as usize]),
                kind: [
                    DisruptionKind::Crash,
                    DisruptionKind::Pause,
                    DisruptionKind::CutOff,
                ][dice.below(3) as usize],
            })
            .collect();
        Self {
            seed,
            spec,
            native_chunks: dice.below(2) == 0,
            faults: [0, 0, 3, 20][dice.below(4) as usize],
            actors,
            disruptions,
            broken: None,
        }
    }

    /// Returns the scenario with a planted bug, and with actors that it takes to find it.
    #[must_use]
    pub fn with_broken(mut self, broken: Broken) -> Self {
        self.broken = Some(broken);
        let needed = needs(broken).iter().map(|role| Actor {
            role: *role,
            rounds: 4,
            skew_ms: 0,
        });
        self.actors.extend(needed);
        self
    }

    pub(crate) fn spec_version(&self) -> SpecVersion {
        match self.spec {
            1 => SpecVersion::V1,
            _ => SpecVersion::V2,
        }
    }

    /// Returns scenarios that are a little smaller.
    fn smaller(&self) -> Vec<Self> {
        let mut found = Vec::new();
        for at in (0..self.actors.len()).rev() {
            let mut less = self.clone();
            less.actors.remove(at);
            less.disruptions.retain(|it| it.actor != at);
            for disruption in &mut less.disruptions {
                disruption.actor -= usize::from(disruption.actor > at);
            }
            found.push(less);
        }
        for at in 0..self.disruptions.len() {
            let mut less = self.clone();
            less.disruptions.remove(at);
            found.push(less);
        }
        for at in 0..self.actors.len() {
            if self.actors[at].rounds > 1 {
                let mut less = self.clone();
                less.actors[at].rounds /= 2;
                found.push(less);
            }
            if self.actors[at].skew_ms != 0 {
                let mut less = self.clone();
                less.actors[at].skew_ms = 0;
                found.push(less);
            }
        }
        if self.faults > 0 {
            let mut less = self.clone();
            less.faults = 0;
            found.push(less);
        }
        found.retain(|it| !it.actors.is_empty());
        found
    }

    /// Makes a failing scenario smaller, as long as it fails, in at most so many runs.
    #[must_use]
    pub fn shrunk(&self, fails: impl Fn(&Self) -> bool, mut runs: usize) -> Self {
        let mut smallest = self.clone();
        'again: loop {
            for candidate in smallest.smaller() {
                if runs == 0 {
                    return smallest;
                }
                runs -= 1;
                if fails(&candidate) {
                    smallest = candidate;
                    continue 'again;
                }
            }
            return smallest;
        }
    }
}

/// Returns the actors without which a planted bug cannot show.
fn needs(broken: Broken) -> &'static [Role] {
    match broken {
        Broken::IgnoresConditions | Broken::HastyWriters => {
            &[Role::Bank, Role::Ledger, Role::Register]
        }
        Broken::CreatesOver => &[Role::Refs, Role::Refs, Role::Refs, Role::Bank],
        Broken::ForgetsWrites => &[Role::Bank, Role::Ledger, Role::Window],
        Broken::ReadsStale => &[Role::Register, Role::Reader],
        Broken::NoFloor => &[Role::Slow, Role::Collector, Role::Bank],
    }
}

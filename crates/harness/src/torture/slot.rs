//! A place in which one process follows the other, each killed at a moment of its own.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use icefield_storage::SeededEntropy;

use super::death::Death;
use super::figures::Figures;
use super::ground::Ground;
use crate::process::{Killer, Process};
use crate::protocol;

/// The work of the processes of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It commits.
    Writer,
    /// It reads.
    Reader,
    /// It collects garbage.
    Collector,
}

/// The state that the slots of a repository share.
#[derive(Debug)]
pub struct Shared<'a> {
    /// The program that the processes run.
    pub worker: &'a Path,
    /// Where the logs are.
    pub folder: PathBuf,
    /// Where the repository is.
    pub ground: &'a Ground,
    /// Whether writers carry their commits over to those that were first.
    pub rebase: bool,
    /// The age from which on a collection deletes garbage.
    pub floor: Duration,
    numbers: AtomicU32,
    is_over: AtomicBool,
    may_kill_collectors: AtomicBool,
    alive: Mutex<HashMap<u32, (Role, Killer)>>,
    counted: Mutex<(Figures, Vec<String>)>,
}

impl<'a> Shared<'a> {
    /// Returns what the slots of a new repository share.
    #[must_use]
    pub fn new(
        worker: &'a Path,
        folder: PathBuf,
        ground: &'a Ground,
        rebase: bool,
        floor: Duration,
    ) -> Self {
        Self {
            worker,
            folder,
            ground,
            rebase,
            floor,
            numbers: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
            may_kill_collectors: AtomicBool::new(false),
            alive: Mutex::default(),
            counted: Mutex::default(),
        }
    }

    /// Returns the figures so far, and what went wrong.
    #[must_use]
    pub fn counted(&self) -> (Figures, Vec<String>) {
        lock(&self.counted).clone()
    }

    /// Lets collectors be killed, too. A collection that was killed holds back all others for longer than a campaign lasts.
    pub fn kill_collectors(&self) {
        self.may_kill_collectors.store(true, Ordering::SeqCst);
        // The one that was to live on dies now, and those that follow it when it is drawn for them.
        let alive = lock(&self.alive);
        let collectors = alive.values().filter(|it| it.0 == Role::Collector);
        collectors.for_each(|it| it.1.kill());
    }

    /// Ends the repository: no process is started any more, and all are killed.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        lock(&self.alive).values().for_each(|it| it.1.kill());
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn arguments(&self, role: Role, number: u32) -> Vec<String> {
        let location = self.ground.location().to_owned();
        let patience = match self.ground.may_fail() {
            true => "patient",
            false => "strict",
        };
        let patience = patience.to_owned();
        match role {
            Role::Writer => {
                let log = self.folder.join(format!("acknowledged-{number:05}.txt"));
                let log = log.display().to_string();
                let way = if self.rebase { "rebase" } else { "again" };
                let write = "torture-write".to_owned();
                vec![
                    write,
                    location,
                    patience,
                    number.to_string(),
                    log,
                    way.to_owned(),
                ]
            }
            Role::Reader => vec!["torture-read".to_owned(), location, patience],
            Role::Collector => {
                let floor = self.floor.as_millis().to_string();
                vec!["torture-collect".to_owned(), location, patience, floor]
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one process after the other until the repository ends.
pub fn run<'s>(scope: &'s Scope<'s, '_>, shared: &'s Shared<'_>, role: Role, seed: u64) {
    let dice = SeededEntropy::new(seed);
    while !shared.is_over() {
        let number = shared.numbers.fetch_add(1, Ordering::SeqCst);
        let is_local = !shared.ground.may_fail();
        let spared = role == Role::Collector && !shared.may_kill_collectors.load(Ordering::SeqCst);
        let death = match spared {
            true => Death::AtTheEnd,
            false => Death::draw(&dice, is_local),
        };
        if let Err(error) = live(scope, shared, role, number, death) {
            let mut counted = lock(&shared.counted);
            counted.0.broken += 1;
            counted.1.push(format!("{role:?} {number}: {error:#}"));
            // A process that ends by itself does so again.
            return;
        }
    }
}

/// Runs one process to its death.
fn live<'s>(
    scope: &'s Scope<'s, '_>,
    shared: &'s Shared<'_>,
    role: Role,
    number: u32,
    death: Death,
) -> anyhow::Result<()> {
    let arguments = shared.arguments(role, number);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut environment = shared.ground.environment();
    let call;
    match death {
        Death::SystemCall(at) => {
            call = at.to_string();
            environment.push((protocol::STOP_AT, &call));
        }
        Death::Operation(_) => environment.push((protocol::ANNOUNCE, "1")),
        Death::After(_) | Death::AtTheEnd => {}
    }
    let mut process = Process::start(shared.worker, &arguments, &environment)?;
    let killer = process.killer();
    lock(&shared.alive).insert(number, (role, killer.clone()));
    if shared.is_over() {
        killer.kill();
    }
    let mut operations = 0;
    while let Some(line) = process.line()? {
        if line == "ready" {
            // Killed meanwhile, it hears nothing.
            let _dead = process.go();
            if let Death::After(life) = death {
                let killer = killer.clone();
                scope.spawn(move || {
                    thread::sleep(life);
                    killer.kill();
                });
            }
        } else if let Some(said) = line.strip_prefix("! ") {
            let mut counted = lock(&shared.counted);
            counted.0.count(said);
            if said.starts_with("broken") {
                counted.1.push(format!("{role:?} {number}: {said}"));
            }
        } else {
            if death == Death::Operation(operations) {
                killer.kill();
            }
            operations += 1;
        }
    }
    let status = process.wait()?;
    lock(&shared.alive).remove(&number);
    anyhow::ensure!(
        status.signal() == Some(9),
        "it ended by itself, with {status}"
    );
    lock(&shared.counted).0.kills += 1;
    Ok(())
}

//! A campaign: repositories, one after the other, until the time is over.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use icefield::format::SpecVersion;
use icefield_storage::{Clock as _, SeededEntropy, SystemClock};
use tokio::runtime::Runtime;

use super::figures::Figures;
use super::ground::{Backend, Ground};
use super::judge;
use super::slot::{self, Role, Shared};
use crate::work::prepare_in;

/// Processes that commit at the same time.
const WRITERS: u64 = 3;
/// The pause between two looks at the time.
const PAUSE: Duration = Duration::from_millis(200);
/// The time between two lines about the progress.
const TELL_EVERY: Duration = Duration::from_secs(10);
/// The least age of garbage that a collection deletes; half the life of a repository, if that is more. No session may
/// take as long, not even on a busy machine.
const FLOOR: Duration = Duration::from_secs(20);

/// A campaign as it is asked for.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// How long processes are killed; the judgements come on top.
    pub lasts: Duration,
    /// How long each repository is used.
    pub life: Duration,
    /// The store.
    pub backend: Backend,
    /// The versions of the format, in turn.
    pub specs: Vec<SpecVersion>,
    /// The source of all draws.
    pub seed: u64,
    /// Where repositories are kept.
    pub folder: PathBuf,
    /// The program that the processes run.
    pub worker: PathBuf,
    /// A program with arguments that judges each repository, too: it is given the folder. What it has judged is removed;
    /// without one all is kept.
    pub second_judge: Vec<OsString>,
}

impl Campaign {
    /// Runs it.
    ///
    /// # Errors
    /// If the campaign itself cannot go on. Broken promises are in the figures, and their repositories are kept.
    pub fn run(&self) -> anyhow::Result<Figures> {
        let runtime = Runtime::new()?;
        let dice = SeededEntropy::new(self.seed);
        let mut total = Figures::default();
        let mut spent = Duration::ZERO;
        for number in 0.. {
            if spent >= self.lasts {
                break;
            }
            let life = self.life.min(self.lasts - spent);
            let spec = self.specs[number % self.specs.len()];
            // Both ways to commit, with each version.
            let rebase = (number / self.specs.len()) % 2 == 1;
            let one = One {
                campaign: self,
                folder: self.folder.join(format!("repository-{number:03}")),
                spec,
                rebase,
                life,
                seed: dice.next_u64(),
            };
            let figures = one.run(&runtime, &total)?;
            total += &figures;
            spent += life;
        }
        Ok(total)
    }
}

/// One repository of a campaign.
struct One<'a> {
    campaign: &'a Campaign,
    folder: PathBuf,
    spec: SpecVersion,
    rebase: bool,
    life: Duration,
    seed: u64,
}

impl One<'_> {
    fn run(&self, runtime: &Runtime, before: &Figures) -> anyhow::Result<Figures> {
        let folder = &self.folder;
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let ground = Ground::new(self.campaign.backend, folder, self.seed)?;
        // Past the proxy: faults begin with the first writer.
        runtime.block_on(async { prepare_in(ground.storage().await?, self.spec).await })?;
        let (mut figures, mut wrong) = self.fight(&ground, before);
        figures.faults = ground.faults();
        let acknowledged = judge::acknowledged(folder)?;
        // A writer that was killed between its log and its word has told nothing.
        figures.acknowledged = acknowledged.len() as u64;
        let verdict = runtime.block_on(async {
            let storage = ground.storage().await?;
            ground.copy_to(&*storage, &folder.join("repo")).await?;
            anyhow::Ok(judge::judge(storage, &acknowledged).await)
        })?;
        figures.judged = 1;
        figures.landed = verdict.landed;
        figures.lost = verdict.lost.len() as u64;
        figures.doubled = verdict.doubled.len() as u64;
        figures.broken += verdict.broken.len() as u64;
        wrong.extend(verdict.lost.iter().map(|id| format!("lost: {id}")));
        wrong.extend(verdict.doubled.iter().map(|it| format!("doubled: {it}")));
        wrong.extend(verdict.broken);
        if let Err(error) = self.ask_second_judge() {
            figures.broken += 1;
            wrong.push(format!("{error:#}"));
        }
        println!(
            "{} {} version {}, {}: {figures}",
            folder.display(),
            self.campaign.backend,
            self.spec,
            if self.rebase {
                "rebases"
            } else {
                "fresh sessions"
            },
        );
        for line in &wrong {
            println!("WRONG {line}");
        }
        if wrong.is_empty() && !self.campaign.second_judge.is_empty() {
            std::fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        Ok(figures)
    }

    /// Starts and kills processes for the life of the repository.
    fn fight(&self, ground: &Ground, before: &Figures) -> (Figures, Vec<String>) {
        let floor = FLOOR.max(self.life / 2);
        let worker = &self.campaign.worker;
        let shared = Shared::new(worker, self.folder.clone(), ground, self.rebase, floor);
        let dice = SeededEntropy::new(self.seed);
        let roles = [Role::Reader, Role::Collector].into_iter();
        let roles = roles.chain((0..WRITERS).map(|_| Role::Writer));
        thread::scope(|scope| {
            for role in roles {
                let (shared, seed) = (&shared, dice.next_u64());
                scope.spawn(move || slot::run(scope, shared, role, seed));
            }
            let begun = SystemClock.monotonic();
            let mut told = begun;
            let mut spares_collectors = true;
            loop {
                thread::sleep(PAUSE);
                let now = SystemClock.monotonic();
                if now - begun >= self.life {
                    break;
                }
                if spares_collectors && now - begun >= self.life * 3 / 4 {
                    shared.kill_collectors();
                    spares_collectors = false;
                }
                if now - told >= TELL_EVERY {
                    told = now;
                    let mut so_far = before.clone();
                    so_far += &shared.counted().0;
                    println!("… {so_far}");
                }
            }
            shared.end();
        });
        shared.counted()
    }

    fn ask_second_judge(&self) -> anyhow::Result<()> {
        let Some((program, arguments)) = self.campaign.second_judge.split_first() else {
            return Ok(());
        };
        let said = Command::new(program)
            .args(arguments)
            .arg(&self.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", Path::new(program).display()))?;
        if !said.status.success() {
            let (out, err) = (&said.stdout, &said.stderr);
            let [out, err] = [out, err].map(|text| String::from_utf8_lossy(text).into_owned());
            bail!("the second judge says no: {}\n{}", out.trim(), err.trim());
        }
        Ok(())
    }
}

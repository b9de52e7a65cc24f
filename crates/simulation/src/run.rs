//! One run: the world is made, the actors act, and the judge looks at what is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use futures::FutureExt as _;
use icefield::{BranchName, MemoryStorage, NodePath, Repository, WriteMode};
use icefield_storage::{SeededEntropy, Storage};

use crate::actors::act;
use crate::broken::{Broken, BrokenStorage};
use crate::facts::{Facts, Figures};
use crate::fleet::{self, Control, Ended, Task};
use crate::judge;
use crate::member::{Member, Trouble, array};
use crate::process::ProcessStorage;
use crate::rules::{ACCOUNTS, BANK, CELLS, DEPOSIT, FORKS, LEDGER, REGISTER, WINDOW, WINDOW_ARRAY};
use crate::scenario::{Disruption, DisruptionKind, Scenario};
use crate::time::WorldTime;
use crate::trace::Trace;

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The first rule that did not hold.
    pub broken: Option<String>,
    /// The digest of all events: equal for equal scenarios.
    pub digest: u64,
    /// Events.
    pub events: u64,
    /// Counts.
    pub figures: Figures,
    /// The last events in words.
    pub last: Vec<String>,
}

/// Runs of this program: processes of different runs share nothing.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Plays a scenario.
#[must_use]
pub fn play(scenario: &Scenario) -> Outcome {
    let (world, trace, facts) = (WorldTime::new(), Trace::default(), Facts::default());
    let played = catch_unwind(AssertUnwindSafe(|| {
        played(scenario, &world, &trace, &facts)
    }));
    let ended = played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    });
    let figures = facts.lock().figures;
    Outcome {
        broken: ended.err(),
        digest: trace.digest(),
        events: trace.count(),
        figures,
        last: trace.last(),
    }
}

fn played(scenario: &Scenario, world: &WorldTime, trace: &Trace, facts: &Facts) -> Ended {
    let clock = world.clock(0);
    let memory: Arc<dyn Storage> = Arc::new(
        MemoryStorage::builder()
            .clock(Arc::new(clock.clone()))
            .build(),
    );
    at_once(found(&memory, scenario, &clock))?;
    let shared: Arc<dyn Storage> = match scenario.broken {
        Some(broken) => Arc::new(BrokenStorage::new(Arc::clone(&memory), broken)),
        None => Arc::clone(&memory),
    };
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let faults = scenario
        .faults
        .max(scenario.broken.map_or(0, Broken::faults));
    let mut processes = Vec::new();
    let mut tasks = Vec::new();
    for (number, actor) in scenario.actors.iter().enumerate() {
        let seed = scenario.seed.wrapping_mul(1_000_003) ^ (number as u64) << 40;
        let place = format!("simulation {run}, process {number}");
        let process = ProcessStorage::new(
            (place, number),
            Arc::clone(&shared),
            world,
            trace,
            (seed, faults),
        );
        processes.push(process.clone());
        let (role, rounds) = (actor.role, actor.rounds);
        let member = Member {
            number,
            storage: process,
            world: world.clone(),
            clock: world.clock(actor.skew_ms),
            facts: facts.clone(),
            dice: Arc::new(SeededEntropy::new(seed ^ 0xD1CE)),
            native_chunks: scenario.native_chunks,
            is_hasty: scenario.broken == Some(Broken::HastyWriters),
            has_no_floor: scenario.broken == Some(Broken::NoFloor),
            entropy: Arc::new(SeededEntropy::new(seed)),
        };
        tasks.push(Task {
            name: format!("process {number} ({role:?})"),
            begin: Box::new(move |life| {
                let mut member = member.clone();
                member.entropy = Arc::new(SeededEntropy::new(seed ^ u64::from(life + 1) << 20));
                act(role, rounds, life, member).boxed()
            }),
            control: Arc::default(),
            counts: true,
        });
    }
    let disruptions: Vec<Task> = (scenario.disruptions.iter())
        .filter(|it| it.actor < processes.len())
        .map(|it| disruption(it, world, &tasks[it.actor].control, &processes[it.actor]))
        .collect();
    tasks.extend(disruptions);
    fleet::run(tasks, scenario.seed, world, trace)?;
    at_once(async {
        for process in &processes {
            process.heal().await;
        }
        Ok(())
    })?;
    at_once(judge::judge(memory, clock, facts))
}

/// Polls what waits for nothing but the memory of this process.
fn at_once<T>(work: impl Future<Output = Result<T, Trouble>>) -> Result<T, String> {
    let mut work = std::pin::pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10_000_000_u64 {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(Ok(value)) => return Ok(value),
            Poll::Ready(Err(Trouble::Broken(rule))) => return Err(rule),
            Poll::Ready(Err(Trouble::Later)) => {
                return Err("a store without faults fails".to_owned());
            }
            Poll::Pending => {}
        }
    }
    Err("a store without faults does not answer".to_owned())
}

/// Makes the repository that the actors find.
async fn found(
    store: &Arc<dyn Storage>,
    scenario: &Scenario,
    clock: &crate::time::WorldClock,
) -> Result<(), Trouble> {
    let broken = |error: String| Trouble::Broken(format!("the repository is not made: {error}"));
    let make = async {
        let builder = Repository::builder(Arc::clone(store)).clock(Arc::new(clock.clone()));
        let builder = builder.entropy(Arc::new(SeededEntropy::new(scenario.seed)));
        let repository = builder
            .spec_version(scenario.spec_version())
            .create()
            .await?;
        let session = repository.write_session(BranchName::main()).await?;
        let group = r#"{"zarr_format":3,"node_type":"group"}"#;
        for at in ["/", "/bank"] {
            session
                .set_metadata(&NodePath::parse(at)?, group.into(), WriteMode::Overwrite)
                .await?;
        }
        let set = async |at: &str, values: Vec<u64>, length: u64| -> anyhow::Result<()> {
            let at = NodePath::parse(at)?;
            session
                .set_metadata(&at, array(length).into(), WriteMode::Overwrite)
                .await?;
            for (index, value) in values.into_iter().enumerate() {
                let mut bytes = value.to_le_bytes().to_vec();
                if scenario.native_chunks {
                    bytes.resize(600, 0x5a);
                }
                session
                    .set_chunk(&at, &[index as u32], bytes.into(), WriteMode::Overwrite)
                    .await?;
            }
            Ok(())
        };
        for at in BANK {
            set(at, vec![DEPOSIT; ACCOUNTS as usize], u64::from(ACCOUNTS)).await?;
        }
        set(LEDGER, Vec::new(), 0).await?;
        set(
            WINDOW_ARRAY,
            (1..=u64::from(WINDOW)).collect(),
            u64::from(WINDOW),
        )
        .await?;
        set(REGISTER, vec![0, 0], 2).await?;
        set(FORKS, Vec::new(), u64::from(CELLS)).await?;
        icefield::committed(session.commit("the beginning").await?)?;
        anyhow::Ok(())
    };
    make.await.map_err(|error| broken(format!("{error:#}")))
}

fn disruption(
    disruption: &Disruption,
    world: &WorldTime,
    control: &Arc<Control>,
    process: &ProcessStorage,
) -> Task {
    let (at, length, kind) = (disruption.at(), disruption.length(), disruption.kind);
    let (world, control, process) = (world.clone(), Arc::clone(control), process.clone());
    let set = move |on: bool| match kind {
        DisruptionKind::Crash => control.is_down.store(on, Ordering::SeqCst),
        DisruptionKind::Pause => control.is_paused.store(on, Ordering::SeqCst),
        DisruptionKind::CutOff => process.cut_off(on),
    };
    let set = Arc::new(set);
    Task {
        name: format!("{kind:?} of process {}", disruption.actor),
        begin: Box::new(move |_| {
            let (set, world) = (Arc::clone(&set), world.clone());
            async move {
                world.until(at).await;
                set(true);
                world.until(at + length).await;
                set(false);
                Ok(())
            }
            .boxed()
        }),
        control: Arc::default(),
        counts: false,
    }
}

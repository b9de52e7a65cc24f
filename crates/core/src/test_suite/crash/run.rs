//! Running a scenario to each of its ends.

use std::sync::Arc;

use futures::FutureExt;
use icefield_storage::Storage;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Matcher, Plan, When, crash_points};

use super::scenario::{Fault, Ground, Notes, ReportedOutcome, Scenario};
use crate::test_suite::view::view;
use crate::test_suite::words::{dice, group, path};
use crate::test_suite::{Trial, walk};
use crate::{CommitOutcome, Repository, SessionError, WriteMode};

/// The size of an enumeration of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Storage operations of the undisturbed scenario.
    pub operations: u64,
    /// How often it was interrupted and finished.
    pub runs: u64,
}

/// The expected states of the scenario, step by step.
struct Script {
    /// After so many steps.
    views: Vec<String>,
    /// After a part of the first step, where that can be seen.
    partly: Option<String>,
    operations: u64,
}

/// When a late write reaches the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    BeforeTheUserGoesOn,
    AfterTheUserIsDone,
}

/// Interrupts every operation of a scenario in each of these ways.
///
/// # Panics
/// If anything is found that must not be; the message says where.
pub async fn every_fault(trial: &Trial, scenario: &Scenario, faults: &[Fault]) -> Report {
    let script = Script::of(trial, scenario).await;
    let mut report = Report {
        operations: script.operations,
        runs: 0,
    };
    for k in 0..script.operations {
        for fault in faults {
            for arrival in [Arrival::BeforeTheUserGoesOn, Arrival::AfterTheUserIsDone] {
                if arrival == Arrival::AfterTheUserIsDone && !fault.is_late() {
                    continue;
                }
                let name = scenario.name;
                let text = format!("{name}: {fault:?} in operation {k}, late writes {arrival:?}");
                let run = interrupt(trial, scenario, &script, k, *fault, arrival);
                explained(text, run).await;
                report.runs += 1;
            }
        }
    }
    report
}

/// Stops every operation of a scenario, then every operation of the recovery, then recovers.
///
/// # Panics
/// If anything is found that must not be; the message says where.
pub async fn every_pair_of_stops(trial: &Trial, scenario: &Scenario) -> Report {
    let script = Script::of(trial, scenario).await;
    let mut report = Report {
        operations: script.operations,
        runs: 0,
    };
    for (k, when) in crash_points(script.operations) {
        for then in When::ALL {
            for again in 0.. {
                let name = scenario.name;
                let text = format!("{name}: stop {when:?} {k}, then {then:?} {again}");
                let run = stop_twice(trial, scenario, &script, (k, when), (again, then));
                report.runs += 1;
                if !explained(text, run).await {
                    break;
                }
            }
        }
    }
    report
}

/// Does what [`every_pair_of_stops`] does with so many pairs that a seed chooses: all of them would take too long.
///
/// # Panics
/// If anything is found that must not be; the message says where.
pub async fn some_pairs_of_stops(
    trial: &Trial,
    scenario: &Scenario,
    seed: u64,
    pairs: u64,
) -> Report {
    let script = Script::of(trial, scenario).await;
    let mut dice = dice(seed);
    let mut stop = || (dice(script.operations), When::ALL[dice(3) as usize]);
    let (mut runs, mut met) = (0, 0);
    while met < pairs {
        let (first, second) = (stop(), stop());
        let text = format!("{}: stops {first:?}, then {second:?}", scenario.name);
        let run = stop_twice(trial, scenario, &script, first, second);
        runs += 1;
        met += u64::from(explained(text, run).await);
        assert!(runs < 100 * pairs, "the recovery is never stopped");
    }
    Report {
        operations: script.operations,
        runs,
    }
}

/// Runs to the end, or panics on with a message in front.
async fn explained<T>(text: String, run: impl Future<Output = T>) -> T {
    match std::panic::AssertUnwindSafe(run).catch_unwind().await {
        Ok(value) => value,
        Err(panic) => {
            println!("FAILED: {text}");
            std::panic::resume_unwind(panic)
        }
    }
}

/// Brings a new store to where the scenario begins.
async fn begin(trial: &Trial, scenario: &Scenario) -> Ground {
    let trial = trial.again();
    let storage = trial.store().await;
    let ground = Ground::new(&trial, &storage);
    for act in scenario.prepare {
        act(ground.clone()).await.expect("nothing disturbs it");
    }
    *ground.notes() = Notes::default();
    ground
}

/// Does the steps from one on, and notes each that is done.
async fn act(ground: Ground, scenario: Scenario) -> Result<(), ReportedOutcome> {
    for step in scenario.steps {
        (step.act)(ground.clone()).await?;
        ground.notes().steps += 1;
    }
    Ok(())
}

impl Script {
    async fn of(trial: &Trial, scenario: &Scenario) -> Self {
        let ground = begin(trial, scenario).await;
        let inner = Arc::clone(&ground.storage);
        let counted = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let counting = ground.through(Arc::new(counted.clone()));
        let mut views = vec![view(&inner).await];
        for step in scenario.steps {
            let done = (step.act)(counting.clone()).await;
            done.expect("nothing disturbs it");
            walk::assert_sound(&inner).await;
            views.push(view(&inner).await);
        }
        let partly = match scenario.partly {
            Some(act) => {
                let ground = begin(trial, scenario).await;
                act(ground.clone()).await.expect("nothing disturbs it");
                Some(view(&ground.storage).await)
            }
            None => None,
        };
        Self {
            views,
            partly,
            operations: counted.operations(),
        }
    }

    /// Asserts that a store is sound and shows so many steps, or one more; returns how many.
    async fn check(&self, storage: &Arc<dyn Storage>, least: usize) -> usize {
        walk::assert_sound(storage).await;
        let view = view(storage).await;
        if self.partly.as_ref() == Some(&view) && least == 0 {
            return 0;
        }
        let next = self.views.iter().enumerate().skip(least).take(2);
        match next.into_iter().find(|(_, expected)| **expected == view) {
            Some((done, _)) => done,
            None => panic!(
                "after {least} steps a user must see\n{}or\n{}, but sees\n{view}",
                self.views[least],
                self.views.get(least + 1).map_or("nothing else", |it| it),
            ),
        }
    }

    /// Asserts that a store is sound and shows everything, each acknowledged commit once.
    async fn check_end(&self, ground: &Ground, storage: &Arc<dyn Storage>) {
        let last = self.views.len() - 1;
        let done = self.check(storage, last).await;
        assert_eq!(done, last, "the user did the rest");
        let acknowledged = ground.notes().acknowledged.clone();
        if acknowledged.is_empty() {
            return;
        }
        let repository = Repository::open(Arc::clone(storage)).await.expect("sound");
        let tip = crate::test_suite::words::tip(&repository, "main").await;
        let history = crate::test_suite::words::history(&repository, tip).await;
        for id in acknowledged {
            let found = history.iter().filter(|info| info.id == id).count();
            assert_eq!(found, 1, "{id} was acknowledged");
        }
    }
}

async fn interrupt(
    trial: &Trial,
    scenario: &Scenario,
    script: &Script,
    k: u64,
    fault: Fault,
    arrival: Arrival,
) {
    let ground = begin(trial, scenario).await;
    let inner = Arc::clone(&ground.storage);
    let plan = Plan::none().on(Matcher::any(), k, fault.decision());
    let faulty = FaultyStorage::new(Arc::clone(&inner), plan);
    let acting = act(ground.through(Arc::new(faulty.clone())), *scenario);
    let told = match fault {
        Fault::Panic => match tokio::spawn(acting).await {
            Ok(told) => Some(told),
            Err(error) => {
                assert!(error.is_panic(), "{error:?}");
                None
            }
        },
        Fault::Cancel(_) => faulty.run_until_hung(acting).await,
        Fault::Stop(_) | Fault::Once(_) => Some(acting.await),
    };
    let steps = ground.notes().steps;
    match &told {
        Some(Ok(())) => assert_eq!(steps, scenario.steps.len()),
        Some(Err(_)) | None => assert!(steps < scenario.steps.len()),
    }
    let mut done = script.check(&inner, steps).await;
    if arrival == Arrival::BeforeTheUserGoesOn {
        faulty.deliver_pending().await;
        done = script.check(&inner, done.max(steps)).await;
    }
    if !matches!(fault, Fault::Stop(_)) {
        let least = steps + usize::from(settle(&ground).await);
        done = script.check(&inner, least.max(done)).await;
    }
    finish(&ground, scenario, done)
        .await
        .expect("nothing disturbs it");
    script.check_end(&ground, &inner).await;
    faulty.deliver_pending().await;
    script.check_end(&ground, &inner).await;
}

/// Looks at the session that was in use when it was interrupted: it takes writes, or says clearly why not,
/// and an outcome that is not known can be found out. Returns whether a commit turned out to have landed.
async fn settle(ground: &Ground) -> bool {
    let Some(session) = ground.notes().session.clone() else {
        return false;
    };
    let (at, document) = (path("/probe"), group().into());
    let probe = session.set_metadata(&at, document, WriteMode::Overwrite);
    match probe.await {
        Ok(_) => {
            session.discard_changes().expect("it takes writes");
            assert!(!session.has_changes().expect("it is sound"));
            false
        }
        Err(SessionError::Unresolved(id)) => match session.resolve().await {
            Ok(CommitOutcome::Committed(found)) => {
                assert_eq!(found, id);
                ground.acknowledged(id);
                true
            }
            other => panic!("nothing stands in the way of {id}, but it is {other:?}"),
        },
        Err(SessionError::Committed(_)) => false,
        other => panic!("the session must be usable or say why not, is {other:?}"),
    }
}

/// Finishes the scenario in a new process that finds so many steps done.
async fn finish(ground: &Ground, scenario: &Scenario, done: usize) -> Result<(), ReportedOutcome> {
    for step in &scenario.steps[done..] {
        (step.again)(ground.clone()).await?;
    }
    Ok(())
}

/// Returns whether the second stop was met.
async fn stop_twice(
    trial: &Trial,
    scenario: &Scenario,
    script: &Script,
    first: (u64, When),
    second: (u64, When),
) -> bool {
    let ground = begin(trial, scenario).await;
    let inner = Arc::clone(&ground.storage);
    let dying = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(first.0, first.1));
    let told = act(ground.through(Arc::new(dying.clone())), *scenario).await;
    let steps = ground.notes().steps;
    assert!(told.is_ok() == (steps == scenario.steps.len()));
    let done = script.check(&inner, steps).await;
    let again = FaultyStorage::new(Arc::clone(&inner), Plan::stop_at(second.0, second.1));
    let recovering = ground.through(Arc::new(again.clone()));
    let _ = finish(&recovering, scenario, done).await;
    // The first process may be told of its write only now.
    dying.deliver_pending().await;
    let mut done = done;
    loop {
        // The recovery may have done any number of steps.
        walk::assert_sound(&inner).await;
        let view = view(&inner).await;
        if script.views[done] == view || (done == 0 && script.partly.as_ref() == Some(&view)) {
            break;
        }
        done += 1;
        assert!(done < script.views.len(), "a user sees\n{view}");
    }
    finish(&ground, scenario, done)
        .await
        .expect("nothing disturbs it");
    script.check_end(&ground, &inner).await;
    again.deliver_pending().await;
    script.check_end(&ground, &inner).await;
    again.is_stopped()
}

//! Writers on a store on which everything lawful goes wrong, from seeds.

use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_core::test_suite::Trial;
use icefield_core::test_suite::walk::problems;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BranchName, CommitOutcome, Repository, RepositoryError, Session, SnapshotId, WriteMode,
};
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Plan, Rates, Trace};
use icefield_storage::{ManualClock, SeededEntropy, Storage};
use icefield_storage_memory::MemoryStorage;

use crate::support::without_runtime;

const WRITERS: u32 = 3;
const COMMITS: u32 = 4;

/// Repeats something until it works: no fault lasts.
async fn at_last<T, E: std::fmt::Debug>(
    what: &str,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let mut last = None;
    for _ in 0..300 {
        match attempt().await {
            Ok(value) => return value,
            Err(error) => last = Some(error),
        }
        tokio::task::yield_now().await;
    }
    panic!("{what} never works: {last:?}")
}

/// Commits one chunk and one group, from a fresh session whenever that is needed.
async fn commit_chunk(repository: &Repository, writer: u32, n: u32) -> SnapshotId {
    let message = format!("{writer}-{n}");
    loop {
        let session: Session = at_last("a session", async || {
            repository.write_session(BranchName::main()).await
        })
        .await;
        at_last("the chunk", async || {
            let bytes = pattern(u64::from(writer * 100 + n), 600).into();
            let index = [writer, n];
            session
                .set_chunk(&path("/a"), &index, bytes, WriteMode::Overwrite)
                .await
        })
        .await;
        set(&session, &format!("/{message}"), group()).await;
        match session.commit(&message).await {
            Ok(CommitOutcome::Committed(id)) => return id,
            Ok(CommitOutcome::Unknown { snapshot, .. }) => {
                let outcome = at_last("the outcome", async || match session.resolve().await {
                    Ok(CommitOutcome::Unknown { source, .. }) => Err(format!("{source:?}")),
                    Ok(outcome) => Ok(outcome),
                    Err(error) => Err(format!("{error:?}")),
                });
                if let CommitOutcome::Committed(id) = outcome.await {
                    assert_eq!(id, snapshot);
                    return id;
                }
            }
            // Refused, or nothing happened: from the start.
            Ok(_) | Err(_) => {}
        }
        tokio::task::yield_now().await;
    }
}

/// Shows what was done to the store, if the run fails.
struct Witness(FaultyStorage);

impl Drop for Witness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0.trace());
        }
    }
}

async fn run(seed: u64, rates: &Rates) -> Trace {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let clock = ManualClock::new(Trial::start());
    let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::seeded(seed, rates.clone()))
        .with_clock(Arc::new(clock.clone()));
    let _witness = Witness(faulty.clone());
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    let open = |n: u64| {
        let builder = Repository::builder(Arc::clone(&storage)).clock(Arc::new(clock.clone()));
        builder.entropy(Arc::new(SeededEntropy::new(seed ^ (n << 32))))
    };
    let first = at_last("creation", async || match open(1).open_or_create().await {
        Err(RepositoryError::NotEmpty { .. }) => panic!("only ours is there"),
        result => result,
    })
    .await;
    loop {
        let session = at_last("a session", async || {
            first.write_session(BranchName::main()).await
        })
        .await;
        set(
            &session,
            "/a",
            array(&[u64::from(WRITERS), u64::from(COMMITS)], &[1, 1]),
        )
        .await;
        let mut outcome = session.commit("array").await;
        while let Ok(CommitOutcome::Unknown { .. }) = outcome {
            outcome = session.resolve().await;
        }
        if let Ok(CommitOutcome::Committed(_)) = outcome {
            break;
        }
        let known = at_last("a look", async || {
            first.read_session(BranchName::main()).await
        })
        .await;
        if known.node_kind(&path("/a")).expect("sound").is_some() {
            break;
        }
    }
    let writers = (0..WRITERS).map(async |writer| {
        let builder = open(u64::from(writer) + 2);
        let repository = at_last("opening", async || builder.clone().open().await).await;
        let mut acknowledged = Vec::new();
        for n in 0..COMMITS {
            acknowledged.push(commit_chunk(&repository, writer, n).await);
        }
        acknowledged
    });
    let acknowledged = futures::future::join_all(writers).await.concat();
    let trace = faulty.trace();
    if std::env::var_os("SIM_TRACE").is_some() {
        println!("{trace}");
    }
    for _ in 0..2 {
        check(&inner, &acknowledged).await;
        faulty.deliver_pending().await;
    }
    trace
}

async fn check(inner: &Arc<dyn Storage>, acknowledged: &[SnapshotId]) {
    let problems = problems(inner).await;
    assert!(problems.is_empty(), "{problems:#?}");
    let repository = Repository::open(Arc::clone(inner)).await.expect("opened");
    let history = history(&repository, tip(&repository, "main").await).await;
    for id in acknowledged {
        assert_eq!(
            history.iter().filter(|info| info.id == *id).count(),
            1,
            "{id}"
        );
    }
    let messages: BTreeSet<_> = history.iter().map(|info| &info.message).collect();
    if messages.len() != history.len() {
        for i in &history {
            println!("{} {}", i.message, i.id);
        }
    }
    assert_eq!(messages.len(), history.len(), "no twins");
    assert_eq!(history.len() as u32, WRITERS * COMMITS + 2);
    let session = read_main(&repository).await;
    for writer in 0..WRITERS {
        for n in 0..COMMITS {
            let bytes = pattern(u64::from(writer * 100 + n), 600);
            holds(&session, "/a", &[writer, n], Some(&bytes)).await;
        }
    }
}

/// Runs on this thread alone, without a runtime, so that the seed decides everything.
fn simulate(seed: u64, rates: &Rates) -> Trace {
    let run = std::panic::AssertUnwindSafe(|| without_runtime(run(seed, rates)));
    match std::panic::catch_unwind(run) {
        Ok(trace) => trace,
        Err(panic) => {
            println!("FAILED: seed {seed}, {rates:?}");
            std::panic::resume_unwind(panic)
        }
    }
}

/// Everything that the contract permits, and delays that let the writers overtake each other.
fn rates(per_mille: u64) -> Rates {
    Rates {
        delay: 300,
        ..Rates::lawful(per_mille)
    }
}

/// The seeds to try: sixty, or those of `ICEFIELD_SIM_SEEDS=FROM..TO`.
fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("ICEFIELD_SIM_SEEDS") else {
        return 0..60;
    };
    let range = text
        .split_once("..")
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.expect("ICEFIELD_SIM_SEEDS is FROM..TO")
}

#[test]
fn acknowledged_commits_survive_lawful_faults() {
    let mut faults = 0;
    for seed in seeds() {
        let trace = simulate(seed, &rates(5 + seed % 4 * 10));
        faults += trace.faults().count();
    }
    println!("{faults} faults");
    assert!(faults > 100, "{faults}");
}

#[test]
fn one_seed_gives_one_run() {
    for seed in [1, 2, 3] {
        let rates = rates(20);
        let (one, two) = (simulate(seed, &rates), simulate(seed, &rates));
        assert!(one == two, "seed {seed}:\n{one}\n{two}");
    }
}

//! Rules, seeds, traces.

use std::collections::HashSet;
use std::mem::discriminant;
use std::sync::Arc;

use icefield_storage::wrap::fault::{Decision, FaultyStorage, Matcher, Plan, Rates, Trace, Verb};
use icefield_storage::{Prefix, PutMode, Storage, StorageExt};
use icefield_storage_memory::MemoryStorage;

use super::{key, put};

/// Does a hundred things, whatever comes of them, and returns the trace and what the store holds then.
async fn work(plan: Plan) -> (Trace, Vec<String>) {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let faulty = FaultyStorage::new(Arc::clone(&inner), plan);
    for i in 0..20 {
        let at = format!("chunks/{}", i % 7);
        let _ = put(&faulty, &at, &format!("body {i}"), PutMode::Overwrite).await;
        let _ = faulty.read(&key(&at)).await;
        let _ = faulty.head(&key("refs/main")).await;
        let _ = faulty.list_all(&Prefix::all()).await;
        let _ = faulty
            .delete_one(key(&format!("chunks/{}", i % 5)).into())
            .await;
    }
    let list = inner.list_all(&Prefix::all()).await.expect("no fault here");
    (
        faulty.trace(),
        list.iter()
            .map(|meta| format!("{} {}", meta.key, meta.version))
            .collect(),
    )
}

fn all_rates() -> Rates {
    Rates {
        stale: 50,
        garble: 50,
        ..Rates::lawful(50)
    }
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_run() {
    let mut traces = HashSet::new();
    for seed in 0..20 {
        let (trace, end) = work(Plan::seeded(seed, all_rates())).await;
        assert_eq!(
            (trace.clone(), end),
            work(Plan::seeded(seed, all_rates())).await
        );
        assert!(trace.faults().count() > 10, "{trace}");
        assert!(traces.insert(trace), "another seed is another run");
    }
}

#[tokio::test(start_paused = true)]
async fn seeds_find_every_fault_that_is_on_and_no_other() {
    let mut seen = HashSet::new();
    for seed in 0..50 {
        let (trace, _) = work(Plan::seeded(seed, all_rates())).await;
        seen.extend(
            trace
                .events()
                .iter()
                .map(|event| discriminant(&event.decision)),
        );
        for event in trace.events() {
            assert!(event.decision.applies_to(event.verb), "{event}");
            assert!(
                !matches!(event.decision, Decision::Panic | Decision::Cancel(_)),
                "{event}"
            );
        }
    }
    // Pass; before, after, delay, late, twice; stale, short, garble; list error.
    assert_eq!(seen.len(), 10);
    let (trace, _) = work(Plan::seeded(1, Rates::default())).await;
    assert_eq!(trace.faults().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn trace_replays_without_its_seed() {
    for seed in 0..10 {
        let (trace, end) = work(Plan::seeded(seed, all_rates())).await;
        assert_eq!(
            work(Plan::replay(trace.clone())).await,
            (trace.clone(), end)
        );
        // Shortened to its second half, only those faults remain.
        let half: Trace = trace.events()[50..].iter().cloned().collect();
        let (replayed, _) = work(Plan::replay(half)).await;
        assert_eq!(replayed.events()[50..], trace.events()[50..]);
        assert!(
            replayed.events()[..50]
                .iter()
                .all(|event| event.decision == Decision::Pass)
        );
    }
}

#[tokio::test]
async fn trace_reads_like_a_log() {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let faulty = FaultyStorage::new(inner, Plan::none().on(Verb::Put, 0, Decision::FailAfter));
    let _ = put(&faulty, "refs/main", "x", PutMode::Create).await;
    let _ = faulty
        .list_all(&Prefix::parse("refs").expect("valid"))
        .await;
    let text = faulty.trace().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let wanted = [
        "0 put \"refs/main\": fail after the effect",
        "1 list \"refs\": pass",
    ];
    assert_eq!(lines, wanted);
}

#[tokio::test]
async fn rules_choose_by_verb_key_and_count() {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let plan = Plan::none()
        .on(
            Matcher::verb(Verb::Put).below("refs/"),
            1,
            Decision::FailBefore,
        )
        .on(Matcher::writes(), 3, Decision::FailAfter)
        .always(Matcher::any().below("manifests/"), Decision::FailBefore);
    let faulty = FaultyStorage::new(inner, plan);
    for at in [
        "refs/a",
        "chunks/1",
        "refs/b",
        "refs/c",
        "manifests/1",
        "refs/d",
        "manifests/2",
    ] {
        let _ = put(&faulty, at, "x", PutMode::Overwrite).await;
        let _ = faulty.head(&key(at)).await;
    }
    let faults: Vec<_> = faulty
        .trace()
        .faults()
        .map(|event| (event.verb, event.key.clone(), event.decision))
        .collect();
    let fault = |verb, at: &str, decision| (verb, at.to_owned(), decision);
    assert_eq!(
        faults,
        [
            fault(Verb::Put, "refs/b", Decision::FailBefore),
            fault(Verb::Put, "refs/c", Decision::FailAfter),
            fault(Verb::Put, "manifests/1", Decision::FailBefore),
            fault(Verb::Head, "manifests/1", Decision::FailBefore),
            fault(Verb::Put, "manifests/2", Decision::FailBefore),
            fault(Verb::Head, "manifests/2", Decision::FailBefore),
        ]
    );
    assert_eq!((faulty.operations(), faulty.writes()), (14, 7));
}

#[tokio::test]
async fn earlier_rule_wins() {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let plan = Plan::none()
        .on(Verb::Put, 0, Decision::FailBefore)
        .always(Verb::Put, Decision::FailAfter);
    let faulty = FaultyStorage::new(inner, plan);
    assert!(put(&faulty, "a", "x", PutMode::Create).await.is_err());
    assert!(put(&faulty, "a", "x", PutMode::Create).await.is_ok());
}

//! One test for each decision.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use icefield_storage::wrap::fault::{Decision, Delivery, FaultyStorage, Matcher, Plan, Verb, When};
use icefield_storage::{
    Clock, DeleteOutcome, GetOptions, GetRange, ManualClock, Prefix, PutMode, PutOutcome, Storage,
    StorageError, StorageExt,
};

use super::{key, peek, put, two_states};

fn first(verb: Verb, decision: Decision) -> Plan {
    Plan::none().on(verb, 0, decision)
}

#[tokio::test]
async fn failing_before_leaves_no_trace_in_the_store() {
    let (inner, faulty) = two_states(first(Verb::Put, Decision::FailBefore)).await;
    let error = put(&faulty, "a", "three", PutMode::Overwrite)
        .await
        .expect_err("fails");
    assert!(
        error.is_retryable() && FaultyStorage::is_injected(&error),
        "{error:?}"
    );
    assert_eq!(peek(&inner, "a").await.as_deref(), Some("two"));
    let retry = put(&faulty, "a", "three", PutMode::Overwrite).await;
    assert!(
        matches!(retry, Ok(PutOutcome::Written(_))),
        "only the first one fails"
    );
}

#[tokio::test]
async fn failing_after_has_the_effect_and_says_unknown() {
    let (inner, faulty) = two_states(first(Verb::Put, Decision::FailAfter)).await;
    let outcome = put(&faulty, "a", "three", PutMode::Overwrite).await;
    assert!(
        matches!(&outcome, Ok(PutOutcome::Unknown(error)) if FaultyStorage::is_injected(error)),
        "{outcome:?}"
    );
    assert_eq!(peek(&inner, "a").await.as_deref(), Some("three"));

    faulty.set_plan(first(Verb::Delete, Decision::FailAfter));
    let outcome = faulty.delete_one(key("a").into()).await;
    assert!(
        matches!(outcome, Ok(DeleteOutcome::Unknown(_))),
        "{outcome:?}"
    );
    assert_eq!(peek(&inner, "a").await, None);

    // Reads and barriers have no outcome to doubt: they fail.
    faulty.set_plan(Plan::none().always(Matcher::any(), Decision::FailAfter));
    assert!(faulty.read(&key("a")).await.is_err());
    assert!(faulty.head(&key("a")).await.is_err());
    assert!(faulty.sync().await.is_err());
    assert!(faulty.list_all(&Prefix::all()).await.is_err());
}

#[tokio::test]
async fn late_write_arrives_with_a_later_operation() {
    for others in [0, 1, 3] {
        let late = Decision::Late(Delivery::After(others));
        let (inner, faulty) = two_states(first(Verb::Put, late)).await;
        let outcome = put(&faulty, "a", "three", PutMode::Overwrite).await;
        assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
        for _ in 0..others {
            assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "two");
        }
        assert_eq!(
            (peek(&inner, "a").await.as_deref(), faulty.pending()),
            (Some("two"), 1)
        );
        assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "three");
        assert_eq!(faulty.pending(), 0);
    }
}

#[tokio::test]
async fn late_write_is_judged_when_it_arrives() {
    let late = Decision::Late(Delivery::OnDemand);
    let (inner, faulty) = two_states(first(Verb::Put, late)).await;
    let version = inner.head(&key("a")).await.expect("there").version;
    let _ = put(&faulty, "a", "late", PutMode::Update(version.clone()))
        .await
        .expect("unknown");
    let retry = put(&faulty, "a", "retry", PutMode::Update(version)).await;
    assert!(matches!(retry, Ok(PutOutcome::Written(_))), "{retry:?}");
    let delivered = faulty.deliver_pending().await;
    assert_eq!(delivered.len(), 1);
    assert_eq!((delivered[0].operation, &delivered[0].key), (0, &key("a")));
    assert!(!delivered[0].took_effect, "the retry has changed the state");
    assert_eq!(peek(&inner, "a").await.as_deref(), Some("retry"));
    assert!(faulty.deliver_pending().await.is_empty());
}

#[tokio::test]
async fn late_write_survives_a_new_plan() {
    let late = Decision::Late(Delivery::After(5));
    let (_, faulty) = two_states(first(Verb::Put, late)).await;
    let _ = put(&faulty, "a", "three", PutMode::Overwrite)
        .await
        .expect("unknown");
    assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "two");
    faulty.set_plan(Plan::none());
    for _ in 0..4 {
        assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "two");
    }
    assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "three");
}

#[tokio::test]
async fn doubled_write_gives_the_first_or_the_second_answer() {
    for (decision, own_write_refused) in [(Decision::Twice, false), (Decision::Retried, true)] {
        let (inner, faulty) = two_states(first(Verb::Put, decision)).await;
        let outcome = put(&faulty, "b", "new", PutMode::Create).await;
        assert_eq!(
            matches!(outcome, Ok(PutOutcome::Refused)),
            own_write_refused,
            "{outcome:?}"
        );
        assert_eq!(peek(&inner, "b").await.as_deref(), Some("new"));
    }
    let (_, faulty) = two_states(first(Verb::Put, Decision::Twice)).await;
    let _ = put(&faulty, "a", "three", PutMode::Overwrite)
        .await
        .expect("written");
    assert_eq!(
        faulty.history(&key("a")).len(),
        5,
        "absent, one, two, and three twice"
    );
}

#[tokio::test]
async fn stale_reads_go_back_as_far_as_asked() {
    for (ago, found) in [(1, Some("one")), (2, None), (9, None)] {
        let plan = Plan::none().always(Matcher::any(), Decision::Stale(ago));
        let (_, faulty) = two_states(plan).await;
        let read = faulty
            .try_read(&key("a"))
            .await
            .expect("no error but absence");
        assert_eq!(
            read.as_ref().map(|(bytes, _)| &bytes[..]),
            found.map(str::as_bytes)
        );
        assert_eq!(
            faulty.exists(&key("a")).await.expect("asked"),
            found.is_some()
        );
    }
    let (_, faulty) = two_states(first(Verb::Get, Decision::Stale(1))).await;
    assert!(!faulty.exists(&key("never written")).await.expect("asked"));
}

#[tokio::test]
async fn stale_read_keeps_versions_conditions_and_ranges_right() {
    let (inner, faulty) = two_states(Plan::none()).await;
    let now = inner.head(&key("a")).await.expect("there").version;
    faulty.set_plan(Plan::none().always(Verb::Get, Decision::Stale(1)));
    let old = faulty.read(&key("a")).await.expect("stale").1.version;
    assert_ne!(old, now);
    let matching = GetOptions::range(GetRange::Suffix(2)).with_if_match(old.clone());
    let object = faulty
        .get(&key("a"), matching)
        .await
        .expect("the stale state has this version");
    assert_eq!(object.bytes().await.expect("whole"), "ne");
    let changed = faulty
        .get(&key("a"), GetOptions::default().with_if_match(now))
        .await;
    assert!(
        matches!(changed, Err(StorageError::PreconditionFailed { .. })),
        "{changed:?}"
    );
    // The state that was read is no longer so: a write that builds on it is refused.
    let update = put(&faulty, "a", "three", PutMode::Update(old)).await;
    assert!(matches!(update, Ok(PutOutcome::Refused)), "{update:?}");
}

#[tokio::test]
async fn stale_list_shows_the_keys_of_then() {
    let (_, faulty) = two_states(Plan::none()).await;
    let _ = put(&faulty, "b", "x", PutMode::Create)
        .await
        .expect("written");
    let _ = faulty.delete_one(key("a").into()).await.expect("deleted");
    for (ago, found) in [
        (0, vec!["b"]),
        (1, vec!["a", "b"]),
        (2, vec!["a"]),
        (4, vec![]),
        (9, vec![]),
    ] {
        faulty.set_plan(first(Verb::List, Decision::Stale(ago)));
        let list = faulty.list_all(&Prefix::all()).await.expect("listed");
        let keys: Vec<_> = list.iter().map(|meta| meta.key.as_str()).collect();
        assert_eq!(keys, found, "{ago} writes ago");
    }
}

#[tokio::test]
async fn damaged_bodies_keep_their_description() {
    let (_, faulty) = two_states(first(Verb::Get, Decision::Short(1))).await;
    let object = faulty
        .get(&key("a"), GetOptions::default())
        .await
        .expect("looks fine");
    assert_eq!((object.meta.size, object.range.clone()), (3, 0..3));
    let short = object.bytes().await;
    assert!(
        matches!(
            short,
            Err(StorageError::WrongLength {
                expected: 3,
                found: 2,
                ..
            })
        ),
        "{short:?}"
    );

    faulty.set_plan(first(Verb::Get, Decision::Garble(4)));
    assert_eq!(faulty.read(&key("a")).await.expect("looks fine").0, "tvo");
    assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "two");
}

#[tokio::test]
async fn lists_break_off_or_end_early() {
    let (_, faulty) = two_states(Plan::none()).await;
    for at in ["b", "c"] {
        let _ = put(&faulty, at, "x", PutMode::Create)
            .await
            .expect("written");
    }
    faulty.set_plan(
        Plan::none()
            .on(Verb::List, 0, Decision::ListError(2))
            .on(Verb::List, 1, Decision::ListCut(2))
            .on(Verb::List, 2, Decision::FailBefore),
    );
    let broken: Vec<_> = faulty.list(Default::default()).collect().await;
    assert!(matches!(&broken[..], [Ok(_), Ok(_), Err(_)]), "{broken:?}");
    assert_eq!(
        faulty
            .list_all(&Prefix::all())
            .await
            .expect("looks fine")
            .len(),
        2
    );
    assert!(faulty.list_all(&Prefix::all()).await.is_err());
    assert_eq!(
        faulty
            .list_all(&Prefix::all())
            .await
            .expect("no fault")
            .len(),
        3
    );
}

#[tokio::test]
async fn delays_wait_by_the_given_clock() {
    let (inner, _) = two_states(Plan::none()).await;
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
    let plan = Plan::none().always(Matcher::any(), Decision::Delay(Duration::from_secs(60)));
    let faulty = FaultyStorage::new(inner, plan).with_clock(Arc::new(clock.clone()));
    assert_eq!(
        faulty.read(&key("a")).await.expect("late but right").0,
        "two"
    );
    let _ = put(&faulty, "a", "three", PutMode::Overwrite)
        .await
        .expect("written");
    assert_eq!(clock.monotonic(), Duration::from_secs(120));
}

#[tokio::test]
async fn panic_poisons_nothing() {
    let (_, faulty) = two_states(first(Verb::Get, Decision::Panic)).await;
    let storage = faulty.clone();
    let task = tokio::spawn(async move { storage.read(&key("a")).await.map(drop) });
    assert!(task.await.expect_err("panics").is_panic());
    assert_eq!(faulty.read(&key("a")).await.expect("no fault").0, "two");
    assert_eq!(faulty.operations(), 2);
}

#[tokio::test]
async fn hanging_call_can_be_dropped() {
    for (when, now, later) in [
        (When::Before, "two", "two"),
        (When::After, "three", "three"),
        (When::Late, "two", "three"),
    ] {
        let (inner, faulty) = two_states(Plan::cancel_at(1, when)).await;
        let storage = faulty.clone();
        let result = faulty
            .run_until_hung(async move {
                storage.read(&key("a")).await.expect("the first passes");
                put(&storage, "a", "three", PutMode::Overwrite).await
            })
            .await;
        assert!(result.is_none(), "it must hang: {result:?}");
        assert_eq!(peek(&inner, "a").await.as_deref(), Some(now));
        // The store goes on for all other clients.
        assert_eq!(faulty.read(&key("a")).await.expect("alive").0, now);
        faulty.deliver_pending().await;
        assert_eq!(peek(&inner, "a").await.as_deref(), Some(later));
    }
    let (_, faulty) = two_states(Plan::none()).await;
    assert_eq!(faulty.run_until_hung(async { 5 }).await, Some(5));
}

#[tokio::test]
async fn blocking_reads_meet_the_faults_that_need_no_waiting() {
    let options = GetOptions::default();
    let (_, faulty) = two_states(
        Plan::none()
            .on(Verb::Get, 0, Decision::FailBefore)
            .on(Verb::Get, 1, Decision::Stale(1))
            .on(Verb::Get, 2, Decision::Short(1))
            .on(Verb::Get, 3, Decision::Cancel(When::Before)),
    )
    .await;
    let ask = || faulty.try_get_blocking(&key("a"), &options);
    assert!(matches!(ask(), Some(Err(_))));
    assert_eq!(
        ask()
            .expect("answers")
            .expect("stale")
            .bytes()
            .await
            .expect("whole"),
        "one"
    );
    assert!(
        ask()
            .expect("answers")
            .expect("short")
            .bytes()
            .await
            .is_err()
    );
    assert!(ask().is_none());
    assert_eq!(
        ask()
            .expect("answers")
            .expect("fine")
            .bytes()
            .await
            .expect("whole"),
        "two"
    );
    assert_eq!(faulty.operations(), 5);
}

#[tokio::test]
async fn history_keeps_every_state() {
    let (inner, faulty) = two_states(Plan::none()).await;
    let _ = faulty
        .copy(&key("a"), &key("b"), Default::default())
        .await
        .expect("copied");
    let _ = faulty.delete_one(key("a").into()).await.expect("deleted");
    let states = |at| -> Vec<Option<String>> {
        let text = |bytes: icefield_storage::Bytes| String::from_utf8_lossy(&bytes).into_owned();
        faulty
            .history(&key(at))
            .into_iter()
            .map(|state| state.map(text))
            .collect()
    };
    let state = |text: &str| Some(text.to_owned());
    assert_eq!(states("a"), [None, state("one"), state("two"), None]);
    assert_eq!(states("b"), [None, state("two")]);
    assert!(states("c").is_empty());

    // The state before the wrapper came is the first one.
    let later = FaultyStorage::new(inner, Plan::none());
    let _ = put(&later, "b", "three", PutMode::Overwrite)
        .await
        .expect("written");
    assert_eq!(
        later.history(&key("b")),
        [Some("two".into()), Some("three".into())]
    );
}

#[tokio::test]
async fn decision_that_means_nothing_for_a_verb_passes() {
    let plan = Plan::none()
        .always(Verb::Get, Decision::Twice)
        .always(Verb::Put, Decision::Stale(1))
        .always(Verb::Sync, Decision::ListCut(0));
    let (_, faulty) = two_states(plan).await;
    faulty.read(&key("a")).await.expect("passes");
    let _ = put(&faulty, "a", "x", PutMode::Overwrite)
        .await
        .expect("passes");
    faulty.sync().await.expect("passes");
    assert_eq!(faulty.trace().faults().count(), 0);
}

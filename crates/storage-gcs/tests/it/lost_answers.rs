//! Conditional writes whose answers are lost, late, doubled or wrong.
//!
//! A14 has no counterpart here: a version is a generation, a number of one write, and no ETag.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use icefield_storage::remote::RemoteStorage;
use icefield_storage::{
    Bytes, DeleteOutcome, Deletion, GetOptions, Payload, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, StorageExt, Version,
};
use icefield_testservers::world::EtagStyle;
use icefield_testservers::{
    Answer, Behaviour, Fault, FaultProxy, Gate, GcsServer, ProxyFault, ProxyRule, Rule, Verb,
};

use crate::support::*;

/// Conditional writes of each kind whose answers are lost.
const ROUNDS: usize = 1000;

fn lost(times: u64, verb: Verb) -> Rule {
    Rule::new(Fault::ResetAfter).on(verb).times(times)
}

/// Asserts that a key holds what its one write has made.
async fn holds(storage: &RemoteStorage, at: &str, version: &Version) {
    let head = storage.head(&key(at)).await.expect("there");
    assert_eq!(head.version, *version, "{at}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a2_a3_lost_answers_are_neither_conflicts_nor_second_writes() {
    let server = server();
    let storage = open(&server).await;
    for lost_attempts in [1, 2, u64::from(ATTEMPTS)] {
        let before = server.world().writes();
        let mut version = None;
        for round in 0..ROUNDS {
            // A ref that is made, and one that is moved, both of the size of real ones.
            let body = format!("{{\"snapshot\":\"{round:022}\"}}");
            let made = format!("refs/tag.t{lost_attempts}-{round}/ref.json");
            let moved = format!("refs/branch.b{lost_attempts}/ref.json");
            let mode = version.take().map_or(PutMode::Create, PutMode::Update);
            for (at, mode) in [(&made, PutMode::Create), (&moved, mode)] {
                let rule = server.switches().inject(lost(lost_attempts, Verb::Write));
                let done = written(put(&storage, at, body.clone(), mode).await);
                assert_eq!(rule.fired(), lost_attempts, "the answers were lost");
                rule.remove();
                holds(&storage, at, &done).await;
                version = Some(done);
            }
        }
        let writes = server.world().writes() - before;
        assert_eq!(writes, 2 * ROUNDS as u64, "each has landed once");
        println!(
            "{ROUNDS} creates and {ROUNDS} updates of which {lost_attempts} answers were lost: all done, once"
        );
    }
}

/// An object of 16 MiB and more goes up in a session, all its bytes in the second request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a2_a3_a10_large_objects_whose_end_was_not_answered_are_done() {
    let server = server();
    let storage = open(&server).await;
    let mut version = None;
    for (round, lost_attempts) in [1, 2, u64::from(ATTEMPTS), 1].into_iter().enumerate() {
        let rule = lost(lost_attempts, Verb::CompleteUpload);
        let rule = server.switches().inject(rule);
        let bytes = Bytes::from(vec![round as u8; 16 << 20]);
        let mode = version.take().map_or(PutMode::Create, PutMode::Update);
        let done = written(put(&storage, "chunks/X", bytes, mode).await);
        assert_eq!(rule.fired(), lost_attempts, "the answers were lost");
        rule.remove();
        holds(&storage, "chunks/X", &done).await;
        assert_eq!(server.world().writes(), round as u64 + 1, "once");
        version = Some(done);
    }
}

/// Streams cannot be sent again: one attempt, and a look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a2_a3_a10_streams_whose_end_was_not_answered_are_done() {
    const STREAMS: usize = 50;
    let server = server();
    let settings = settings().with_multipart(1 << 18, 1 << 18);
    let storage = opened(builder(&server).settings(settings)).await;
    let stream = |round: usize| {
        let parts = (0..3).map(move |_| Ok(Bytes::from(vec![round as u8; 200_000])));
        let stream = stream::iter(parts).boxed();
        Payload::Stream { size: None, stream }
    };
    let mut version = None;
    for round in 0..STREAMS {
        let rule = server.switches().inject(lost(1, Verb::CompleteUpload));
        let mode = version.take().map_or(PutMode::Create, PutMode::Update);
        let options = PutOptions::mode(mode);
        let done = storage.put(&key("a"), stream(round), options).await;
        let done = written(done);
        assert_eq!(rule.fired(), 1);
        rule.remove();
        holds(&storage, "a", &done).await;
        version = Some(done);
    }
    assert_eq!(server.world().writes(), STREAMS as u64);
    let (read, _) = storage.read(&key("a")).await.expect("read");
    assert_eq!(read, vec![STREAMS as u8 - 1; 600_000]);
}

#[tokio::test]
async fn a3_a_lost_write_that_did_not_land_is_unknown() {
    let server = server();
    let storage = open(&server).await;
    let rule = server
        .switches()
        .inject(Rule::new(Fault::Reset).on(Verb::Write));
    let outcome = put(&storage, "a", "one", PutMode::Create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    assert_eq!(rule.fired(), u64::from(ATTEMPTS));
    assert_eq!(server.world().writes(), 0);
}

#[tokio::test]
async fn a4_a_failed_look_is_an_unknown_outcome() {
    let server = server();
    let storage = open(&server).await;
    server.switches().inject(lost(u64::MAX, Verb::Write));
    let looks = Rule::new(Fault::Refuse(Answer::internal_error())).on(Verb::Head);
    let looks = server.switches().inject(looks);
    let outcome = put(&storage, "a", "one", PutMode::Create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    assert_eq!(looks.fired(), u64::from(ATTEMPTS));
    server.switches().clear();
    // Nothing was deleted.
    assert_eq!(storage.read(&key("a")).await.expect("there").0, "one");
}

/// Returns a storage that gives an answer up after a while.
async fn impatient(server: &GcsServer, attempts: u32) -> RemoteStorage {
    let mut settings = settings().with_timeouts(Duration::from_millis(300), Duration::from_secs(5));
    settings.retry.attempts = attempts;
    opened(builder(server).settings(settings)).await
}

#[tokio::test]
async fn a5_a_late_write_lands_at_most_once() {
    let server = server();
    let storage = open(&server).await;
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let hold = |gate: &Gate| {
        let held = Rule::new(Fault::Hold(gate.clone())).on(Verb::Write);
        server.switches().inject(held.times(1));
    };
    // It is held on the way while its client gives up, and sends it once more.
    let gate = Gate::new();
    hold(&gate);
    let client = impatient(&server, ATTEMPTS).await;
    let second = written(put(&client, "a", "two", PutMode::Update(first)).await);
    gate.open();
    settled(&server).await;
    // The late one met a condition that did not hold any more.
    assert_eq!(server.world().writes(), 2);
    holds(&storage, "a", &second).await;
    // And one whose client has looked, has found nothing, and has been asked again by its caller.
    let gate = Gate::new();
    hold(&gate);
    let client = impatient(&server, 1).await;
    let update = PutMode::Update(second);
    let outcome = put(&client, "a", "three", update.clone()).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    let third = written(put(&storage, "a", "three", update).await);
    gate.open();
    settled(&server).await;
    assert_eq!(server.world().writes(), 3);
    holds(&storage, "a", &third).await;
}

#[tokio::test]
async fn a6_a_doubled_write_recognises_itself() {
    let server = server();
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = opened(at(&server, proxy.endpoint())).await;
    proxy.inject(ProxyRule::new(ProxyFault::Twice).method("POST"));
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let second = written(put(&storage, "a", "two", PutMode::Update(first)).await);
    holds(&storage, "a", &second).await;
    let doubled = proxy.requests();
    let doubled = doubled.iter().filter(|it| it.upstream == [200, 412]);
    assert_eq!((doubled.count(), server.world().writes()), (2, 2));
}

#[tokio::test]
async fn a7_a_write_that_was_overwritten_before_it_was_looked_for_is_unknown() {
    let server = server();
    let storage = open(&server).await;
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let gate = Gate::new();
    server.switches().inject(lost(1, Verb::Write).key("a"));
    let held = Rule::new(Fault::Hold(gate.clone()))
        .on(Verb::Write)
        .skip(1)
        .times(1);
    server.switches().inject(held);
    let writing = tokio::spawn({
        let storage = storage.clone();
        async move { put(&storage, "a", "two", PutMode::Update(first)).await }
    });
    gate.reached_by(1).await;
    let other = open(&server).await;
    let landed = other.head(&key("a")).await.expect("there").version;
    written(put(&other, "a", "three", PutMode::Update(landed)).await);
    gate.open();
    let outcome = writing.await.expect("no panic");
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
}

#[tokio::test]
async fn a8_a_tag_of_somebody_else_is_a_refusal() {
    let server = server();
    let storage = open(&server).await;
    let first = written(put(&storage, "refs/tag.t/ref.json", "one", PutMode::Create).await);
    let outcome = put(&storage, "refs/tag.t/ref.json", "two", PutMode::Create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
    // An unexplained refusal is one all the same: no answer was lost.
    next(
        &server,
        Verb::Write,
        Fault::Refuse(Answer::precondition_failed()),
    );
    let outcome = put(
        &storage,
        "refs/tag.t/ref.json",
        "two",
        PutMode::Update(first),
    )
    .await;
    assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
}

#[tokio::test]
async fn a11_a_collision_is_tried_again_over_both_protocols() {
    let server = server();
    let storage = open(&server).await;
    // 409 over HTTP, `ABORTED` over gRPC.
    let busy = |verb: Verb| {
        let busy = Rule::new(Fault::Refuse(Answer::conditional_conflict())).on(verb);
        server.switches().inject(busy.times(2))
    };
    let rule = busy(Verb::Write);
    let version = written(put(&storage, "a", "one", PutMode::Create).await);
    assert_eq!(rule.fired(), 2);
    let rule = busy(Verb::CompleteUpload);
    written(put(&storage, "b", vec![7; 16 << 20], PutMode::Create).await);
    assert_eq!(rule.fired(), 2);
    let rule = busy(Verb::Copy);
    written(
        storage
            .copy(&key("a"), &key("c"), PutMode::Create.into())
            .await,
    );
    assert_eq!(rule.fired(), 2);
    let rule = busy(Verb::Delete);
    let deleted = storage.delete_one(Deletion::of(key("a"), version)).await;
    assert!(matches!(deleted, Ok(DeleteOutcome::Deleted)), "{deleted:?}");
    assert_eq!(rule.fired(), 2);
}

#[tokio::test]
async fn a12_an_object_that_is_gone_refuses_alike_everywhere() {
    let server = server();
    let storage = open(&server).await;
    for answer in [
        None,
        Some(Answer::new(404, "notFound")),
        Some(Answer::precondition_failed()),
    ] {
        let version = written(put(&storage, "a", "one", PutMode::Overwrite).await);
        let deleted = storage.delete_one(key("a").into()).await;
        assert!(matches!(deleted, Ok(DeleteOutcome::Deleted)), "{deleted:?}");
        if let Some(answer) = answer {
            let rule = Rule::new(Fault::Refuse(answer))
                .on(Verb::Write)
                .on(Verb::Delete);
            server.switches().inject(rule);
        }
        let outcome = put(&storage, "a", "two", PutMode::Update(version.clone())).await;
        assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
        let deletion = Deletion::of(key("a"), version.clone());
        let deleted = storage.delete_one(deletion).await;
        assert!(matches!(deleted, Ok(DeleteOutcome::Refused)), "{deleted:?}");
        let options = GetOptions::default().with_if_match(version);
        let read = storage.get(&key("a"), options).await.map(|_| ());
        assert!(read.is_err_and(|error| error.is_not_found()));
        server.switches().clear();
    }
}

#[tokio::test]
async fn a13_a_store_that_ignores_conditions_is_found_out() {
    let server = server();
    server.switches().inject(Rule::new(Fault::IgnoreConditions));
    let mut asking = settings();
    asking.trust_conditions = false;
    let storage = opened(builder(&server).settings(asking.clone())).await;
    written(put(&storage, "plain", "one", PutMode::Overwrite).await);
    for _ in 0..2 {
        let error = put(&storage, "a", "one", PutMode::Create)
            .await
            .expect_err("unsafe");
        assert!(
            matches!(error, StorageError::Unsupported { .. }),
            "{error:?}"
        );
    }
    let left = server.world().keys(server.bucket());
    assert_eq!(left, ["plain"], "the probe cleans up");
    written(put(&open(&server).await, "a", "one", PutMode::Create).await);
    server.switches().clear();
    let honest = opened(builder(&server).settings(asking)).await;
    written(put(&honest, "b", "one", PutMode::Create).await);
    let asked = server.requests().len();
    written(put(&honest, "c", "one", PutMode::Create).await);
    assert_eq!(server.requests().len(), asked + 1, "once is enough");
}

#[tokio::test]
async fn a14_a_version_is_a_generation_whatever_the_tags_are() {
    for style in [EtagStyle::Md5, EtagStyle::Opaque, EtagStyle::Weak] {
        let server = server();
        server.switches().set(|it: &mut Behaviour| it.etags = style);
        let storage = open(&server).await;
        let first = written(put(&storage, "a", "one", PutMode::Create).await);
        let object = server.world().get(server.bucket(), "a").expect("there");
        assert_eq!(first.as_str(), object.generation.to_string());
        let writes = asked(&server, Verb::Write).len();
        for tag in [object.etag.as_str(), "W/\"1\"", "\"1700000000000000\"", "0"] {
            let outcome = put(&storage, "a", "two", PutMode::Update(Version::new(tag))).await;
            assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
        }
        assert_eq!(
            asked(&server, Verb::Write).len(),
            writes,
            "no request was sent"
        );
        written(put(&storage, "a", "two", PutMode::Update(first)).await);
    }
}

#[tokio::test]
async fn a_delete_in_doubt_says_so() {
    let server = server();
    let storage = open(&server).await;
    let first = written(put(&storage, "a", "one", PutMode::Overwrite).await);
    next(&server, Verb::Delete, Fault::ResetAfter);
    let outcome = storage.delete_one(Deletion::of(key("a"), first)).await;
    assert!(
        matches!(outcome, Ok(DeleteOutcome::Unknown(_))),
        "{outcome:?}"
    );
    written(put(&storage, "a", "two", PutMode::Overwrite).await);
    next(&server, Verb::Delete, Fault::ResetAfter);
    let outcome = storage.delete_one(key("a").into()).await;
    assert!(matches!(outcome, Ok(DeleteOutcome::Deleted)), "{outcome:?}");
}

//! Conditional writes whose answers are lost, late, doubled or wrong.

use icefield_storage::{
    Bytes, GetOptions, PutMode, PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};
use icefield_testservers::{
    Answer, Behaviour, Fault, FaultProxy, Gate, ProxyFault, ProxyRule, Rule, Verb, eventually,
};

use crate::support::*;

/// Conditional writes of each kind whose answers are lost.
const ROUNDS: usize = 1000;

fn lost(times: u64) -> Rule {
    Rule::new(Fault::ResetAfter).on(Verb::Write).times(times)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a2_a3_lost_answers_are_neither_conflicts_nor_second_writes() {
    let server = server();
    let storage = open(&server);
    for lost_attempts in [1, 2, u64::from(ATTEMPTS)] {
        let at = format!("refs/branch.b{lost_attempts}/ref.json");
        let before = server.world().writes();
        let mut version = None;
        for round in 0..ROUNDS {
            let rule = server.switches().inject(lost(lost_attempts));
            let mode = version.take().map_or(PutMode::Create, PutMode::Update);
            let made = written(put(&storage, &at, format!("{round:08}"), mode).await);
            assert_eq!(rule.fired(), lost_attempts, "the answers were lost");
            rule.remove();
            version = Some(made);
        }
        let head = storage.head(&key(&at)).await.expect("there");
        assert_eq!(Some(head.version), version);
        let writes = server.world().writes() - before;
        assert_eq!(writes, ROUNDS as u64, "each has landed once");
        println!("{ROUNDS} writes of which {lost_attempts} answers were lost: all done, once");
    }
}

#[tokio::test]
async fn a3_a_lost_write_that_did_not_land_is_unknown() {
    let server = server();
    let storage = open(&server);
    let rule = server
        .switches()
        .inject(Rule::new(Fault::Reset).on(Verb::Write));
    let outcome = put(&storage, "a", "one", PutMode::Create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    assert_eq!(rule.fired(), u64::from(ATTEMPTS));
}

#[tokio::test]
async fn a4_a_failed_look_is_an_unknown_outcome() {
    let server = server();
    let storage = open(&server);
    server.switches().inject(lost(u64::MAX));
    server
        .switches()
        .inject(Rule::new(Fault::Reset).on(Verb::Head));
    let outcome = put(&storage, "a", "one", PutMode::Create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
    server.switches().clear();
    // Nothing was deleted.
    assert_eq!(storage.read(&key("a")).await.expect("there").0, "one");
}

#[tokio::test]
async fn a5_a_late_write_lands_at_most_once() {
    let server = server();
    let storage = open(&server);
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    // It is held on the way while its client gives up, and everything after it goes wrong before it arrives.
    let gate = Gate::new();
    let held = Rule::new(Fault::Hold(gate.clone()))
        .on(Verb::Write)
        .times(1);
    server.switches().inject(held);
    let settings = settings().with_timeouts(
        std::time::Duration::from_millis(50),
        std::time::Duration::from_secs(5),
    );
    let impatient = builder(&server).settings(settings).open().expect("sound");
    let second = written(put(&impatient, "a", "two", PutMode::Update(first)).await);
    gate.open();
    let answered = || server.requests().iter().all(|it| it.status.is_some());
    eventually("every request has its answer", answered).await;
    // The late one met a condition that did not hold any more.
    assert_eq!(server.world().writes(), 2);
    let third = written(put(&storage, "a", "three", PutMode::Update(second)).await);
    assert_eq!(
        storage.read(&key("a")).await.expect("there").1.version,
        third
    );
}

#[tokio::test]
async fn a6_a_doubled_write_recognises_itself() {
    let server = server();
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = at(&server, proxy.endpoint()).open().expect("sound");
    proxy.inject(ProxyRule::new(ProxyFault::Twice).method("PUT"));
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let second = written(put(&storage, "a", "two", PutMode::Update(first)).await);
    assert_eq!(
        storage.head(&key("a")).await.expect("there").version,
        second
    );
}

#[tokio::test]
async fn a7_a_write_that_was_overwritten_before_it_was_looked_for_is_unknown() {
    let server = server();
    let storage = open(&server);
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let gate = Gate::new();
    server.switches().inject(lost(1).key("a"));
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
    let other = open(&server);
    let landed = other.head(&key("a")).await.expect("there").version;
    written(put(&other, "a", "three", PutMode::Update(landed)).await);
    gate.open();
    let outcome = writing.await.expect("no panic");
    assert!(matches!(outcome, Ok(PutOutcome::Unknown(_))), "{outcome:?}");
}

#[tokio::test]
async fn a8_a_tag_of_somebody_else_is_a_refusal() {
    let server = server();
    let storage = open(&server);
    written(put(&storage, "refs/tag.t/ref.json", "one", PutMode::Create).await);
    let outcome = put(&storage, "refs/tag.t/ref.json", "two", PutMode::Create).await;
    assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
}

#[tokio::test]
async fn a10_an_upload_whose_end_was_not_answered_is_done() {
    let server = server();
    let storage = open(&server);
    let rule = Rule::new(Fault::ResetAfter)
        .on(Verb::CompleteUpload)
        .times(1);
    server.switches().inject(rule);
    let bytes = vec![7; 12 << 20];
    let version = written(put(&storage, "chunks/X", bytes, PutMode::Create).await);
    let head = storage.head(&key("chunks/X")).await.expect("there");
    assert_eq!((head.version, head.size), (version, 12 << 20));
    assert_eq!(server.open_uploads(), 0);
}

#[tokio::test]
async fn a11_a_collision_is_tried_again_and_an_upload_begun_again() {
    let server = server();
    let storage = open(&server);
    let busy = || Rule::new(Fault::Refuse(Answer::conditional_conflict()));
    let rule = server.switches().inject(busy().on(Verb::Write).times(2));
    written(put(&storage, "a", "one", PutMode::Create).await);
    assert_eq!(rule.fired(), 2);
    server
        .switches()
        .inject(busy().on(Verb::CompleteUpload).times(1));
    written(put(&storage, "b", vec![7; 12 << 20], PutMode::Create).await);
    let begun = server
        .requests()
        .iter()
        .filter(|it| it.verb == Verb::BeginUpload)
        .count();
    assert_eq!((begun, server.open_uploads()), (2, 0));
}

#[tokio::test]
async fn a12_an_object_that_is_gone_refuses_alike_everywhere() {
    let server = server();
    let storage = open(&server);
    for as_412 in [false, true] {
        server
            .switches()
            .set(|it: &mut Behaviour| it.if_match_on_missing_is_412 = as_412);
        let version = written(put(&storage, "a", "one", PutMode::Overwrite).await);
        let deleted = storage.delete_one(key("a").into()).await;
        assert!(deleted.is_ok());
        let outcome = put(&storage, "a", "two", PutMode::Update(version.clone())).await;
        assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
        let options = GetOptions::default().with_if_match(version);
        let read = storage.get(&key("a"), options).await.map(|_| ());
        assert!(read.is_err_and(|error| error.is_not_found()));
    }
}

#[tokio::test]
async fn a13_a_store_that_ignores_conditions_is_found_out() {
    let server = server();
    server.switches().inject(Rule::new(Fault::IgnoreConditions));
    let mut asking = settings();
    asking.trust_conditions = false;
    let storage = builder(&server)
        .settings(asking.clone())
        .open()
        .expect("sound");
    written(put(&storage, "plain", "one", PutMode::Overwrite).await);
    for _ in 0..2 {
        let error = put(&storage, "a", "one", PutMode::Create)
            .await
            .expect_err("unsafe");
        assert!(
            matches!(error, StorageError::Unsupported { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("If-None-Match"), "{error}");
    }
    assert_eq!(
        server.world().keys(server.bucket()),
        ["plain"],
        "the probe cleans up"
    );
    written(put(&open(&server), "a", "one", PutMode::Create).await);
    server.switches().clear();
    let honest = builder(&server).settings(asking).open().expect("sound");
    written(put(&honest, "b", "one", PutMode::Create).await);
    let asked = server.requests().len();
    written(put(&honest, "c", "one", PutMode::Create).await);
    assert_eq!(server.requests().len(), asked + 1, "once is enough");
}

#[tokio::test]
async fn a14_entity_tags_are_opaque() {
    use icefield_testservers::world::EtagStyle;
    for style in [EtagStyle::Md5, EtagStyle::Opaque] {
        let server = server();
        server.switches().set(|it: &mut Behaviour| it.etags = style);
        let storage = open(&server);
        let first = written(put(&storage, "a", "one", PutMode::Create).await);
        let second = written(put(&storage, "a", "two", PutMode::Update(first.clone())).await);
        assert_eq!(
            storage.head(&key("a")).await.expect("there").version,
            second
        );
        let outcome = put(&storage, "a", "three", PutMode::Update(first)).await;
        assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
        let large = written(put(&storage, "b", vec![1; 12 << 20], PutMode::Create).await);
        let read = GetOptions::default().with_if_match(large);
        assert!(storage.get(&key("b"), read).await.is_ok());
    }
}

#[tokio::test]
async fn a17_f95_a_failed_upload_leaves_no_parts() {
    let server = server();
    let storage = open(&server);
    let rule = Rule::new(Fault::Refuse(Answer::new(400, "Bad")))
        .on(Verb::UploadPart)
        .skip(1);
    server.switches().inject(rule);
    let error = put(&storage, "a", vec![1; 24 << 20], PutMode::Create).await;
    assert!(
        matches!(error, Err(StorageError::Failed { .. })),
        "{error:?}"
    );
    assert_eq!(server.open_uploads(), 0);
}

#[tokio::test]
async fn a17_f95_an_upload_that_is_given_up_is_thrown_away() {
    // Also while it is only being begun, when no client knows its name yet.
    for verb in [Verb::BeginUpload, Verb::UploadPart] {
        let server = server();
        let gate = Gate::new();
        let held = Rule::new(Fault::Hold(gate.clone())).on(verb).times(1);
        server.switches().inject(held);
        let storage = open(&server);
        let writing =
            tokio::spawn(
                async move { put(&storage, "a", vec![1; 24 << 20], PutMode::Create).await },
            );
        gate.reached_by(1).await;
        writing.abort();
        assert!(writing.await.expect_err("aborted").is_cancelled());
        gate.open();
        let aborted = || {
            let requests = server.requests();
            let mut aborts = requests.iter().filter(|it| it.verb == Verb::AbortUpload);
            aborts.any(|it| it.status == Some(204))
        };
        eventually("the upload is thrown away", aborted).await;
        assert_eq!(server.open_uploads(), 0, "{verb:?}");
        assert!(server.world().keys(server.bucket()).is_empty());
    }
}

/// Gateways say 503 and worse of requests that they handed on.
#[tokio::test]
async fn a2_an_error_after_the_effect_is_looked_into() {
    let server = server();
    let storage = open(&server);
    for (number, answer) in [
        Answer::new(503, "ServiceUnavailable"),
        Answer::new(524, ""),
        Answer::internal_error(),
        Answer::bad_gateway(),
    ]
    .into_iter()
    .enumerate()
    {
        let rule = Rule::new(Fault::RefuseAfter(answer.clone()));
        server.switches().inject(rule.on(Verb::Write).times(1));
        let outcome = put(&storage, &format!("k{number}"), "x", PutMode::Create).await;
        assert!(
            matches!(outcome, Ok(PutOutcome::Written(_))),
            "{answer:?}: {outcome:?}"
        );
    }
}

/// Of what takes long, S3 says 200 before it knows.
#[tokio::test]
async fn a10_an_error_in_the_body_of_a_success_is_one() {
    let server = server();
    let settings = settings().with_multipart(1, 5 << 20);
    let storage = builder(&server).settings(settings).open().expect("sound");
    let large = Bytes::from(vec![7; 6 << 20]);
    let complete = |fault| {
        let rule = Rule::new(fault).on(Verb::CompleteUpload).times(1);
        server.switches().inject(rule);
    };
    let write = async |at: &str| {
        let create = PutOptions::mode(PutMode::Create);
        storage.put(&key(at), large.clone().into(), create).await
    };
    complete(Fault::RefuseAfter(
        Answer::internal_error().with_status(200),
    ));
    let outcome = write("a").await;
    assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    complete(Fault::Refuse(
        Answer::precondition_failed().with_status(200),
    ));
    let outcome = write("b").await;
    assert!(matches!(outcome, Ok(PutOutcome::Refused)), "{outcome:?}");
    complete(Fault::Refuse(
        Answer::conditional_conflict().with_status(200),
    ));
    let outcome = write("c").await;
    assert!(matches!(outcome, Ok(PutOutcome::Written(_))), "{outcome:?}");
    assert_eq!(server.open_uploads(), 0);
}

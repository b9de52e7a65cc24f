//! One test per switch, with S3.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{Credentials, IdentityCache};
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::put_object::PutObjectError;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use futures::future::join_all;
use icefield_storage::ManualClock;
use icefield_testservers::world::Draft;
use icefield_testservers::{
    Answer, Fault, Gate, Injected, Rule, S3Options, S3Server, Switches, Verb, World, eventually,
};

use crate::aws::{client, config, get, put, refused, server, with};

/// Injects a fault for the next request of a verb.
fn next(switches: &Switches, verb: Verb, fault: Fault) -> Injected {
    switches.inject(Rule::new(fault).on(verb).times(1))
}

async fn try_put(client: &Client, text: &str) -> Result<(), SdkError<PutObjectError>> {
    let put = client.put_object().bucket("bucket").key("a");
    let put = put.body(text.to_owned().into_bytes().into());
    put.if_none_match("*").send().await.map(drop)
}

async fn try_get(client: &Client) -> Result<Vec<u8>, String> {
    let got = client.get_object().bucket("bucket").key("a").send().await;
    let body = got.expect("headers come").body.collect().await;
    let bytes = body.map_err(|error| format!("{error:?}"))?;
    Ok(bytes.into_bytes().to_vec())
}

#[tokio::test]
async fn refusals_before_the_effect() {
    let server = server();
    let client = client(&server);
    for answer in [
        Answer::slow_down(),
        Answer::internal_error(),
        Answer::bad_gateway(),
        Answer::gateway_timeout(),
        Answer::too_many_requests(),
        Answer::request_timeout(),
        Answer::conditional_conflict(),
        Answer::time_too_skewed(),
        Answer::expired_token(),
        Answer::wrong_region(),
    ] {
        let rule = next(
            server.switches(),
            Verb::Write,
            Fault::Refuse(answer.clone()),
        );
        let put = client.put_object().bucket("bucket").key("a").send().await;
        assert_eq!(refused(put), with(answer.status, &answer.code));
        assert_eq!(rule.fired(), 1);
    }
    assert!(server.world().keys("bucket").is_empty());
    assert!(server.requests().iter().all(|it| it.faults.len() == 1));
}

#[tokio::test]
async fn refusals_after_the_effect() {
    let server = server();
    let client = client(&server);
    let fault = Fault::RefuseAfter(Answer::internal_error());
    next(server.switches(), Verb::Write, fault);
    try_put(&client, "one").await.expect_err("it is told so");
    assert_eq!(get(&client, "a").await, "one");
}

#[tokio::test]
async fn resets_before_and_after_the_effect() {
    let server = server();
    let client = client(&server);
    next(server.switches(), Verb::Write, Fault::Reset);
    let error = try_put(&client, "one").await.expect_err("it is reset");
    assert!(matches!(error, SdkError::DispatchFailure(_)));
    assert!(server.world().keys("bucket").is_empty());
    next(server.switches(), Verb::Write, Fault::ResetAfter);
    let error = try_put(&client, "two").await.expect_err("it is reset");
    assert!(matches!(error, SdkError::DispatchFailure(_)));
    assert_eq!(get(&client, "a").await, "two");
    let log = server.requests();
    assert_eq!((log[0].status, log[1].status), (None, None));
}

#[tokio::test]
async fn a_lost_answer_makes_a_retry_fail() {
    let server = server();
    let retrying = config(&server.endpoint()).retry_config(
        RetryConfig::standard()
            .with_max_attempts(3)
            .with_initial_backoff(Duration::from_millis(1)),
    );
    let sleep = aws_sdk_s3::config::SharedAsyncSleep::new(NoSleep);
    let client = Client::from_conf(retrying.sleep_impl(sleep).build());
    next(server.switches(), Verb::Write, Fault::ResetAfter);
    let put = client.put_object().bucket("bucket").key("a");
    let put = put.if_none_match("*").send().await;
    assert_eq!(refused(put), with(412, "PreconditionFailed"));
    assert_eq!(server.requests().len(), 2);
}

/// Retries at once.
#[derive(Debug)]
struct NoSleep;

impl aws_sdk_s3::config::AsyncSleep for NoSleep {
    fn sleep(&self, _: Duration) -> aws_sdk_s3::config::Sleep {
        aws_sdk_s3::config::Sleep::new(std::future::ready(()))
    }
}

#[tokio::test]
async fn delays_take_the_time_of_the_world() {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let server = S3Server::start(S3Options {
        world: World::with_clock(Arc::new(clock)),
        ..S3Options::default()
    });
    let client = client(&server);
    let before = server.world().now();
    next(
        server.switches(),
        Verb::Write,
        Fault::Delay(Duration::from_secs(60)),
    );
    put(&client, "a", "x").await;
    let passed = server.world().now().duration_since(before);
    assert_eq!(passed.expect("time goes on"), Duration::from_secs(60));
}

#[tokio::test]
async fn answers_have_the_date_of_another_clock() {
    let server = server();
    let client = client(&server);
    let ahead = Duration::from_secs(10 * 60);
    server
        .switches()
        .set(|behaviour| behaviour.date_ahead = Some(ahead));
    put(&client, "a", "x").await;
    let answer = crate::raw::send(&server.endpoint(), "HEAD", "/bucket/a", &[], "").await;
    let answer = answer.expect("an answer");
    let date = answer.header("date").expect("there is a date");
    let date = httpdate::parse_http_date(date).expect("a date");
    let ours = server.world().now();
    assert!(date + Duration::from_secs(60) > ours + ahead, "{date:?}");
    let dated = server
        .world()
        .get("bucket", "a")
        .expect("there")
        .last_modified;
    assert!(dated <= ours);
}

#[tokio::test]
async fn a_held_request_is_delivered_though_its_client_is_gone() {
    let server = server();
    let client = client(&server);
    let gate = Gate::new();
    next(server.switches(), Verb::Write, Fault::Hold(gate.clone()));
    {
        let put = try_put(&client, "late");
        tokio::select! {
            _ended = put => panic!("it is held"),
            () = gate.reached_by(1) => {}
        }
    }
    assert!(server.world().keys("bucket").is_empty());
    gate.open();
    let there = || server.world().get("bucket", "a").is_some();
    eventually("what was held arrives", there).await;
    assert_eq!(get(&client, "a").await, "late");
}

#[tokio::test]
async fn an_answer_can_be_held_after_the_effect() {
    let server = server();
    let client = client(&server);
    let gate = Gate::new();
    next(
        server.switches(),
        Verb::Write,
        Fault::HoldAnswer(gate.clone()),
    );
    let put = try_put(&client, "one");
    let look = async {
        gate.reached_by(1).await;
        assert_eq!(get(&client, "a").await, "one");
        gate.open();
    };
    let (put, ()) = futures::join!(put, look);
    put.expect("it is answered in the end");
}

#[tokio::test]
async fn conditions_can_be_ignored() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "one").await;
    next(server.switches(), Verb::Write, Fault::IgnoreConditions);
    try_put(&client, "two")
        .await
        .expect("the condition is ignored");
    try_put(&client, "three")
        .await
        .expect_err("the condition is checked");
    assert_eq!(get(&client, "a").await, "two");
}

#[tokio::test]
async fn a_racy_server_has_several_winners() {
    let server = server();
    let racy = Fault::Racy(Duration::from_millis(50));
    server.switches().inject(Rule::new(racy).on(Verb::Write));
    let clients: Vec<_> = (0..8).map(|_| client(&server)).collect();
    let attempts = clients.iter().map(|client| try_put(client, "x"));
    let ended = join_all(attempts).await;
    assert!(ended.iter().filter(|it| it.is_ok()).count() > 1);
    try_put(&clients[0], "x")
        .await
        .expect_err("one after the other it works");
}

#[tokio::test]
async fn bodies_break_on_the_wire() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "0123456789").await;
    next(server.switches(), Verb::Read, Fault::Truncate(4));
    try_get(&client).await.expect_err("it is cut");
    next(server.switches(), Verb::Read, Fault::Corrupt(4));
    let error = try_get(&client).await.expect_err("its checksum tells");
    assert!(error.contains("ChecksumMismatch"), "{error}");
    next(server.switches(), Verb::Read, Fault::Corrupt(4));
    // Of a range there is none.
    let get = client.get_object().bucket("bucket").key("a");
    let got = get.range("bytes=0-").send().await.expect("headers come");
    let corrupt = got.body.collect().await.expect("it is whole").into_bytes();
    assert_eq!((corrupt[3], corrupt[4]), (b'3', !b'4'));
    next(
        server.switches(),
        Verb::Read,
        Fault::Drip(3, Duration::ZERO),
    );
    let dripped = try_get(&client).await.expect("it is whole");
    assert_eq!(dripped, b"0123456789");
    next(server.switches(), Verb::Read, Fault::Stall(4));
    let got = client.get_object().bucket("bucket").key("a").send().await;
    let mut got = got.expect("headers come");
    assert_eq!(got.content_length(), Some(10));
    let first = got.body.next().await.expect("a piece").expect("no error");
    assert_eq!(first, b"0123".as_slice());
    let more = futures::poll!(std::pin::pin!(got.body.next()));
    assert!(more.is_pending());
}

#[tokio::test]
async fn reads_and_lists_can_be_stale() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "one").await;
    put(&client, "a", "two").await;
    put(&client, "b", "new").await;
    next(server.switches(), Verb::Read, Fault::StaleRead(1));
    assert_eq!(get(&client, "a").await, "one");
    assert_eq!(get(&client, "a").await, "two");
    let count = async || {
        let page = client.list_objects_v2().bucket("bucket").send().await;
        page.expect("it can be listed").contents().len()
    };
    next(server.switches(), Verb::List, Fault::StaleList(1));
    assert_eq!(count().await, 1);
    assert_eq!(count().await, 2);
    next(server.switches(), Verb::List, Fault::ShortList(0));
    assert_eq!(count().await, 0);
}

#[tokio::test]
async fn a_batch_can_fail_in_part() {
    let server = server();
    let client = client(&server);
    for key in ["good", "bad"] {
        put(&client, key, "x").await;
    }
    let rule = Rule::new(Fault::FailKeys(Answer::internal_error()));
    server
        .switches()
        .inject(rule.on(Verb::DeleteMany).key("bad"));
    let named = ["good", "bad"].map(|key| {
        let named = ObjectIdentifier::builder().key(key).build();
        named.expect("it has a key")
    });
    let batch = Delete::builder().set_objects(Some(named.to_vec())).build();
    let deleted = client.delete_objects().bucket("bucket");
    let deleted = deleted.delete(batch.expect("it has keys")).send().await;
    let deleted = deleted.expect("the batch as such works");
    assert_eq!(deleted.deleted().len(), 1);
    assert_eq!(deleted.errors()[0].code(), Some("InternalError"));
    assert_eq!(server.world().keys("bucket"), ["bad"]);
}

#[tokio::test]
async fn rules_skip_count_and_draw() {
    let server = server();
    server.world().put("bucket", "a", Draft::new("x"));
    let client = client(&server);
    let failed = async || {
        let got = client.get_object().bucket("bucket").key("a").send().await;
        got.is_err()
    };
    let refusal = || Rule::new(Fault::Refuse(Answer::slow_down())).on(Verb::Read);
    let rule = server.switches().inject(refusal().skip(1).times(2));
    let seen = [
        failed().await,
        failed().await,
        failed().await,
        failed().await,
    ];
    assert_eq!(seen, [false, true, true, false]);
    rule.remove();
    server.switches().inject(refusal().key("other"));
    assert!(!failed().await);
    let mut runs = Vec::new();
    for _ in 0..2 {
        server.switches().clear();
        server.switches().seed(7);
        server.switches().inject(refusal().share(0.5));
        let mut run = Vec::new();
        for _ in 0..20 {
            run.push(failed().await);
        }
        runs.push(run);
    }
    assert_eq!(runs[0], runs[1]);
    let count = runs[0].iter().filter(|it| **it).count();
    assert!((4..=16).contains(&count), "{count} of 20");
}

#[tokio::test]
async fn a_storm_refuses_a_share_of_everything() {
    let server = server();
    let client = client(&server);
    server.switches().set(|it| it.storm = 1.0);
    let put = client.put_object().bucket("bucket").key("a").send().await;
    assert_eq!(refused(put), with(503, "SlowDown"));
    server.switches().set(|it| it.storm = 0.0);
    try_put(&client, "x").await.expect("the storm is over");
}

#[tokio::test]
async fn credentials_expire_by_the_clock_of_the_world() {
    let server = server();
    let client = |token: &str| {
        let credentials = Credentials::new("test", "testtest", Some(token.into()), None, "test");
        let config = config(&server.endpoint()).credentials_provider(credentials);
        Client::from_conf(config.identity_cache(IdentityCache::no_cache()).build())
    };
    let (old, new) = (client("token-1"), client("token-2"));
    let until = server.world().now() + Duration::from_secs(3600);
    server
        .switches()
        .set(|it| it.credentials_until = [("token-1".to_owned(), until)].into());
    put(&old, "a", "x").await;
    server.world().move_clock_forward(Duration::from_secs(3601));
    let put = old.put_object().bucket("bucket").key("a").send().await;
    assert_eq!(refused(put), with(403, "ExpiredToken"));
    assert_eq!(get(&new, "a").await, "x");
}

#[tokio::test]
async fn lists_and_wrong_keys_are_denied() {
    let server = server();
    let right = client(&server);
    put(&right, "a", "x").await;
    server.switches().set(|it| it.deny_list = true);
    assert_eq!(get(&right, "a").await, "x");
    let listed = right.list_objects_v2().bucket("bucket").send().await;
    assert_eq!(refused(listed), with(403, "AccessDenied"));
    let wrong = Credentials::new("test", "wrong", None, None, "test");
    let wrong = config(&server.endpoint()).credentials_provider(wrong);
    let wrong = Client::from_conf(wrong.build());
    let got = wrong.get_object().bucket("bucket").key("a").send().await;
    assert_eq!(refused(got), with(403, "SignatureDoesNotMatch"));
}

#[tokio::test]
async fn unsigned_requests_follow_the_switch() {
    let server = server();
    put(&client(&server), "a", "x").await;
    let http = aws_smithy_http_client::Builder::new().build_http();
    let anonymous = aws_sdk_s3::Config::builder()
        .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
        .http_client(http)
        .endpoint_url(server.endpoint())
        .region(aws_sdk_s3::config::Region::new("us-east-1"))
        .force_path_style(true)
        .retry_config(RetryConfig::disabled())
        .allow_no_auth();
    let anonymous = Client::from_conf(anonymous.build());
    let got = || anonymous.get_object().bucket("bucket").key("a").send();
    assert_eq!(refused(got().await), with(403, "AccessDenied"));
    server.switches().set(|it| it.anonymous_read = true);
    got().await.expect("everybody may read");
    let put = anonymous
        .put_object()
        .bucket("bucket")
        .key("b")
        .send()
        .await;
    assert_eq!(refused(put), with(403, "AccessDenied"));
    assert_eq!(
        server.requests().iter().filter(|it| !it.authorized).count(),
        3
    );
    server.switches().set(|it| it.missing_is_forbidden = true);
    let none = anonymous.get_object().bucket("bucket").key("none");
    assert_eq!(refused(none.send().await), with(403, "AccessDenied"));
}

#[tokio::test]
async fn a_server_ends_when_it_is_dropped() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "x").await;
    drop(server);
    let mut refused = false;
    for _ in 0..1000 {
        refused = client
            .head_object()
            .bucket("bucket")
            .key("a")
            .send()
            .await
            .is_err();
        if refused {
            break;
        }
    }
    assert!(refused);
}

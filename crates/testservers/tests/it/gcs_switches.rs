//! Switches with GCS: those that it has alone, and that the common ones reach both of its interfaces.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use google_cloud_gax::error::rpc::Code;
use google_cloud_storage::client::Storage;
use icefield_storage::ManualClock;
use icefield_testservers::{
    Answer, Fault, GcsOptions, GcsServer, Injected, Rule, Switches, Verb, World,
};

use crate::google::{BUCKET, control, get, put, refused, server, storage};

fn next(switches: &Switches, verb: Verb, fault: Fault) -> Injected {
    switches.inject(Rule::new(fault).on(verb).times(1))
}

async fn create(client: &Storage, text: &str) -> google_cloud_storage::Result<()> {
    let write = client.write_object(BUCKET, "a", text.to_owned());
    let write = write.set_if_generation_match(0);
    write.send_buffered().await.map(drop)
}

#[tokio::test]
async fn one_write_a_second() {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let server = GcsServer::start(GcsOptions {
        world: World::with_clock(Arc::new(clock.clone())),
        ..GcsOptions::default()
    });
    server.switches().set(|it| it.one_write_a_second = true);
    let client = storage(&server).await;
    put(&client, "a", "one").await;
    put(&client, "b", "another object").await;
    let soon = client.write_object(BUCKET, "a", "two").send_buffered();
    assert_eq!(refused(soon.await), 429);
    clock.advance(Duration::from_secs(1));
    put(&client, "a", "two").await;
}

#[tokio::test]
async fn refusals_reach_both_interfaces() {
    let server = server();
    let (bytes, others) = (storage(&server).await, control(&server).await);
    put(&bytes, "a", "one").await;
    let any = Rule::new(Fault::Refuse(Answer::slow_down())).times(2);
    server.switches().inject(any);
    assert_eq!(refused(create(&bytes, "x").await), 503);
    let seen = others.get_object().set_bucket(BUCKET).set_object("a");
    let error = seen.send().await.expect_err("it is refused");
    assert_eq!(error.status().map(|it| it.code), Some(Code::Unavailable));
}

#[tokio::test]
async fn answers_are_lost_after_the_effect() {
    let server = server();
    let (bytes, others) = (storage(&server).await, control(&server).await);
    next(server.switches(), Verb::Write, Fault::ResetAfter);
    let error = create(&bytes, "one").await.expect_err("it is reset");
    assert_eq!(error.http_status_code(), None);
    assert_eq!(get(&bytes, "a").await, "one");
    next(server.switches(), Verb::Delete, Fault::ResetAfter);
    let delete = others.delete_object().set_bucket(BUCKET).set_object("a");
    delete.send().await.expect_err("it is reset");
    assert!(server.world().keys("bucket").is_empty());
}

#[tokio::test]
async fn conditions_bodies_and_versions_go_wrong_as_on_s3() {
    let server = server();
    let client = storage(&server).await;
    put(&client, "a", "one").await;
    next(server.switches(), Verb::Write, Fault::IgnoreConditions);
    create(&client, "two")
        .await
        .expect("the condition is ignored");
    next(server.switches(), Verb::Read, Fault::StaleRead(1));
    assert_eq!(get(&client, "a").await, "one");
    next(server.switches(), Verb::Read, Fault::Truncate(1));
    let read = client.read_object(BUCKET, "a").send().await;
    let mut read = read.expect("headers come");
    let mut failed = false;
    while let Some(piece) = read.next().await {
        failed |= piece.is_err();
    }
    assert!(failed);
}

#[tokio::test]
async fn lists_go_wrong_over_grpc() {
    let server = server();
    let (bytes, others) = (storage(&server).await, control(&server).await);
    put(&bytes, "a", "one").await;
    put(&bytes, "b", "two").await;
    let count = async || {
        let page = others.list_objects().set_parent(BUCKET).send().await;
        page.map(|page| page.objects.len())
    };
    next(server.switches(), Verb::List, Fault::StaleList(1));
    assert_eq!(count().await.expect("it can be listed"), 1);
    next(
        server.switches(),
        Verb::List,
        Fault::Drip(7, Duration::ZERO),
    );
    assert_eq!(count().await.expect("it can be listed"), 2);
    server.switches().set(|it| it.deny_list = true);
    let error = count().await.expect_err("forbidden to all");
    assert_eq!(
        error.status().map(|it| it.code),
        Some(Code::PermissionDenied)
    );
}

#[tokio::test]
async fn tokens_are_demanded_if_there_are_any() {
    let server = GcsServer::start(GcsOptions {
        tokens: vec!["secret".to_owned()],
        ..GcsOptions::default()
    });
    let client = storage(&server).await;
    assert_eq!(refused(create(&client, "x").await), 401);
    server.switches().set(|it| it.anonymous_read = true);
    let missing = client.read_object(BUCKET, "a").send().await;
    assert_eq!(refused(missing.map(drop)), 404);
}

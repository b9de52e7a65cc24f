//! Conditions on S3: which request wins, and how the others are told.

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::DateTime;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use futures::future::join_all;
use icefield_testservers::S3Server;
use icefield_testservers::world::EtagStyle;

use crate::aws::{client, get, put, refused, server, with};

#[tokio::test]
async fn create_only_happens_once() {
    let server = server();
    let client = client(&server);
    let create = |text: &'static str| {
        let put = client.put_object().bucket("bucket").key("a");
        put.body(text.as_bytes().to_vec().into()).if_none_match("*")
    };
    create("one").send().await.expect("there was nothing");
    let again = refused(create("two").send().await);
    assert_eq!(again, with(412, "PreconditionFailed"));
    assert_eq!(get(&client, "a").await, "one");
}

#[tokio::test]
async fn update_needs_the_present_tag() {
    let server = server();
    let client = client(&server);
    let first = put(&client, "a", "one").await;
    let second = put(&client, "a", "two").await;
    let update = |etag: &str| {
        let put = client.put_object().bucket("bucket").key("a");
        put.body(b"three".to_vec().into()).if_match(etag)
    };
    let stale = refused(update(&first).send().await);
    assert_eq!(stale, with(412, "PreconditionFailed"));
    update(&second)
        .send()
        .await
        .expect("no write was in between");
    assert_eq!(get(&client, "a").await, "three");
}

#[tokio::test]
async fn if_match_on_nothing_is_404_or_as_switched_412() {
    let server = server();
    let client = client(&server);
    let update = || {
        let put = client.put_object().bucket("bucket").key("none");
        put.body(b"x".to_vec().into()).if_match("\"0123\"").send()
    };
    assert_eq!(refused(update().await), with(404, "NoSuchKey"));
    server
        .switches()
        .set(|it| it.if_match_on_missing_is_412 = true);
    assert_eq!(refused(update().await), with(412, "PreconditionFailed"));
}

#[tokio::test]
async fn delete_heeds_its_tag() {
    let server = server();
    let client = client(&server);
    let etag = put(&client, "a", "one").await;
    let delete = |etag: &str| {
        client
            .delete_object()
            .bucket("bucket")
            .key("a")
            .if_match(etag)
    };
    let other = refused(delete("\"0123\"").send().await);
    assert_eq!(other, with(412, "PreconditionFailed"));
    delete(&etag).send().await.expect("it is that one");
    assert!(server.world().keys("bucket").is_empty());
    let missing = client.delete_object().bucket("bucket").key("a").send();
    missing.await.expect("S3 does not mind");
}

#[tokio::test]
async fn reads_heed_tags_and_dates() {
    let server = server();
    let client = client(&server);
    let etag = put(&client, "a", "one").await;
    let get = || client.get_object().bucket("bucket").key("a");
    let (status, _) = refused(get().if_none_match(&etag).send().await);
    assert_eq!(status, 304);
    let other = refused(get().if_match("\"0123\"").send().await);
    assert_eq!(other, with(412, "PreconditionFailed"));
    let old = DateTime::from_secs(1_000_000_000);
    let changed = refused(get().if_unmodified_since(old).send().await);
    assert_eq!(changed, with(412, "PreconditionFailed"));
    get().if_match(&etag).send().await.expect("it is that one");
}

#[tokio::test]
async fn a_copy_heeds_both_ends() {
    let server = server();
    let client = client(&server);
    let etag = put(&client, "a", "one").await;
    let copy = || {
        let copy = client.copy_object().bucket("bucket").key("b");
        copy.copy_source("bucket/a")
    };
    let source = refused(copy().copy_source_if_match("\"0123\"").send().await);
    assert_eq!(source, with(412, "PreconditionFailed"));
    let good = copy().copy_source_if_match(&etag).if_none_match("*");
    good.send().await.expect("source and destination are right");
    let destination = refused(copy().if_none_match("*").send().await);
    assert_eq!(destination, with(412, "PreconditionFailed"));
    assert_eq!(get(&client, "b").await, "one");
}

async fn winners(server: &S3Server, update: Option<&str>) -> usize {
    let attempts = (0..32).map(|number| {
        let client = client(server);
        let put = client.put_object().bucket("bucket").key("race");
        // No two writes of a test may hold the same bytes: see `the_same_bytes_keep_their_tag`.
        let round = update.unwrap_or("first");
        let put = put.body(format!("writer {number}, {round}").into_bytes().into());
        let put = match update {
            Some(etag) => put.if_match(etag),
            None => put.if_none_match("*"),
        };
        tokio::spawn(put.send())
    });
    let ended = join_all(attempts).await;
    let won = |task: &Result<Result<_, _>, _>| task.as_ref().expect("no task panics").is_ok();
    ended.iter().filter(|task| won(task)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_32_writers_wins() {
    let server = server();
    assert_eq!(winners(&server, None).await, 1);
    let etag = server
        .world()
        .get("bucket", "race")
        .expect("one won")
        .etag
        .clone();
    assert_eq!(winners(&server, Some(&etag)).await, 1);
}

/// As on AWS: a tag that is made of the bytes does not tell two writes of the same bytes apart.
#[tokio::test]
async fn the_same_bytes_keep_their_tag() {
    let server = server();
    let client = client(&server);
    let update = |etag: &str| {
        let put = client.put_object().bucket("bucket").key("a");
        put.body(b"one".to_vec().into()).if_match(etag).send()
    };
    let etag = put(&client, "a", "one").await;
    update(&etag).await.expect("it is that one");
    update(&etag).await.expect("it looks like that one still");
    server.switches().set(|it| it.etags = EtagStyle::Opaque);
    let etag = put(&client, "a", "one").await;
    update(&etag).await.expect("it is that one");
    assert_eq!(
        refused(update(&etag).await),
        with(412, "PreconditionFailed")
    );
}

async fn uploaded(client: &Client, number: usize) -> (String, CompletedMultipartUpload) {
    let begun = client
        .create_multipart_upload()
        .bucket("bucket")
        .key("race");
    let begun = begun.send().await.expect("an upload can be begun");
    let id = begun.upload_id().expect("it has an id").to_owned();
    let part = client.upload_part().bucket("bucket").key("race");
    let part = part.upload_id(&id).part_number(1);
    let part = part.body(format!("part of {number}").into_bytes().into());
    let part = part.send().await.expect("a part can be sent");
    let part = CompletedPart::builder()
        .part_number(1)
        .set_e_tag(part.e_tag)
        .build();
    (id, CompletedMultipartUpload::builder().parts(part).build())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_32_uploads_wins() {
    let server = server();
    let attempts = (0..32).map(|number| {
        let client = client(&server);
        tokio::spawn(async move {
            let (id, parts) = uploaded(&client, number).await;
            let complete = client.complete_multipart_upload();
            let complete = complete.bucket("bucket").key("race").upload_id(id);
            let complete = complete.multipart_upload(parts).if_none_match("*");
            complete.send().await
        })
    });
    let ended = join_all(attempts).await;
    let won = |task: &Result<Result<_, _>, _>| task.as_ref().expect("no task panics").is_ok();
    assert_eq!(ended.iter().filter(|task| won(task)).count(), 1);
    assert_eq!(server.open_uploads(), 31);
}

//! Objects on S3: bytes, ranges, what is said about them, pages, parts.

use std::time::{Duration, SystemTime};

use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart, Delete, ObjectIdentifier};
use aws_sdk_s3::types::{EncodingType, MetadataDirective, StorageClass};
use icefield_storage::ManualClock;
use icefield_testservers::world::{Draft, EtagStyle};
use icefield_testservers::{S3Options, S3Server, Verb, World};

use crate::aws::{client, get, put, refused, server, with};

#[tokio::test]
async fn ranges_are_cut_out() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "0123456789").await;
    put(&client, "empty", "").await;
    for (range, bytes, shown) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=-30", "0123456789", "bytes 0-9/10"),
        ("bytes=5-99", "56789", "bytes 5-9/10"),
    ] {
        let got = client.get_object().bucket("bucket").key("a").range(range);
        let got = got.send().await.expect("the range is there");
        assert_eq!(got.content_range(), Some(shown));
        let body = got.body.collect().await.expect("it is whole").into_bytes();
        assert_eq!(body, bytes.as_bytes());
    }
    for (key, range) in [("a", "bytes=10-"), ("a", "bytes=-0"), ("empty", "bytes=-1")] {
        let got = client.get_object().bucket("bucket").key(key).range(range);
        assert_eq!(refused(got.send().await), with(416, "InvalidRange"));
    }
}

#[tokio::test]
async fn what_is_said_about_an_object_comes_back() {
    let server = server();
    let client = client(&server);
    let put = client.put_object().bucket("bucket").key("a");
    let put = put.body(b"x".to_vec().into()).metadata("write_id", "w1");
    let put = put
        .content_type("text/plain")
        .tagging("colour=deep+blue&n=1");
    let put = put.storage_class(StorageClass::StandardIa);
    put.send().await.expect("it can be put");
    let head = client.head_object().bucket("bucket").key("a").send().await;
    let head = head.expect("it is there");
    assert_eq!(head.content_type(), Some("text/plain"));
    assert_eq!(head.storage_class(), Some(&StorageClass::StandardIa));
    assert_eq!(head.metadata().expect("some")["write_id"], "w1");
    assert_eq!(head.content_length(), Some(1));
    let tags = client.get_object_tagging().bucket("bucket").key("a");
    let tags = tags.send().await.expect("there are tags");
    assert_eq!(tags.tag_set()[0].value(), "deep blue");

    let copy = client.copy_object().bucket("bucket").key("b");
    let copy = copy.copy_source("bucket/a").metadata("write_id", "w2");
    let copy = copy.metadata_directive(MetadataDirective::Replace);
    copy.send().await.expect("it can be copied");
    let copied = server.world().get("bucket", "b").expect("it is there");
    assert_eq!(copied.attributes.metadata["write_id"], "w2");
}

#[tokio::test]
async fn missing_things_are_named() {
    let server = server();
    let client = client(&server);
    let got = client.get_object().bucket("bucket").key("a").send().await;
    assert_eq!(refused(got), with(404, "NoSuchKey"));
    let got = client.head_object().bucket("bucket").key("a").send().await;
    assert_eq!(refused(got), with(404, "NotFound"));
    let got = client.get_object().bucket("other").key("a").send().await;
    assert_eq!(refused(got), with(404, "NoSuchBucket"));
    client
        .create_bucket()
        .bucket("other")
        .send()
        .await
        .expect("a bucket can be created");
    let head = client.head_bucket().bucket("other").send().await;
    head.expect("now it is there");
}

#[tokio::test]
async fn lists_come_in_pages_in_byte_order() {
    let server = server();
    server.switches().set(|it| it.page_size = 2);
    let client = client(&server);
    for key in ["b/1", "b/2", "a", "é", "b", "c/1", "B", "b-"] {
        server.world().put("bucket", key, Draft::new("x"));
    }
    let all = client.list_objects_v2().bucket("bucket").into_paginator();
    let all = all.send().collect::<Result<Vec<_>, _>>().await;
    let all = all.expect("every page comes");
    assert_eq!(all.len(), 4);
    let keys: Vec<_> = all.iter().flat_map(|page| page.contents()).collect();
    let keys: Vec<_> = keys.iter().filter_map(|object| object.key()).collect();
    assert_eq!(keys, ["B", "a", "b", "b-", "b/1", "b/2", "c/1", "é"]);

    let level = client.list_objects_v2().bucket("bucket").delimiter("/");
    let level = level.start_after("a").into_paginator().send();
    let level = level.collect::<Result<Vec<_>, _>>().await;
    let level = level.expect("every page comes");
    let keys = level.iter().flat_map(|page| page.contents());
    assert_eq!(
        keys.filter_map(|it| it.key()).collect::<Vec<_>>(),
        ["b", "b-", "é"]
    );
    let prefixes = level.iter().flat_map(|page| page.common_prefixes());
    let prefixes: Vec<_> = prefixes.filter_map(|it| it.prefix()).collect();
    assert_eq!(prefixes, ["b/", "c/"]);
}

#[tokio::test]
async fn keys_are_encoded_if_asked() {
    let server = server();
    let client = client(&server);
    for key in ["a b", "a//b", "x/../y", "tail/"] {
        put(&client, key, key).await;
        assert_eq!(get(&client, key).await, key);
    }
    let page = client.list_objects_v2().bucket("bucket");
    let page = page.encoding_type(EncodingType::Url).send().await;
    let page = page.expect("it can be listed");
    let keys: Vec<_> = page.contents().iter().filter_map(|it| it.key()).collect();
    assert_eq!(keys, ["a%20b", "a//b", "tail/", "x/../y"]);
}

#[tokio::test]
async fn batches_are_deleted() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "x").await;
    let named = ["a", "missing"].map(|key| {
        let named = ObjectIdentifier::builder().key(key).build();
        named.expect("it has a key")
    });
    let batch = Delete::builder().set_objects(Some(named.to_vec())).build();
    let deleted = client.delete_objects().bucket("bucket");
    let deleted = deleted.delete(batch.expect("it has keys")).send().await;
    assert_eq!(deleted.expect("it works").deleted().len(), 2);
    assert!(server.world().keys("bucket").is_empty());
}

#[tokio::test]
async fn parts_become_one_object() {
    let server = server();
    server.switches().set(|it| it.parts.min_part = 3);
    let client = client(&server);
    let begun = client.create_multipart_upload().bucket("bucket").key("big");
    let begun = begun.metadata("write_id", "w1").send().await;
    let begun = begun.expect("an upload can be begun");
    let id = begun.upload_id().expect("it has an id");
    let mut parts = CompletedMultipartUpload::builder();
    for (number, text) in [(1, "one"), (2, "two2"), (3, "3")] {
        let part = client
            .upload_part()
            .bucket("bucket")
            .key("big")
            .upload_id(id);
        let part = part
            .part_number(number)
            .body(text.as_bytes().to_vec().into());
        let part = part.send().await.expect("a part can be sent");
        let part = CompletedPart::builder().set_e_tag(part.e_tag);
        parts = parts.parts(part.part_number(number).build());
    }
    let listed = client
        .list_parts()
        .bucket("bucket")
        .key("big")
        .upload_id(id);
    let listed = listed.send().await.expect("parts can be listed");
    assert_eq!(listed.parts().len(), 3);
    let open = client
        .list_multipart_uploads()
        .bucket("bucket")
        .send()
        .await;
    assert_eq!(open.expect("uploads can be listed").uploads().len(), 1);
    let complete = || {
        let complete = client.complete_multipart_upload().bucket("bucket");
        let complete = complete.key("big").upload_id(id);
        complete.multipart_upload(parts.clone().build()).send()
    };
    let done = complete().await.expect("it can be completed");
    assert!(done.e_tag().expect("a tag").ends_with("-3\""), "{done:?}");
    assert_eq!(get(&client, "big").await, "onetwo23");
    assert_eq!(refused(complete().await), with(404, "NoSuchUpload"));
    assert_eq!(server.open_uploads(), 0);
}

#[tokio::test]
async fn part_limits_hold() {
    let server = server();
    server.switches().set(|it| {
        it.parts.max_parts = 2;
        it.parts.max_put = 4;
    });
    let client = client(&server);
    let big = client.put_object().bucket("bucket").key("a");
    let big = big.body(b"12345".to_vec().into()).send().await;
    assert_eq!(refused(big), with(400, "EntityTooLarge"));
    let begun = client.create_multipart_upload().bucket("bucket").key("a");
    let begun = begun.send().await.expect("an upload can be begun");
    let id = begun.upload_id().expect("it has an id");
    let part = |number| {
        let part = client.upload_part().bucket("bucket").key("a");
        part.upload_id(id)
            .part_number(number)
            .body(b"1".to_vec().into())
    };
    let third = part(3).send().await;
    assert_eq!(refused(third), with(400, "EntityTooLarge"));
    let mut parts = CompletedMultipartUpload::builder();
    for number in [1, 2] {
        let sent = part(number).send().await.expect("a part can be sent");
        let named = CompletedPart::builder().set_e_tag(sent.e_tag);
        parts = parts.parts(named.part_number(number).build());
    }
    let complete = client.complete_multipart_upload().bucket("bucket").key("a");
    let complete = complete.upload_id(id).multipart_upload(parts.build());
    assert_eq!(refused(complete.send().await), with(400, "EntityTooSmall"));
    assert_eq!(server.open_uploads(), 1);
    let abort = client.abort_multipart_upload().bucket("bucket").key("a");
    abort.upload_id(id).send().await.expect("it can be aborted");
    assert_eq!(server.open_uploads(), 0);
}

#[tokio::test]
async fn tags_need_not_be_digests() {
    let server = server();
    let client = client(&server);
    for style in [EtagStyle::Md5, EtagStyle::Opaque, EtagStyle::Weak] {
        server.switches().set(|it| it.etags = style);
        let etag = put(&client, "a", "one").await;
        assert_eq!(etag.starts_with("W/"), style == EtagStyle::Weak);
        let update = client.put_object().bucket("bucket").key("a");
        let update = update.if_match(&etag).body(b"two".to_vec().into());
        update.send().await.expect("the tag works as a condition");
    }
}

#[tokio::test]
async fn the_clock_is_the_worlds() {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let clock = ManualClock::new(at);
    let world = World::with_clock(std::sync::Arc::new(clock.clone()));
    let server = S3Server::start(S3Options {
        world,
        ..S3Options::default()
    });
    let client = client(&server);
    clock.advance(Duration::from_secs(50));
    server.world().move_clock_back(Duration::from_secs(20));
    put(&client, "a", "x").await;
    let head = client.head_object().bucket("bucket").key("a").send().await;
    let modified = head.expect("it is there").last_modified.expect("a date");
    assert_eq!(modified.secs(), 1_700_000_030);
}

#[tokio::test]
async fn requests_are_on_record() {
    let server = server();
    let client = client(&server);
    put(&client, "a", "x").await;
    let got = client.get_object().bucket("bucket").key("none");
    let got = got.request_payer("requester".into()).range("bytes=0-1");
    refused(got.send().await);
    let log = server.requests();
    assert_eq!(log.len(), 2);
    assert_eq!((log[0].verb, log[0].key.as_str()), (Verb::Write, "a"));
    assert_eq!((log[0].status, log[0].authorized), (Some(200), true));
    assert_eq!((log[1].verb, log[1].status), (Verb::Read, Some(404)));
    assert_eq!(log[1].header("x-amz-request-payer"), Some("requester"));
    assert_eq!(log[1].header("range"), Some("bytes=0-1"));
    assert_eq!(log[1].header("authorization"), Some("***"));
}

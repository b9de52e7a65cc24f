//! Objects on GCS: bytes, conditions, ranges, pages, resumable uploads.

use futures::future::join_all;
use google_cloud_gax::error::rpc::Code;
use google_cloud_gax::paginator::ItemPaginator;
use google_cloud_storage::model_ext::ReadRange;
use icefield_testservers::Verb;
use icefield_testservers::world::Draft;

use crate::google::{BUCKET, control, get, put, refused, server, storage};

#[tokio::test]
async fn writes_heed_generations() {
    let server = server();
    let client = storage(&server).await;
    let write = |text: &'static str, generation: i64| {
        let write = client.write_object(BUCKET, "a", text);
        let write = write.set_if_generation_match(generation);
        write.set_metadata([("write_id", text)]).send_buffered()
    };
    let first = write("one", 0).await.expect("there was nothing");
    assert_eq!(refused(write("two", 0).await), 412);
    let second = write("two", first.generation)
        .await
        .expect("it is that one");
    assert_eq!(refused(write("three", first.generation).await), 412);
    assert!(second.generation > first.generation);
    assert_eq!(second.metadata["write_id"], "two");
    assert_eq!(get(&client, "a").await, "two");
}

#[tokio::test]
async fn reads_have_ranges_and_conditions() {
    let server = server();
    let client = storage(&server).await;
    let object = put(&client, "a", "0123456789").await;
    for (range, text) in [
        (ReadRange::segment(2, 3), "234"),
        (ReadRange::offset(7), "789"),
        (ReadRange::tail(3), "789"),
        (ReadRange::tail(30), "0123456789"),
    ] {
        let read = client.read_object(BUCKET, "a").set_read_range(range);
        let mut read = read.send().await.expect("the range is there");
        assert_eq!(read.object().size, 10);
        assert_eq!(read.object().generation, object.generation);
        let mut bytes = Vec::new();
        while let Some(piece) = read.next().await {
            bytes.extend_from_slice(&piece.expect("the body is whole"));
        }
        assert_eq!(bytes, text.as_bytes());
    }
    let far = client.read_object(BUCKET, "a");
    let far = far.set_read_range(ReadRange::offset(10)).send().await;
    assert_eq!(refused(far.map(drop)), 416);
    let read = || client.read_object(BUCKET, "a");
    let known = read().set_if_generation_not_match(object.generation);
    assert_eq!(refused(known.send().await.map(drop)), 304);
    let other = read().set_if_generation_match(1);
    assert_eq!(refused(other.send().await.map(drop)), 412);
    let missing = client.read_object(BUCKET, "none").send().await;
    assert_eq!(refused(missing.map(drop)), 404);
}

#[tokio::test]
async fn resumable_uploads_come_in_chunks() {
    let server = server();
    let client = storage(&server).await;
    let bytes: Vec<u8> = (0..700_000_u32).map(|at| at as u8).collect();
    let write = |generation: i64| {
        let write = client.write_object(BUCKET, "big", bytes::Bytes::from(bytes.clone()));
        let write = write.set_if_generation_match(generation);
        let write = write.with_resumable_upload_threshold(0_usize);
        let write = write.with_resumable_upload_buffer_size(256 * 1024_usize);
        write.set_metadata([("write_id", "w1")]).send_buffered()
    };
    let object = write(0).await.expect("there was nothing");
    assert_eq!(
        (object.size, object.metadata["write_id"].as_str()),
        (700_000, "w1")
    );
    assert_eq!(refused(write(0).await), 412);
    let kept = server.world().get("bucket", "big").expect("it is there");
    assert_eq!(kept.bytes, bytes);
    let verbs: Vec<_> = server.requests().iter().map(|it| it.verb).collect();
    let once = [
        Verb::BeginUpload,
        Verb::UploadPart,
        Verb::UploadPart,
        Verb::CompleteUpload,
    ];
    assert_eq!(verbs, [once, once].concat());
}

#[tokio::test]
async fn streamed_writes_work_too() {
    let server = server();
    let client = storage(&server).await;
    let write = client.write_object(BUCKET, "a b/ü?", "streamed");
    let write = write.send_unbuffered().await;
    assert_eq!(write.expect("it can be written").size, 8);
    assert_eq!(get(&client, "a b/ü?").await, "streamed");
}

#[tokio::test]
async fn lists_come_in_pages_in_byte_order() {
    let server = server();
    server.switches().set(|it| it.page_size = 2);
    for key in ["b/1", "b/2", "a", "é", "b", "c/1", "B"] {
        server.world().put("bucket", key, Draft::new("x"));
    }
    let client = control(&server).await;
    let mut items = client.list_objects().set_parent(BUCKET).by_item();
    let mut keys = Vec::new();
    while let Some(item) = items.next().await {
        keys.push(item.expect("every page comes").name);
    }
    assert_eq!(keys, ["B", "a", "b", "b/1", "b/2", "c/1", "é"]);
    assert_eq!(server.requests().len(), 4);
    let level = client.list_objects().set_parent(BUCKET).set_delimiter("/");
    let level = level.set_lexicographic_start("b/").send().await;
    let level = level.expect("it can be listed");
    assert_eq!(level.prefixes, ["b/", "c/"]);
    assert!(!level.next_page_token.is_empty());
}

#[tokio::test]
async fn objects_can_be_looked_at_deleted_and_copied() {
    let server = server();
    let bytes = storage(&server).await;
    let client = control(&server).await;
    let object = put(&bytes, "a", "one").await;
    let seen = client.get_object().set_bucket(BUCKET).set_object("a");
    let seen = seen.send().await.expect("it is there");
    assert_eq!((seen.generation, seen.size), (object.generation, 3));
    assert_eq!(seen.checksums, object.checksums);

    let copy = || {
        let copy = client.rewrite_object().set_source_bucket(BUCKET);
        let copy = copy.set_source_object("a").set_destination_bucket(BUCKET);
        copy.set_destination_name("b").set_if_generation_match(0)
    };
    let done = copy().send().await.expect("it can be copied");
    assert!(done.done);
    let again = copy().send().await.expect_err("there is one now");
    assert_eq!(
        again.status().map(|it| it.code),
        Some(Code::FailedPrecondition)
    );
    assert_eq!(get(&bytes, "b").await, "one");

    let delete = || client.delete_object().set_bucket(BUCKET).set_object("a");
    let other = delete().set_if_generation_match(1).send().await;
    let other = other.expect_err("it is another");
    assert_eq!(
        other.status().map(|it| it.code),
        Some(Code::FailedPrecondition)
    );
    let right = delete().set_if_generation_match(object.generation);
    right.send().await.expect("it is that one");
    let gone = delete().send().await.expect_err("nothing is there");
    assert_eq!(gone.status().map(|it| it.code), Some(Code::NotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_32_writers_wins() {
    let server = server();
    let client = storage(&server).await;
    let attempts = (0..32).map(|number| {
        let write = client.write_object(BUCKET, "race", format!("writer {number}"));
        let threshold = if number % 2 == 0 { 0_usize } else { 1 << 20 };
        let write = write.with_resumable_upload_threshold(threshold);
        tokio::spawn(write.set_if_generation_match(0).send_buffered())
    });
    let ended = join_all(attempts).await;
    let ended = ended.into_iter().map(|task| task.expect("no task panics"));
    let (won, lost): (Vec<_>, Vec<_>) = ended.partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 31));
    for error in lost {
        assert_eq!(refused(error), 412);
    }
}

#[tokio::test]
async fn both_servers_may_share_a_world() {
    let server = server();
    let s3 = icefield_testservers::S3Server::start(icefield_testservers::S3Options {
        world: std::sync::Arc::clone(server.world()),
        ..icefield_testservers::S3Options::default()
    });
    put(&storage(&server).await, "a", "one").await;
    assert_eq!(crate::aws::get(&crate::aws::client(&s3), "a").await, "one");
}

//! Requests to Azure, and what becomes of their answers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use futures::TryStreamExt;
use icefield_storage::remote::{RemoteSettings, RetrySettings};
use icefield_storage::{
    Key, ListOptions, Listed, Prefix, PutMode, Storage, StorageError, StorageExt,
};
use icefield_storage_object_store::AzureBuilder;
use icefield_testservers::{Answer, Fault, FileServer, Rule, Verb};

fn key(text: &str) -> Key {
    Key::parse(text).expect("a key")
}

#[tokio::test]
async fn a_conflict_that_names_no_blob_is_no_refusal() {
    let server = FileServer::in_memory();
    let conflict = Rule::new(Fault::Refuse(Answer::new(409, "Conflict")));
    server.switches().inject(conflict.on(Verb::Other).times(2));
    let retry = RetrySettings::default().with_pauses(Duration::ZERO, Duration::ZERO);
    let settings = RemoteSettings::default().with_retry(retry);
    let storage = AzureBuilder::new("acc", "box")
        .endpoint(server.url("acc"))
        .settings(settings.trusting_conditions())
        .open()
        .expect("opened");
    let put = storage
        .put(&key("a"), "one".into(), PutMode::Create.into())
        .await;
    // The third answer is 405.
    assert!(put.is_err(), "{put:?}");
    let writes = server.requests();
    let writes = writes.iter().filter(|it| it.method == "PUT");
    assert_eq!(writes.count(), 3);
}

#[tokio::test]
async fn f90_a_redirect_is_not_followed() {
    let (server, elsewhere) = (FileServer::in_memory(), FileServer::in_memory());
    for status in [302, 307] {
        server.redirect("acc/box", status, &elsewhere.url("acc/box/a"));
        let azure = AzureBuilder::new("acc", "box").endpoint(server.url("acc"));
        for azure in [
            azure.clone().sas_token("sv=1&sig=SECRET"),
            azure.access_key("U0VDUkVU"),
        ] {
            let storage = azure.open().expect("opened");
            let read = storage.read(&key("a")).await.expect_err("not followed");
            let written = storage
                .put(&key("a"), "one".into(), PutMode::Overwrite.into())
                .await
                .expect_err("not followed");
            let deleted = storage.delete_one(key("a").into()).await;
            let listed = storage.list_all(&Default::default()).await;
            for error in [
                read,
                written,
                deleted.expect_err("not followed"),
                listed.expect_err("not followed"),
            ] {
                assert!(
                    matches!(
                        error,
                        StorageError::Misconfigured {
                            setting: "endpoint",
                            ..
                        }
                    ),
                    "{error:?}"
                );
                assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
            }
        }
    }
    assert!(!server.requests().is_empty());
    assert!(elsewhere.requests().is_empty());
}

/// A page of a list: blobs, and the marker of the next page.
fn page(names: &[&str], next: &str) -> String {
    let blob = |name: &&str| {
        format!(
            "<Blob><Name>{name}</Name><Properties><Last-Modified>Sat, 01 Nov 2025 00:00:00 GMT</Last-Modified>\
             <Etag>0x1</Etag><Content-Length>1</Content-Length><Content-Type>x</Content-Type></Properties></Blob>"
        )
    };
    let blobs: String = names.iter().map(blob).collect();
    format!(
        "<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>"
    )
}

/// Answers so many requests with these bodies, in this order, and returns what was asked.
fn answering(bodies: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let serve = move || {
        let answer = |body: String| {
            let (mut stream, _) = listener.accept().expect("a client");
            let lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            let lines = lines.map(|line| line.expect("a line"));
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).expect("sent");
            head[0].clone()
        };
        bodies.into_iter().map(answer).collect()
    };
    (format!("http://{address}/acc"), std::thread::spawn(serve))
}

#[tokio::test]
async fn lists_are_read_page_by_page_with_the_markers_of_the_store() {
    let (endpoint, asked) = answering(vec![
        page(&["sea/a/1", "sea/a/2"], "one"),
        page(&[], "two"),
        page(&["sea/a/3"], ""),
    ]);
    let storage = AzureBuilder::new("acc", "box")
        .endpoint(endpoint)
        .prefix(Prefix::parse("sea").expect("a prefix"))
        .open()
        .expect("opened");
    let options = ListOptions::default().with_start_after(key("a/1"));
    let listed = storage.list(options).try_collect::<Vec<_>>();
    let listed = listed.await.expect("listed");
    let names: Vec<_> = listed.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(names, ["a/2", "a/3"]);
    let asked = asked.join().expect("served");
    assert!(asked[0].contains("prefix=sea%2F") && !asked[0].contains("startFrom"));
    assert!(asked[1].contains("marker=one"), "{asked:?}");
    assert!(asked[2].contains("marker=two"), "{asked:?}");
}

/// The crate makes `sea/a` of the first, and its list fails at the others.
#[tokio::test]
async fn blobs_whose_names_are_no_keys_are_listed_as_unreadable() {
    let (endpoint, asked) = answering(vec![
        page(&["sea//x", "sea/a/", "sea/a/../b"], "one"),
        page(&["sea/a//b&amp;c", "sea/b"], ""),
        page(&["sea/a/", "sea/a//", "sea/a/b"], ""),
    ]);
    let storage = AzureBuilder::new("acc", "box")
        .endpoint(endpoint)
        .prefix(Prefix::parse("sea").expect("a prefix"))
        .open()
        .expect("opened");
    let names = async |options| {
        let listed = storage.list_entries(options).try_collect::<Vec<_>>().await;
        let name = |entry| match entry {
            Listed::Object(meta) => (meta.key.to_string(), true),
            Listed::Unreadable { raw, .. } => (raw, false),
        };
        listed
            .expect("listed")
            .into_iter()
            .map(name)
            .collect::<Vec<_>>()
    };
    let odd = |raw: &str| (raw.to_owned(), false);
    let all = names(ListOptions::default()).await;
    let there = ("b".to_owned(), true);
    assert_eq!(
        all,
        [odd("/x"), odd("a/"), odd("a/../b"), odd("a//b&c"), there]
    );
    let below = names(ListOptions::prefix(Prefix::parse("a").expect("a prefix"))).await;
    let there = ("a/b".to_owned(), true);
    assert_eq!(below, [odd("a/"), odd("a//"), there]);
    assert_eq!(asked.join().expect("served").len(), 3);
}

#[tokio::test]
async fn lists_in_another_order_are_sorted() {
    let (endpoint, asked) = answering(vec![
        page(&["b/1", "b-a/1"], ""),
        page(&["b/1", "b-a/1"], "one"),
        page(&["a"], ""),
    ]);
    let azure = AzureBuilder::new("acc", "box").endpoint(endpoint);
    let storage = azure.open().expect("opened");
    for wanted in [&["b-a/1", "b/1"][..], &["a", "b-a/1", "b/1"]] {
        let listed = storage.list_all(&Default::default()).await;
        let listed = listed.expect("listed");
        let names: Vec<_> = listed.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(names, wanted);
    }
    assert_eq!(asked.join().expect("served").len(), 3);
}

//! Plain files over HTTP.

use icefield_testservers::{Answer, Fault, FileServer, Rule, Verb};

use crate::raw::{RawAnswer, send};

async fn get(server: &FileServer, path: &str, headers: &[(&str, &str)]) -> RawAnswer {
    let answer = send(&server.endpoint(), "GET", path, headers, "").await;
    answer.expect("the server answers")
}

#[tokio::test]
async fn ranges_and_heads() {
    let server = FileServer::in_memory();
    server.put("/a/b c", "0123456789");
    let whole = get(&server, "/a/b%20c", &[]).await;
    assert_eq!(
        (whole.status, whole.body.as_slice()),
        (200, b"0123456789".as_slice())
    );
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    for (range, bytes) in [
        ("bytes=2-4", "234"),
        ("bytes=-3", "789"),
        ("bytes=8-", "89"),
    ] {
        let part = get(&server, "/a/b%20c", &[("range", range)]).await;
        assert_eq!((part.status, part.body.as_slice()), (206, bytes.as_bytes()));
    }
    let far = get(&server, "/a/b%20c", &[("range", "bytes=10-")]).await;
    assert_eq!(
        (far.status, far.header("content-range")),
        (416, Some("bytes */10"))
    );
    let head = send(&server.endpoint(), "HEAD", "/a/b%20c", &[], "").await;
    let head = head.expect("the server answers");
    assert_eq!(
        (head.header("content-length"), head.body.len()),
        (Some("10"), 0)
    );
    assert_eq!(get(&server, "/a", &[]).await.status, 404);
    let put = send(&server.endpoint(), "PUT", "/a", &[], "").await;
    assert_eq!(put.expect("the server answers").status, 405);
}

#[tokio::test]
async fn conditions_hold() {
    let server = FileServer::in_memory();
    server.put("a", "x");
    let seen = get(&server, "/a", &[]).await;
    let etag = seen.header("etag").expect("a tag").to_owned();
    let date = seen.header("last-modified").expect("a date").to_owned();
    let old = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (name, value, status) in [
        ("if-match", etag.as_str(), 200),
        ("if-match", "\"other\"", 412),
        ("if-none-match", &etag, 304),
        ("if-none-match", "\"other\"", 200),
        ("if-unmodified-since", &date, 200),
        ("if-unmodified-since", old, 412),
        ("if-modified-since", &date, 304),
    ] {
        let answer = get(&server, "/a", &[(name, value)]).await;
        assert_eq!(answer.status, status, "{name}: {value}");
    }
}

#[tokio::test]
async fn directories_are_served_and_not_left() {
    let root = tempfile::tempdir().expect("there is room for a directory");
    let below = root.path().join("data");
    std::fs::create_dir(&below).expect("it can be created");
    std::fs::write(root.path().join("secret"), "no").expect("it can be written");
    std::fs::write(below.join("file"), "yes").expect("it can be written");
    let server = FileServer::of_directory(&below);
    let file = get(&server, "/file", &[("range", "bytes=1-")]).await;
    assert_eq!((file.status, file.body.as_slice()), (206, b"es".as_slice()));
    for path in ["/../secret", "/%2e%2e/secret", "/../", "/none", "/none/"] {
        assert_eq!(get(&server, path, &[]).await.status, 404, "{path}");
    }
    let page = get(&server, "/", &[]).await;
    let text = String::from_utf8_lossy(&page.body);
    assert_eq!(page.status, 200);
    assert!(
        text.contains("href=\"file\"") && !text.contains("secret"),
        "{text}"
    );
}

#[tokio::test]
async fn redirects_and_what_clients_carry_along() {
    let server = FileServer::in_memory();
    server.put("b", "x");
    for status in [301, 302, 307] {
        server.redirect(&format!("/to-{status}"), status, &server.url("b"));
        let path = format!("/to-{status}/x");
        let answer = get(&server, &path, &[("authorization", "Bearer s3cr3t")]).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("location"), Some(server.url("b").as_str()));
    }
    get(&server, "/b", &[("cookie", "a=b")]).await;
    let log = server.requests();
    assert!(log[0].authorized && !log[0].cookie);
    assert!(!log[3].authorized && log[3].cookie);
    assert!(!format!("{log:?}").contains("s3cr3t"));
}

#[tokio::test]
async fn files_have_switches_too() {
    let server = FileServer::in_memory();
    server.put("a", "one");
    server.put("a", "two");
    let stale = Rule::new(Fault::StaleRead(1)).on(Verb::Read).times(1);
    server.switches().inject(stale);
    assert_eq!(get(&server, "/a", &[]).await.body, b"one");
    let refusal = Rule::new(Fault::Refuse(Answer::bad_gateway())).key("a");
    server.switches().inject(refusal);
    assert_eq!(get(&server, "/a", &[]).await.status, 502);
}

//! The proxy in front of S3, GCS and plain files.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::primitives::ByteStream;
use icefield_testservers::{
    Answer, FaultProxy, FileServer, Gate, ProxyFault, ProxyRule, S3Server, eventually,
};

use crate::aws::{config, get, put, refused, server, with};
use crate::raw::send;

fn behind(server: &S3Server) -> (FaultProxy, Client) {
    let proxy = FaultProxy::start(&server.endpoint());
    let client = Client::from_conf(config(&proxy.endpoint()).build());
    (proxy, client)
}

fn once(fault: ProxyFault) -> ProxyRule {
    ProxyRule::new(fault).times(1)
}

#[tokio::test]
async fn requests_pass_with_their_signatures() {
    let server = server();
    let (proxy, client) = behind(&server);
    put(&client, "a/b c", "text").await;
    assert_eq!(get(&client, "a/b c").await, "text");
    let missing = client
        .head_object()
        .bucket("bucket")
        .key("none")
        .send()
        .await;
    assert_eq!(refused(missing), with(404, "NotFound"));
    let log = proxy.requests();
    let seen: Vec<_> = log
        .iter()
        .map(|it| (it.method.as_str(), it.answered))
        .collect();
    assert_eq!(
        seen,
        [("PUT", Some(200)), ("GET", Some(200)), ("HEAD", Some(404))]
    );
}

#[tokio::test]
async fn chunked_uploads_with_trailers_pass() {
    let file = tempfile::NamedTempFile::new().expect("there is room for a file");
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at / 7) as u8).collect();
    std::fs::write(file.path(), &bytes).expect("it can be written");
    let server = server();
    let (_proxy, client) = behind(&server);
    // A body from a file is sent in chunks with its checksum in a trailer.
    let body = ByteStream::read_from().path(file.path()).build().await;
    let put = client.put_object().bucket("bucket").key("a");
    let put = put.body(body.expect("the file is there")).send().await;
    put.expect("it passes");
    let kept = server.world().get("bucket", "a").expect("it is there");
    assert_eq!(kept.bytes, bytes);
    let log = server.requests();
    let encoding = log[0].header("x-amz-trailer");
    assert!(encoding.is_some(), "{:?}", log[0].headers);
}

#[tokio::test]
async fn resets_before_and_after() {
    let server = server();
    let (proxy, client) = behind(&server);
    let create = || {
        let put = client.put_object().bucket("bucket").key("a");
        put.if_none_match("*").send()
    };
    proxy.inject(once(ProxyFault::ResetBefore).method("PUT"));
    let error = create().await.expect_err("it is reset");
    assert!(matches!(error, SdkError::DispatchFailure(_)));
    assert!(server.requests().is_empty());
    proxy.inject(once(ProxyFault::DropAnswer).header("If-None-Match", "*"));
    create().await.expect_err("the answer is lost");
    assert_eq!(refused(create().await), with(412, "PreconditionFailed"));
    let log = proxy.requests();
    assert_eq!(
        (log[0].upstream.as_slice(), log[0].answered),
        ([].as_slice(), None)
    );
    assert_eq!(
        (log[1].upstream.as_slice(), log[1].answered),
        ([200].as_slice(), None)
    );
}

#[tokio::test]
async fn answers_of_its_own() {
    let server = server();
    let (proxy, client) = behind(&server);
    proxy.inject(once(ProxyFault::Refuse(Answer::slow_down())));
    let got = || client.get_object().bucket("bucket").key("a").send();
    assert_eq!(refused(got().await), with(503, "SlowDown"));
    let elsewhere = FileServer::in_memory();
    proxy.inject(once(ProxyFault::Redirect(307, elsewhere.url("a"))));
    let (status, _) = refused(got().await);
    assert_eq!(status, 307);
    assert!(elsewhere.requests().is_empty());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn bodies_are_spoilt() {
    let server = server();
    let (proxy, client) = behind(&server);
    put(&client, "a", "0123456789").await;
    let read = async || {
        // Of a range there is no checksum that would tell.
        let get = client.get_object().bucket("bucket").key("a");
        let got = get.range("bytes=0-").send().await;
        let body = got.expect("headers come").body.collect().await;
        body.map(|body| body.into_bytes())
    };
    proxy.inject(once(ProxyFault::HalfBody));
    read().await.expect_err("half is missing");
    proxy.inject(once(ProxyFault::FlipByte(4)));
    let flipped = read().await.expect("it is whole");
    assert_eq!((flipped[3], flipped[4]), (b'3', !b'4'));
    proxy.inject(once(ProxyFault::WrongLength(3)));
    read().await.expect_err("three bytes are missing");
    proxy.inject(once(ProxyFault::WrongLength(-3)));
    assert_eq!(read().await.expect("it looks whole"), b"0123456".as_slice());
    proxy.inject(once(ProxyFault::Drip(3, Duration::ZERO)));
    assert_eq!(read().await.expect("it is whole"), b"0123456789".as_slice());
    proxy.inject(once(ProxyFault::Stall(4)));
    let got = client.get_object().bucket("bucket").key("a").send().await;
    let mut got = got.expect("headers come");
    let first = got.body.next().await.expect("a piece").expect("no error");
    assert_eq!(first, b"0123".as_slice());
    assert!(futures::poll!(std::pin::pin!(got.body.next())).is_pending());
}

#[tokio::test]
async fn a_held_request_arrives_late() {
    let server = server();
    let (proxy, client) = behind(&server);
    let gate = Gate::new();
    proxy.inject(once(ProxyFault::Hold(gate.clone())).method("PUT"));
    let late = client.put_object().bucket("bucket").key("a").send();
    tokio::select! {
        _ended = late => panic!("it is held"),
        () = gate.reached_by(1) => {}
    }
    assert!(server.requests().is_empty());
    gate.open();
    let there = || server.world().get("bucket", "a").is_some();
    eventually("what was held arrives", there).await;
}

#[tokio::test]
async fn a_request_is_delivered_twice() {
    let server = server();
    let (proxy, client) = behind(&server);
    proxy.inject(once(ProxyFault::Twice));
    let create = client.put_object().bucket("bucket").key("a");
    let create = create.if_none_match("*").send().await;
    assert_eq!(refused(create), with(412, "PreconditionFailed"));
    assert_eq!(proxy.requests()[0].upstream, [200, 412]);
}

#[tokio::test]
async fn rules_choose_by_path_count_and_seed() {
    let files = FileServer::in_memory();
    files.put("a", "x");
    let proxy = FaultProxy::start(&files.endpoint());
    let ask = async |path: &str| {
        let answer = send(&proxy.endpoint(), "GET", path, &[], "").await;
        answer.expect("the proxy answers").status
    };
    let refusal = || ProxyRule::new(ProxyFault::Refuse(Answer::bad_gateway()));
    proxy.inject(refusal().path("a?x").skip(1).times(1));
    let seen = [
        ask("/a").await,
        ask("/a?x").await,
        ask("/a?x").await,
        ask("/a?x").await,
    ];
    assert_eq!(seen, [200, 200, 502, 200]);
    let mut runs = Vec::new();
    for _ in 0..2 {
        proxy.clear();
        proxy.seed(3);
        proxy.inject(refusal().share(0.5));
        let mut run = Vec::new();
        for _ in 0..20 {
            run.push(ask("/a").await);
        }
        runs.push(run);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].contains(&200) && runs[0].contains(&502));
}

#[tokio::test]
async fn both_interfaces_of_gcs_pass() {
    let server = crate::google::server();
    let proxy = FaultProxy::start(&server.endpoint());
    let client = crate::google::storage_at(&proxy.endpoint()).await;
    crate::google::put(&client, "a", "one").await;
    assert_eq!(crate::google::get(&client, "a").await, "one");
    let control = crate::google::control_at(&proxy.endpoint()).await;
    let seen = control.get_object().set_bucket(crate::google::BUCKET);
    let seen = seen.set_object("a").send().await;
    assert_eq!(seen.expect("it is there").size, 3);
}

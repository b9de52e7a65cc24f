//! Bodies that break off, stall, come from another state, or are not what was stored.

use std::time::Duration;

use icefield_storage::{Bytes, GetOptions, GetRange, PutMode, Storage, StorageError, StorageExt};
use icefield_testservers::{Fault, FaultProxy, Gate, ProxyFault, ProxyRule, Rule, Verb};

use crate::support::*;

fn pattern(length: u32) -> Bytes {
    (0..length).map(|at| (at * 7 % 251) as u8).collect()
}

#[tokio::test]
async fn f81_f82_bodies_that_break_off_are_taken_up_again() {
    let server = server();
    let storage = open(&server).await;
    let bytes = pattern(200_000);
    written(put(&storage, "a", bytes.clone(), PutMode::Create).await);
    for range in [
        GetRange::All,
        GetRange::Bounded(1000..150_000),
        GetRange::Suffix(90_000),
    ] {
        let rule = Rule::new(Fault::Truncate(50_000)).on(Verb::Read).times(2);
        let rule = server.switches().inject(rule);
        let object = storage
            .get(&key("a"), range.clone().into())
            .await
            .expect("read");
        let wanted = range.resolve(200_000).expect("inside");
        let wanted = bytes.slice(wanted.start as usize..wanted.end as usize);
        assert_eq!(object.bytes().await.expect("whole"), wanted, "{range:?}");
        assert!(rule.fired() >= 1);
        rule.remove();
    }
    // The rest is asked for, of this very state.
    let last = asked(&server, Verb::Read).pop().expect("a read");
    let range = last.header("range").expect("a range");
    assert!(!range.starts_with("bytes=0-"), "{range}");
    assert!(
        last.target.contains("ifGenerationMatch="),
        "{}",
        last.target
    );
    let rule = Rule::new(Fault::Truncate(0)).on(Verb::Read);
    let rule = server.switches().inject(rule);
    let error = storage
        .read(&key("a"))
        .await
        .expect_err("never a whole body");
    assert!(error.is_retryable(), "{error:?}");
    assert!(rule.fired() >= u64::from(ATTEMPTS));
}

#[tokio::test]
async fn f82_a_length_that_lies_is_found_out() {
    let server = server();
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = opened(at(&server, proxy.endpoint())).await;
    let bytes = pattern(200_000);
    written(put(&storage, "a", bytes.clone(), PutMode::Create).await);
    for fault in [
        ProxyFault::HalfBody,
        ProxyFault::WrongLength(-1),
        ProxyFault::WrongLength(-200_000),
        ProxyFault::WrongLength(1),
        ProxyFault::WrongLength(1000),
    ] {
        proxy.clear();
        proxy.inject(ProxyRule::new(fault.clone()).method("GET").times(1));
        // The bytes that came may be all there are; then word of a longer body is an error, and never other bytes.
        match storage.read(&key("a")).await {
            Ok((read, _)) => assert!(read == bytes, "{fault:?}"),
            Err(error) => assert!(error.is_retryable(), "{fault:?}: {error:?}"),
        }
        proxy.clear();
        assert!(storage.read(&key("a")).await.expect("read").0 == bytes);
    }
}

#[tokio::test]
async fn f83_bytes_that_changed_on_the_way_are_found_out_by_their_checksum() {
    let server = server();
    let storage = open(&server).await;
    for length in [1000, 3_000_000] {
        written(put(&storage, "a", pattern(length), PutMode::Overwrite).await);
        next(&server, Verb::Read, Fault::Corrupt(17));
        let error = storage.read(&key("a")).await.expect_err("not these bytes");
        assert!(matches!(error, StorageError::Failed { .. }), "{error:?}");
        assert!(format!("{error:?}").contains("checksum"), "{error:?}");
        assert!(storage.read(&key("a")).await.expect("read").0 == pattern(length));
    }
    // Of a range there is no checksum: what is in a chunk is for its codecs to find out.
    next(&server, Verb::Read, Fault::Corrupt(0));
    let range = GetOptions::range(GetRange::Bounded(10..20));
    let object = storage.get(&key("a"), range).await.expect("read");
    assert_ne!(
        object.bytes().await.expect("bytes"),
        pattern(20).slice(10..)
    );
    // The store refuses bytes that changed on their way to it: it compares, too.
    let proxy = FaultProxy::start(&server.endpoint());
    let storage = opened(at(&server, proxy.endpoint())).await;
    written(put(&storage, "b", pattern(1000), PutMode::Create).await);
    let sent = asked(&server, Verb::Write).pop().expect("a write");
    assert!(sent.target.contains("uploadType=multipart"), "{sent:?}");
}

#[tokio::test]
async fn f84_a_body_that_stalls_is_given_up_and_its_place_is_free() {
    let server = server();
    let settings = settings()
        .with_timeouts(Duration::from_secs(5), Duration::from_millis(100))
        .with_requests(3);
    let storage = opened(builder(&server).settings(settings)).await;
    written(put(&storage, "a", vec![9; 100_000], PutMode::Create).await);
    let rule = Rule::new(Fault::Stall(30_000)).on(Verb::Read).times(1);
    let rule = server.switches().inject(rule);
    let (read, _) = storage.read(&key("a")).await.expect("read");
    assert_eq!(read.len(), 100_000);
    assert_eq!((rule.fired(), storage.free_requests()), (1, 3));
    rule.remove();
    let rule = Rule::new(Fault::Stall(0)).on(Verb::Read);
    server.switches().inject(rule);
    let error = storage.read(&key("a")).await.expect_err("nothing comes");
    assert!(
        matches!(error, StorageError::Unavailable { .. }),
        "{error:?}"
    );
    assert_eq!(storage.free_requests(), 3);
}

#[tokio::test]
async fn f84_an_answer_that_does_not_come_is_given_up_over_both_protocols() {
    let server = server();
    let settings = settings()
        .with_timeouts(Duration::from_millis(300), Duration::from_secs(5))
        .with_requests(3);
    let storage = opened(builder(&server).settings(settings)).await;
    written(put(&storage, "a", "one", PutMode::Create).await);
    for verb in [Verb::Read, Verb::Head, Verb::List] {
        let gate = Gate::new();
        next(&server, verb, Fault::HoldAnswer(gate.clone()));
        match verb {
            Verb::List => {
                let listed = storage.list_all(&Default::default()).await;
                assert_eq!(listed.expect("listed").len(), 1);
            }
            Verb::Head => assert_eq!(storage.head(&key("a")).await.expect("there").size, 3),
            _ => assert_eq!(storage.read(&key("a")).await.expect("read").0, "one"),
        }
        assert_eq!(storage.free_requests(), 3, "{verb:?}");
        gate.open();
    }
}

#[tokio::test]
async fn f85_an_older_state_is_never_taken_for_the_newer_one() {
    let server = server();
    let storage = open(&server).await;
    let first = written(put(&storage, "a", "one", PutMode::Create).await);
    let second = written(put(&storage, "a", "two", PutMode::Update(first.clone())).await);
    let options = || GetOptions::default().with_if_match(second.clone());
    // Whatever is old, bytes or description: what comes belongs together.
    for verb in [Verb::Read, Verb::Head] {
        next(&server, verb, Fault::StaleRead(1));
        let (read, meta) = storage.read(&key("a")).await.expect("read");
        let wanted = match &read[..] {
            b"one" => &first,
            _ => &second,
        };
        assert_eq!(meta.version, *wanted, "{verb:?}");
        server.switches().clear();
    }
    // The generation has gone back for both, and a client that knows it asks.
    let stale = Rule::new(Fault::StaleRead(1)).on(Verb::Read).on(Verb::Head);
    let stale = server.switches().inject(stale);
    let read = storage.get(&key("a"), options()).await.map(|it| it.meta);
    assert!(
        matches!(read, Err(StorageError::PreconditionFailed { .. })),
        "{read:?}"
    );
    // A client that does not know it: an older state, whole, and described as what it is.
    let (read, meta) = storage.read(&key("a")).await.expect("read");
    assert_eq!(read, "one");
    assert_ne!(meta.version, second);
    stale.remove();
    let object = storage.get(&key("a"), options()).await.expect("read");
    assert_eq!(object.bytes().await.expect("bytes"), "two");
}

//! Bodies: none, many bytes, streams, streams that break, and puts that are dropped.

use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{self, StreamExt};

use super::trial::{Trial, key, pattern, refused, written};
use crate::{Payload, PutMode, PutOptions, StorageError};

fn broken() -> StorageError {
    StorageError::Unavailable {
        action: "read",
        target: "the source of this payload".to_owned(),
        source: "it broke, as the case wants".into(),
    }
}

fn stream_of(parts: Vec<Result<Bytes, StorageError>>, size: Option<usize>) -> Payload {
    Payload::Stream {
        size: size.map(|size| size as u64),
        stream: stream::iter(parts).boxed(),
    }
}

fn parts(texts: &[&'static str]) -> Vec<Result<Bytes, StorageError>> {
    texts
        .iter()
        .map(|text| Ok(Bytes::from_static(text.as_bytes())))
        .collect()
}

pub(super) async fn empty_object_is_an_object(t: Trial) {
    t.store("a/b", "").await;
    t.expect("a/b", b"").await;
    assert_eq!(t.keys("a").await, ["a/b"]);
    if t.creates().await {
        refused(&t.put("a/b", "one", PutMode::Create).await);
    }
}

pub(super) async fn large_object_comes_back(t: Trial) {
    let bytes = pattern(1, t.effort.large + 1);
    t.store("a/b", bytes.clone()).await;
    t.expect("a/b", &bytes).await;
    let middle = 1_000_000..1_100_000;
    let range = crate::GetRange::Bounded(middle.start as u64..middle.end as u64);
    assert_eq!(
        t.get("a/b", range).await.expect("read"),
        bytes.slice(middle)
    );
}

pub(super) async fn sized_stream_is_stored(t: Trial) {
    let payload = stream_of(parts(&["one ", "", "two ", "three"]), Some(13));
    written(t.put("a/b", payload, PutMode::Overwrite).await);
    t.expect("a/b", b"one two three").await;
}

pub(super) async fn unsized_stream_is_stored(t: Trial) {
    let payload = stream_of(parts(&["one ", "", "two ", "three"]), None);
    written(t.put("a/b", payload, PutMode::Overwrite).await);
    t.expect("a/b", b"one two three").await;
}

pub(super) async fn large_stream_is_stored(t: Trial) {
    let bytes = pattern(2, t.effort.large + 7);
    for (at, size) in [("a/sized", Some(bytes.len())), ("a/unsized", None)] {
        // Parts of no round size, so that they do not fall together with those of an upload.
        let parts = bytes
            .chunks(77_777)
            .map(|part| Ok(Bytes::copy_from_slice(part)))
            .collect();
        written(t.put(at, stream_of(parts, size), PutMode::Overwrite).await);
        t.expect(at, &bytes).await;
    }
}

pub(super) async fn empty_stream_is_an_empty_object(t: Trial) {
    for (at, size) in [("a/sized", Some(0)), ("a/unsized", None)] {
        written(t.put(at, stream_of(vec![], size), PutMode::Overwrite).await);
        t.expect(at, b"").await;
    }
}

/// Puts payloads that must fail, in every mode, and asserts that nothing has changed.
async fn expect_nothing_stored(t: &Trial, old: Option<&[u8]>, payload: impl Fn() -> Payload) {
    let mut modes = vec![PutMode::Overwrite];
    if let Some(old) = old {
        let version = t.store("a/b", old.to_vec()).await;
        if t.store.capabilities().conditional_update {
            modes.push(PutMode::Update(version));
        }
    } else if t.store.capabilities().conditional_create {
        modes.push(PutMode::Create);
    }
    for mode in modes {
        let put = t
            .store
            .put(&key("a/b"), payload(), PutOptions::mode(mode))
            .await;
        assert!(
            put.is_err(),
            "the payload breaks, so nothing may be stored: {put:?}"
        );
        match old {
            Some(old) => t.expect("a/b", old).await,
            None => t.expect_absent("a/b").await,
        }
    }
    let left: &[&str] = if old.is_some() { &["a/b"] } else { &[] };
    assert_eq!(t.keys("").await, left, "nothing else may be left behind");
}

/// Returns a stream that breaks: at once, in the middle, or after enough bytes for an upload in parts.
fn failing(which: usize, large: usize) -> Payload {
    let one = || Ok(Bytes::from_static(b"one"));
    match which {
        0 => stream_of(vec![Err(broken())], None),
        1 => stream_of(vec![one(), Err(broken()), one()], Some(6)),
        _ => {
            let parts = (0..large).step_by(1 << 20).map(|_| Ok(pattern(3, 1 << 20)));
            stream_of(parts.chain([Err(broken())]).collect(), None)
        }
    }
}

pub(super) async fn failed_stream_stores_nothing(t: Trial) {
    for which in 0..3 {
        expect_nothing_stored(&t, None, || failing(which, t.effort.large)).await;
    }
}

pub(super) async fn failed_stream_leaves_the_old_object(t: Trial) {
    for which in 0..3 {
        expect_nothing_stored(&t, Some(b"old"), || failing(which, t.effort.large)).await;
    }
}

pub(super) async fn short_stream_stores_nothing(t: Trial) {
    for old in [None, Some(&b"old"[..])] {
        expect_nothing_stored(&t, old, || stream_of(parts(&["one", "two"]), Some(7))).await;
        expect_nothing_stored(&t, old, || stream_of(vec![], Some(1))).await;
    }
}

pub(super) async fn long_stream_stores_nothing(t: Trial) {
    for old in [None, Some(&b"old"[..])] {
        expect_nothing_stored(&t, old, || stream_of(parts(&["one", "two"]), Some(5))).await;
        expect_nothing_stored(&t, old, || stream_of(parts(&["one", "two"]), Some(3))).await;
        expect_nothing_stored(&t, old, || stream_of(parts(&["one"]), Some(0))).await;
    }
}

pub(super) async fn conditions_hold_for_streams(t: Trial) {
    let stream = || stream_of(parts(&["one ", "two"]), None);
    if t.creates().await {
        written(t.put("a/b", stream(), PutMode::Create).await);
        refused(
            &t.put(
                "a/b",
                stream_of(parts(&["other"]), Some(5)),
                PutMode::Create,
            )
            .await,
        );
        t.expect("a/b", b"one two").await;
    }
    if t.updates().await {
        let old = t.store("a/b", "old").await;
        written(t.put("a/b", stream(), PutMode::Update(old.clone())).await);
        refused(
            &t.put(
                "a/b",
                stream_of(parts(&["other"]), None),
                PutMode::Update(old),
            )
            .await,
        );
        t.expect("a/b", b"one two").await;
    }
}

pub(super) async fn conditions_hold_for_large_objects(t: Trial) {
    let large = |seed| pattern(seed, t.effort.large + usize::from(seed));
    if t.creates().await {
        written(t.put("a/b", large(1), PutMode::Create).await);
        refused(&t.put("a/b", large(2), PutMode::Create).await);
        refused(&t.put("a/b", "small", PutMode::Create).await);
        t.expect("a/b", &large(1)).await;
    }
    if t.updates().await {
        let old = t.store("a/b", large(3)).await;
        let new = written(t.put("a/b", large(4), PutMode::Update(old.clone())).await);
        assert_ne!(old, new);
        refused(&t.put("a/b", large(5), PutMode::Update(old)).await);
        refused(&t.put("a/c", large(5), PutMode::Update(new.clone())).await);
        t.expect("a/b", &large(4)).await;
        written(t.put("a/b", "small", PutMode::Update(new)).await);
        t.expect("a/b", b"small").await;
    }
    assert!(!t.keys("").await.iter().any(|at| at == "a/c"));
}

pub(super) async fn dropped_put_leaves_old_or_new(t: Trial) {
    let at = key("a/b");
    let length = |seed: u8| 100_000 + 1000 * usize::from(seed);
    t.store("a/b", pattern(0, length(0))).await;
    for seed in 1..12_u8 {
        let bytes = pattern(seed, length(seed));
        let mut put = t.store.put(&at, bytes.into(), PutOptions::default());
        for _ in 0..seed {
            if (&mut put).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(put);
        for _ in 0..10 {
            // The write may still be under way, or that of an earlier round, but never in part.
            let bytes = t.read("a/b").await.expect("there always is an object");
            let whole = (0..12).any(|seed| bytes == pattern(seed, length(seed)));
            assert!(whole, "{} bytes that no writer wrote", bytes.len());
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(t.keys("").await, ["a/b"], "nothing else may be left behind");
}

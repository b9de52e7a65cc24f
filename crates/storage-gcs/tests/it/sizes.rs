//! Objects of every size on their right path, and uploads that do not come to an end.

use futures::stream::{self, StreamExt};
use icefield_storage::{
    Bytes, ObjectClass, Payload, PutMode, PutOptions, Storage, StorageError, StorageExt,
};
use icefield_testservers::{Fault, Gate, Rule, Verb};

use crate::support::*;

/// Bytes from which an object goes up in a session of its own.
const SESSION: usize = 16 << 20;

/// Parts of a mebibyte; after so many, perhaps an error.
fn payload(parts: usize, broken: bool) -> Payload {
    let parts = (0..=parts).filter_map(move |at| match at {
        at if at < parts => Some(Ok(Bytes::from(vec![at as u8; 1 << 20]))),
        _ => broken.then(|| {
            Err(StorageError::ReadOnly {
                store: "the source".to_owned(),
            })
        }),
    });
    let stream = stream::iter(parts).boxed();
    Payload::Stream { size: None, stream }
}

#[tokio::test]
async fn f95_an_upload_that_breaks_makes_no_object() {
    let server = server();
    let storage = open(&server).await;
    let options = || PutOptions::mode(PutMode::Create).with_class(ObjectClass::Chunk);
    let at = key("chunks/X");
    let broken = storage.put(&at, payload(40, true), options()).await;
    assert!(
        matches!(broken, Err(StorageError::ReadOnly { .. })),
        "{broken:?}"
    );
    assert!(server.world().keys(server.bucket()).is_empty());
    // Nor does one whose future is dropped.
    let gate = Gate::new();
    let held = Rule::new(Fault::Hold(gate.clone())).on(Verb::UploadPart);
    server.switches().inject(held.times(1));
    let writing = tokio::spawn({
        let (storage, at) = (storage.clone(), at.clone());
        async move { storage.put(&at, payload(40, false), options()).await }
    });
    gate.reached_by(1).await;
    writing.abort();
    assert!(writing.await.expect_err("aborted").is_cancelled());
    gate.open();
    settled(&server).await;
    assert!(server.world().keys(server.bucket()).is_empty());
    written(storage.put(&at, payload(40, false), options()).await);
    let (read, _) = storage.read(&at).await.expect("read");
    assert_eq!((read.len(), read[39 << 20]), (40 << 20, 39));
    assert_eq!(server.world().writes(), 1);
}

#[tokio::test]
async fn f96_each_size_takes_its_path() {
    let server = server();
    let storage = open(&server).await;
    let begun = || asked(&server, Verb::BeginUpload).len();
    for (size, sessions) in [
        (0, 0),
        (1, 0),
        (SESSION - 1, 0),
        (SESSION, 1),
        (SESSION + 1, 1),
    ] {
        let before = begun();
        let bytes = Bytes::from(vec![5; size]);
        written(put(&storage, "a", bytes.clone(), PutMode::Overwrite).await);
        assert_eq!(begun() - before, sessions, "{size} bytes");
        assert_eq!(
            storage.head(&key("a")).await.expect("there").size,
            size as u64
        );
        assert!(storage.read(&key("a")).await.expect("read").0 == bytes);
    }
    assert_eq!(
        asked(&server, Verb::UploadPart).len(),
        0,
        "whole objects have no parts"
    );
}

#[tokio::test]
async fn f96_streams_above_a_lowered_limit_go_up_buffer_by_buffer() {
    const LIMIT: usize = 1 << 18;
    let server = server();
    // One byte less than a multiple of what the store wants: the buffer is rounded down to it.
    let settings = settings().with_multipart(LIMIT as u64, 2 * LIMIT as u64 - 1);
    let storage = opened(builder(&server).settings(settings)).await;
    let parts = || asked(&server, Verb::UploadPart).len();
    for (size, wanted) in [
        (0, None),
        (1, None),
        (LIMIT, None),
        (LIMIT + 1, Some(1)),
        (4 * LIMIT, Some(3)),
        (4 * LIMIT + 1, Some(4)),
    ] {
        let before = (asked(&server, Verb::BeginUpload).len(), parts());
        let bytes = Bytes::from(vec![6; size]);
        let pieces: Vec<_> = bytes
            .chunks(1000)
            .map(|it| Ok(Bytes::copy_from_slice(it)))
            .collect();
        let stream = stream::iter(pieces).boxed();
        let payload = Payload::Stream { size: None, stream };
        let stored = storage
            .put(&key("a"), payload, PutMode::Overwrite.into())
            .await;
        written(stored);
        let sessions = asked(&server, Verb::BeginUpload).len() - before.0;
        assert_eq!(sessions, usize::from(wanted.is_some()), "{size} bytes");
        let sent = parts() - before.1;
        let wanted = wanted.unwrap_or(0);
        assert!(
            (wanted..=wanted + 1).contains(&sent),
            "{size} bytes: {sent} parts"
        );
        assert!(storage.read(&key("a")).await.expect("read").0 == bytes);
    }
}

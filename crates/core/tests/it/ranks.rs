//! Arrays that have another rank for a while: nothing of what they held comes back.

use futures::TryStreamExt;
use icefield_core::{ByteRange, Repository, Session, WriteMode};

use crate::edits::{commit, path, writer};
use crate::support::memory;

fn array(shape: &[u64]) -> String {
    let chunks = vec![1; shape.len()];
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{shape:?},"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunks:?}}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
    )
}

async fn set(session: &Session, shape: &[u64]) {
    let document = array(shape).into();
    let at = path("/a");
    let set = session.set_metadata(&at, document, WriteMode::Overwrite);
    assert!(set.await.expect("valid"));
}

/// How many chunks are listed, and whether the one at an index is there.
async fn seen(session: &Session, index: &[u32]) -> (usize, bool) {
    let listed = session.chunks(&path("/a")).expect("an array");
    let listed: Vec<_> = listed.try_collect().await.expect("sound");
    let chunk = session.chunk(&path("/a"), index, ByteRange::All).await;
    (listed.len(), chunk.expect("sound").is_some())
}

#[tokio::test]
async fn an_array_that_had_another_rank_meanwhile_is_empty() {
    for (first, between) in [
        (&[][..], &[0][..]),
        (&[], &[3]),
        (&[], &[2, 2]),
        (&[2], &[]),
        (&[2], &[2, 2]),
        (&[1, 1], &[1]),
    ] {
        let repository = Repository::create(memory()).await.expect("created");
        let session = writer(&repository).await;
        set(&session, first).await;
        let index = vec![0; first.len()];
        let bytes = vec![7; 600].into();
        let at = path("/a");
        let written = session.set_chunk(&at, &index, bytes, WriteMode::Overwrite);
        assert!(written.await.expect("valid"));
        commit(&session).await;

        let session = writer(&repository).await;
        set(&session, between).await;
        set(&session, first).await;
        assert_eq!(
            seen(&session, &index).await,
            (0, false),
            "{first:?} {between:?}"
        );
        commit(&session).await;
        let session = writer(&repository).await;
        assert_eq!(
            seen(&session, &index).await,
            (0, false),
            "{first:?} {between:?}, committed"
        );
    }
}

//! Objects of every size on their right path: one put, or parts, by the limits of the store and the user's.

use futures::stream::{self, StreamExt};
use icefield_storage::{Bytes, Payload, PutMode, Storage, StorageExt};
use icefield_testservers::world::PartLimits;
use icefield_testservers::{Behaviour, Verb};

use crate::support::*;

/// The server's limits, lowered to what a test can reach.
const LIMIT: usize = 6 << 20;
const PART: usize = 5 << 20;

#[tokio::test]
async fn f96_each_size_takes_its_path() {
    let server = server();
    server.switches().set(|it: &mut Behaviour| {
        it.parts = PartLimits {
            max_put: LIMIT,
            ..it.parts
        };
    });
    let storage = open(&server);
    let count = |verb: Verb| {
        let requests = server.requests();
        requests.iter().filter(|it| it.verb == verb).count()
    };
    for (size, puts, parts) in [
        (0, 1, 0),
        (1, 1, 0),
        (LIMIT, 1, 0),
        (LIMIT + 1, 0, 2),
        (2 * PART, 0, 2),
        (2 * PART + 1, 0, 3),
    ] {
        let bytes: Bytes = (0..size).map(|at| (at % 251) as u8).collect();
        // The same bytes as a whole, as a stream of a known size, and as one of an unknown size.
        for known in [None, Some(Some(size as u64)), Some(None)] {
            let before = (count(Verb::Write), count(Verb::UploadPart));
            let payload = match known {
                None => Payload::from(bytes.clone()),
                Some(size) => {
                    let pieces: Vec<_> = bytes.chunks(77_777).collect();
                    let pieces = pieces.into_iter().map(|it| Ok(Bytes::copy_from_slice(it)));
                    let stream = stream::iter(pieces.collect::<Vec<_>>()).boxed();
                    Payload::Stream { size, stream }
                }
            };
            let stored = storage
                .put(&key("a"), payload, PutMode::Overwrite.into())
                .await;
            written(stored);
            let sent = (
                count(Verb::Write) - before.0,
                count(Verb::UploadPart) - before.1,
            );
            assert_eq!(sent, (puts, parts), "{size} bytes, {known:?}");
            let (read, meta) = storage.read(&key("a")).await.expect("read");
            assert!(read == bytes && meta.size == size as u64, "{size} bytes");
        }
    }
    assert_eq!(server.open_uploads(), 0);
}

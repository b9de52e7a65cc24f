//! Keeping what passes by on its way to the reader.

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::{Body, Object, StorageError};

use crate::cache::DiskCache;
use crate::layout::ObjectPaths;

/// Hands an object on, and keeps it once all of it has come. The reader waits for the disk, not for a flush.
pub(crate) async fn keep(cache: &DiskCache, paths: ObjectPaths, object: Object) -> Object {
    let expected = object.range.end.saturating_sub(object.range.start);
    if !cache.takes(expected) {
        return object;
    }
    let (size, range, version) = (
        object.meta.size,
        object.range.clone(),
        object.meta.version.clone(),
    );
    let body = match object.body {
        Body::Bytes(bytes) => {
            let parts = vec![bytes.clone()];
            cache.keep(paths, size, range, version, parts).await;
            Body::Bytes(bytes)
        }
        Body::Stream(stream) => {
            let cache = cache.clone();
            let kept = move |parts| async move {
                cache.keep(paths, size, range, version, parts).await;
            };
            Body::Stream(tee(stream, expected, kept))
        }
    };
    Object { body, ..object }
}

type Parts = BoxStream<'static, Result<Bytes, StorageError>>;

/// Yields what `stream` yields, and at its end, if that was `expected` bytes, hands all parts to `end`.
fn tee<F, E>(stream: Parts, expected: u64, end: F) -> Parts
where
    F: FnOnce(Vec<Bytes>) -> E + Send + 'static,
    E: Future<Output = ()> + Send + 'static,
{
    let begun = (stream, Some((Vec::new(), 0, end)));
    stream::unfold(begun, move |(mut stream, mut gathered)| async move {
        let Some(part) = stream.next().await else {
            if let Some((parts, total, end)) = gathered
                && total == expected
            {
                end(parts).await;
            }
            return None;
        };
        gathered = match (&part, gathered) {
            (Ok(bytes), Some((mut parts, total, end))) => {
                let total = total + bytes.len() as u64;
                parts.push(bytes.clone());
                // A body that is too long is not what the store said it was.
                (total <= expected).then_some((parts, total, end))
            }
            _ => None,
        };
        Some((part, (stream, gathered)))
    })
    .boxed()
}

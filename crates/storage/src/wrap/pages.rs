//! How many requests an object store needs for a list or a delete: one for each started thousand.

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};

/// Objects that an object store lists or deletes with one request.
pub const PAGE: u64 = 1000;

/// Runs `begin` before the 1st, 1001st, … item is given out; if `even_if_empty`, also before the end of a
/// stream without items, as a list costs a request that finds nothing.
pub(super) fn by_page<T: Send + 'static>(
    items: BoxStream<'static, T>,
    even_if_empty: bool,
    begin: impl FnMut() -> BoxFuture<'static, ()> + Send + 'static,
) -> BoxStream<'static, T> {
    let start = (items, begin, 0_u64);
    let pages = stream::unfold(start, move |(mut items, mut begin, seen)| async move {
        let first = even_if_empty && seen == 0;
        if first {
            begin().await;
        }
        let item = items.next().await?;
        if seen % PAGE == 0 && !first {
            begin().await;
        }
        Some((item, (items, begin, seen + 1)))
    });
    pages.boxed()
}

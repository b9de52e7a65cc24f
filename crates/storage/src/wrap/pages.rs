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
    mut begin: impl FnMut() -> BoxFuture<'static, ()> + Send + 'static,
) -> BoxStream<'static, T> {
    let pages = stream::unfold((items, 0_u64), move |(mut items, seen)| {
        let first = (even_if_empty && seen == 0).then(&mut begin);
        let later = (seen % PAGE == 0 && first.is_none()).then(&mut begin);
        async move {
            if let Some(first) = first {
                first.await;
            }
            let item = items.next().await?;
            if let Some(later) = later {
                later.await;
            }
            Some((item, (items, seen + 1)))
        }
    });
    pages.boxed()
}

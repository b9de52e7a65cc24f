//! The list of chunk objects, as a check needs it; it may be read ahead of its use.

use std::sync::Arc;

use futures::channel::mpsc;
use futures::stream::{self, BoxStream, StreamExt};
use futures::{SinkExt, Stream};
use icefield_format::{ChunkId, layout};
use icefield_storage::{Key, ListOptions, ObjectMeta, Prefix, Storage, StorageError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::strays;

/// Objects that are handed over together, and how often so many may wait: about 2 MiB.
const BATCH: usize = 1024;
const BATCHES: usize = 64;

/// An item below `chunks/`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Listed {
    /// A chunk object and its bytes.
    Chunk([u8; 12], u64),
    /// Another object, or a name that is no key.
    Stray(Box<Finding>),
}

/// Chunk objects in the order of their ids.
pub(super) type ChunkList = BoxStream<'static, Result<Listed, CheckError>>;

/// Lists from an id on.
pub(super) fn list(storage: &Arc<dyn Storage>, from: [u8; 12]) -> Result<ChunkList, StorageError> {
    let prefix = Prefix::parse(layout::CHUNKS)?;
    let mut options = ListOptions::prefix(prefix).without_versions();
    let first = layout::chunk_key(ChunkId::from_bytes(from));
    if from != [0; 12] {
        options = options.with_start_after(before(&first)?);
    }
    let items = storage.list(options).filter_map(move |item| {
        let listed = match item {
            Ok(object) if object.key.as_str() < first.as_str() => None,
            Ok(object) => Some(Ok(known(&object))),
            Err(StorageError::UnreadableKey { raw, .. }) if *raw < *first => None,
            Err(StorageError::UnreadableKey { raw, problem }) => {
                let stray = Finding::new(FindingKind::Stray, raw, problem);
                Some(Ok(Listed::Stray(Box::new(stray))))
            }
            Err(error) => Some(Err(error.into())),
        };
        std::future::ready(listed)
    });
    Ok(items.boxed())
}

fn known(object: &ObjectMeta) -> Listed {
    match layout::parse_id_key(object.key.as_str()) {
        Some(layout::IdKey::Chunk(id)) => Listed::Chunk(*id.as_bytes(), object.size),
        _ => Listed::Stray(Box::new(strays::stray(&object.key))),
    }
}

/// A key that sorts right before this one.
fn before(key: &str) -> Result<Key, StorageError> {
    // The last character of an id is 0 or G; without it, the key is shorter and comes first.
    Key::parse(&key[..key.len() - 1]).map_err(StorageError::from)
}

/// Reads a list ahead, within a bound, on a thread of the runtime. Without a runtime it is read when it is used.
pub(super) fn read_ahead(list: ChunkList) -> ChunkList {
    let Ok(runtime) = Handle::try_current() else {
        return list;
    };
    let (mut sender, receiver) = mpsc::channel(BATCHES);
    let task = runtime.spawn(async move {
        let mut batches = list.ready_chunks(BATCH).flat_map(by_outcome);
        while let Some(batch) = batches.next().await {
            if sender.send(batch).await.is_err() {
                break;
            }
        }
    });
    let batches = stream::unfold((receiver, Some(Ahead(task))), next_batch);
    let items = batches.flat_map(|batch| match batch {
        Ok(listed) => stream::iter(listed.into_iter().map(Ok)).left_stream(),
        Err(error) => stream::iter([Err(error)]).right_stream(),
    });
    items.boxed()
}

/// What was listed, or the error that came next: an error takes much more room.
type Batch = Result<Vec<Listed>, CheckError>;
type State = (mpsc::Receiver<Batch>, Option<Ahead>);

fn by_outcome(items: Vec<Result<Listed, CheckError>>) -> impl Stream<Item = Batch> {
    let mut batches = vec![Ok(Vec::with_capacity(items.len()))];
    for item in items {
        match (item, batches.last_mut()) {
            (Ok(listed), Some(Ok(batch))) => batch.push(listed),
            (Ok(listed), _) => batches.push(Ok(vec![listed])),
            (Err(error), _) => batches.push(Err(error)),
        }
    }
    stream::iter(batches)
}

/// Returns what comes next. A list whose task did not get to its end is not a short list.
async fn next_batch((mut receiver, task): State) -> Option<(Batch, State)> {
    if let Some(batch) = receiver.next().await {
        return Some((batch, (receiver, task)));
    }
    let mut task = task?;
    let error = (&mut task.0).await.err()?;
    let error = CheckError::Aborted(error.to_string());
    Some((Err(error), (receiver, None)))
}

/// A task that ends with its reader.
struct Ahead(JoinHandle<()>);

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn id(number: u32) -> [u8; 12] {
        let mut id = [0; 12];
        id[..4].copy_from_slice(&number.to_be_bytes());
        id
    }

    fn chunks(count: u32) -> impl Iterator<Item = Result<Listed, CheckError>> {
        (0..count).map(|number| Ok(Listed::Chunk(id(number), u64::from(number))))
    }

    #[tokio::test]
    async fn a_list_that_is_read_ahead_has_all_in_order() {
        // More than wait at a time.
        let count = (BATCH * (BATCHES + 3)) as u32 + 7;
        let list = read_ahead(stream::iter(chunks(count)).boxed());
        let found: Vec<_> = list.map(|it| it.expect("listed")).collect().await;
        let expected: Vec<_> = chunks(count).map(|it| it.expect("made")).collect();
        assert!(found == expected, "{} of {count}", found.len());
    }

    #[tokio::test]
    async fn errors_come_where_they_are_and_a_panic_is_one() {
        let wrong = || Err(CheckError::Aborted("wrong".to_owned()));
        let items = chunks(3).chain([wrong()]).chain(chunks(2));
        let found: Vec<_> = read_ahead(stream::iter(items).boxed()).collect().await;
        let wrong: Vec<_> = found.iter().map(Result::is_err).collect();
        assert_eq!(wrong, [false, false, false, true, false, false]);
        let panics = stream::iter(chunks(3)).chain(stream::poll_fn(|_| panic!("a bug")));
        let found: Vec<_> = read_ahead(panics.boxed()).collect().await;
        assert!(matches!(found.last(), Some(Err(CheckError::Aborted(_)))));
    }

    #[tokio::test]
    async fn nothing_is_listed_once_the_reader_is_gone() {
        let (sender, mut receiver) = mpsc::unbounded::<()>();
        let endless = stream::repeat_with(move || {
            let _ = sender.unbounded_send(());
            Ok(Listed::Chunk([0; 12], 0))
        });
        let mut list = read_ahead(endless.boxed());
        assert!(list.next().await.is_some());
        drop(list);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let end = loop {
            match receiver.next().now_or_never() {
                Some(Some(())) => {}
                end => break end,
            }
        };
        assert_eq!(end, Some(None), "its source is dropped");
    }
}

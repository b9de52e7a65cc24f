//! Puts of a stream: written as the parts arrive, never collected whole.

use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use icefield_storage::{PutOutcome, StorageError};

use crate::blocking::{Lost, run_with, settle};
use crate::error;
use crate::store::Store;
use crate::temp::Temp;
use crate::write::Order;

/// Bytes gathered for one hop.
const HOP: usize = 1 << 20;

type Parts = BoxStream<'static, Result<Bytes, StorageError>>;

/// Writes a stream to a temporary file, then gives it its name.
pub(crate) async fn put(
    store: &Arc<Store>,
    order: Order,
    size: Option<u64>,
    mut stream: Parts,
) -> Result<PutOutcome, StorageError> {
    let key = order.key.clone();
    let lost = |lost: Lost| lost.to_error("write", key.as_str());
    let order = Arc::new(order);

    let begin = Arc::clone(&order);
    let work = move |store: &Store, (): &mut ()| match store.is_refused(&begin)? {
        true => store.refuse(&begin).map(|_| None),
        false => Temp::create(store, &begin.key).map(Some),
    };
    let ((), begun) = run_with(store, &store.writes, (), work)
        .await
        .map_err(lost)?;
    let Some(mut temp) = begun? else {
        return Ok(PutOutcome::Refused);
    };

    let wrong_length = |found| StorageError::WrongLength {
        key: key.clone(),
        expected: size.unwrap_or(found),
        found,
    };
    let mut gathered = (Vec::new(), 0);
    let mut received = 0;
    loop {
        let part = stream.try_next().await?;
        let last = part.is_none();
        if let Some(part) = part {
            received += part.len() as u64;
            if size.is_some_and(|size| received > size) {
                return Err(wrong_length(received));
            }
            gathered.1 += part.len();
            gathered.0.push(part);
        }
        if (last || gathered.1 >= HOP) && !gathered.0.is_empty() {
            let (parts, _) = std::mem::take(&mut gathered);
            let target = key.clone();
            let work = move |_: &Store, temp: &mut Temp| {
                parts
                    .iter()
                    .try_for_each(|part| temp.write(part))
                    .map_err(|errno| error::of_place("write", target.as_str(), errno))
            };
            let (back, result) = run_with(store, &store.writes, temp, work)
                .await
                .map_err(lost)?;
            result?;
            temp = back;
        }
        if last {
            break;
        }
    }
    if size.is_some_and(|size| received != size) {
        return Err(wrong_length(received));
    }

    let work = move |store: &Store, temp: &mut Temp| store.publish(&order, temp);
    let done = run_with(store, &store.writes, temp, work).await;
    settle(store, &key, done.map(|(_, result)| result))
}

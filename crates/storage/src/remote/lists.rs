//! Lists, page by page.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::Handle;
use crate::{Key, ListOptions, ObjectMeta, StorageError};

struct State {
    handle: Arc<Handle>,
    options: ListOptions,
    /// The token of the next page; `None` after the last one.
    next: Option<Option<String>>,
    last: Option<Key>,
}

pub(super) fn list(
    handle: Arc<Handle>,
    options: ListOptions,
) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
    let state = State {
        handle,
        options,
        next: Some(None),
        last: None,
    };
    let pages = stream::try_unfold(state, |mut state| async move {
        let Some(token) = state.next.take() else {
            return Ok(None);
        };
        let (handle, options) = (&state.handle, &state.options);
        let prefix = options.prefix.to_string();
        let page = handle
            .persist("list", &prefix, || {
                handle.remote.list(options, token.as_deref())
            })
            .await?;
        for object in &page.objects {
            let inside = object.key.is_below(&options.prefix);
            let after = options.start_after.as_ref().max(state.last.as_ref());
            if !inside || after.is_some_and(|after| object.key <= *after) {
                return Err(out_of_order(handle, &object.key));
            }
            state.last = Some(object.key.clone());
        }
        if page.next.is_some() && page.next == token {
            return Err(failed(
                handle,
                "the store names the page that it has just shown as the next one",
            ));
        }
        state.next = page.next.map(Some);
        Ok(Some((
            stream::iter(page.objects.into_iter().map(Ok)),
            state,
        )))
    });
    pages.try_flatten().boxed()
}

fn out_of_order(handle: &Handle, key: &Key) -> StorageError {
    let problem = format!("the store listed {key} where it does not belong in byte order");
    failed(handle, &problem)
}

fn failed(handle: &Handle, problem: &str) -> StorageError {
    StorageError::Failed {
        action: "list",
        target: handle.remote.to_string(),
        source: problem.into(),
    }
}

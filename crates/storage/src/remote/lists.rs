//! Lists, page by page; of a store that keeps to another order, sorted in memory.

use std::collections::HashSet;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::{Handle, Page};
use crate::{Key, ListOptions, ObjectMeta, StorageError};

pub(super) fn list(
    handle: Arc<Handle>,
    options: ListOptions,
) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
    let sorts = handle.settings.sort_lists;
    let pages = Pages {
        handle,
        options,
        next: Some(None),
        last: None,
        handed_out: false,
    };
    let parts = stream::try_unfold(pages, move |mut pages| async move {
        if matches!(pages.next, Some(None)) && sorts {
            return pages.all_sorted(None).await;
        }
        let Some(page) = pages.page().await? else {
            return Ok(None);
        };
        let mut last = pages.options.start_after.as_ref().max(pages.last.as_ref());
        for object in &page {
            if last.is_some_and(|last| object.key <= *last) {
                return match pages.handed_out {
                    false => pages.all_sorted(Some(page)).await,
                    true => Err(pages.out_of_order(&object.key)),
                };
            }
            last = Some(&object.key);
        }
        pages.last = last.cloned();
        pages.handed_out |= !page.is_empty();
        Ok(Some((page, pages)))
    });
    let parts = parts.map_ok(|part| stream::iter(part.into_iter().map(Ok)));
    parts.try_flatten().boxed()
}

/// The pages of a list, each asked for by itself.
struct Pages {
    handle: Arc<Handle>,
    options: ListOptions,
    /// The token of the next page; `None` after the last one.
    next: Option<Option<String>>,
    last: Option<Key>,
    handed_out: bool,
}

/// Entries that are handed out, and what comes after them.
type Part = (Vec<ObjectMeta>, Pages);

impl Pages {
    /// Asks for the next page; `None` after the last one.
    async fn page(&mut self) -> Result<Option<Vec<ObjectMeta>>, StorageError> {
        let Some(token) = self.next.take() else {
            return Ok(None);
        };
        let (handle, options) = (&self.handle, &self.options);
        let prefix = options.prefix.to_string();
        let page = handle.persist("list", &prefix, || {
            handle.remote.list(options, token.as_deref())
        });
        let Page { objects, next } = page.await?;
        if let Some(object) = objects.iter().find(|it| !it.key.is_below(&options.prefix)) {
            let problem = format!("the store listed {}, which was not asked for", object.key);
            return Err(self.failed(&problem));
        }
        if next.is_some() && next == token {
            return Err(
                self.failed("the store names the page that it has just shown as the next one")
            );
        }
        self.next = next.map(Some);
        Ok(Some(objects))
    }

    /// Reads the list to its end, beginning with the first page if that is here, and sorts it.
    async fn all_sorted(
        mut self,
        begun: Option<Vec<ObjectMeta>>,
    ) -> Result<Option<Part>, StorageError> {
        // What lies behind a key by another order is not what lies behind it by ours: it is asked for anew.
        let after = self.options.start_after.take();
        let mut page = begun.filter(|_| after.is_none());
        if page.is_none() {
            self.next = Some(None);
            page = self.page().await?;
        }
        let most = self.handle.settings.list_entries;
        let (mut all, mut tokens, mut pages) = (Vec::new(), HashSet::new(), 0_usize);
        while let Some(part) = page {
            // Entries that come twice would hide that others do not come at all.
            if let Some(Some(token)) = &self.next
                && !tokens.insert(token.clone())
            {
                return Err(self.failed("the store shows a page a second time"));
            }
            pages += 1;
            let wanted = |it: &ObjectMeta| after.as_ref().is_none_or(|after| it.key > *after);
            all.extend(part.into_iter().filter(wanted));
            if all.len() > most || pages > most {
                return Err(StorageError::Unsupported {
                    store: self.handle.remote.to_string(),
                    what: format!(
                        "lists of more than {most} objects: it does not list in byte order, and these are sorted in \
                         memory (`list_entries` sets how many)"
                    ),
                });
            }
            page = self.page().await?;
        }
        all.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        all.dedup_by(|one, other| one.key == other.key);
        Ok(Some((all, self)))
    }

    fn out_of_order(&self, key: &Key) -> StorageError {
        self.failed(&format!(
            "the store listed {key} where it does not belong in byte order: say that its lists have to be sorted \
             (`sort_lists`)"
        ))
    }

    fn failed(&self, problem: &str) -> StorageError {
        StorageError::Failed {
            action: "list",
            target: self.handle.remote.to_string(),
            source: problem.into(),
        }
    }
}

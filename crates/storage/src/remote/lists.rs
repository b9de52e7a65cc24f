//! Lists, page by page; of a store that keeps to another order, sorted in memory.

use std::collections::HashSet;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::{Handle, Page};
use crate::{Key, ListOptions, ObjectMeta, StorageError, UnreadableName};

/// An object, or a name that is no key.
type Entry = Result<ObjectMeta, UnreadableName>;

/// Returns what entries are ordered by.
fn name(entry: &Entry) -> &[u8] {
    match entry {
        Ok(object) => object.key.as_str().as_bytes(),
        Err(unreadable) => unreadable.name(),
    }
}

fn is_after(entry: &Entry, after: &Key) -> bool {
    match entry {
        Ok(object) => object.key > *after,
        Err(unreadable) => unreadable.is_after(after),
    }
}

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
        let after = pages.options.start_after.as_ref();
        let after = after.map(|after| after.as_str().as_bytes());
        let mut last = after.max(pages.last.as_deref());
        for entry in &page {
            if last.is_some_and(|last| name(entry) <= last) {
                return match pages.handed_out {
                    false => pages.all_sorted(Some(page)).await,
                    true => Err(pages.out_of_order(entry)),
                };
            }
            last = Some(name(entry));
        }
        pages.last = last.map(<[u8]>::to_vec);
        pages.handed_out |= !page.is_empty();
        Ok(Some((page, pages)))
    });
    let parts = parts.map_ok(|part| {
        let items = part.into_iter();
        stream::iter(items.map(|entry| entry.map_err(StorageError::from)))
    });
    parts.try_flatten().boxed()
}

/// The pages of a list, each asked for by itself.
struct Pages {
    handle: Arc<Handle>,
    options: ListOptions,
    /// The token of the next page; `None` after the last one.
    next: Option<Option<String>>,
    /// The last name that was handed out.
    last: Option<Vec<u8>>,
    handed_out: bool,
}

/// Entries that are handed out, and what comes after them.
type Part = (Vec<Entry>, Pages);

impl Pages {
    /// Asks for the next page; `None` after the last one.
    async fn page(&mut self) -> Result<Option<Vec<Entry>>, StorageError> {
        let Some(token) = self.next.take() else {
            return Ok(None);
        };
        let (handle, options) = (&self.handle, &self.options);
        let prefix = options.prefix.to_string();
        let page = handle.persist("list", &prefix, || {
            handle.remote.list(options, token.as_deref())
        });
        let Page { entries, next } = page.await?;
        let is_below = |entry: &&Entry| match entry {
            Ok(object) => object.key.is_below(&options.prefix),
            Err(unreadable) => unreadable.is_below(&options.prefix),
        };
        if let Some(entry) = entries.iter().find(|entry| !is_below(entry)) {
            let listed = String::from_utf8_lossy(name(entry));
            let problem = format!("the store listed {listed}, which was not asked for");
            return Err(self.failed(&problem));
        }
        if next.is_some() && next == token {
            return Err(
                self.failed("the store names the page that it has just shown as the next one")
            );
        }
        self.next = next.map(Some);
        Ok(Some(entries))
    }

    /// Reads the list to its end, beginning with the first page if that is here, and sorts it.
    async fn all_sorted(mut self, begun: Option<Vec<Entry>>) -> Result<Option<Part>, StorageError> {
        // The keys behind a key by another order are not those behind it by ours: the page is asked for anew.
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
            let wanted = |entry: &Entry| after.as_ref().is_none_or(|after| is_after(entry, after));
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
        all.sort_unstable_by(|one, other| name(one).cmp(name(other)));
        all.dedup_by(|one, other| name(one) == name(other));
        Ok(Some((all, self)))
    }

    fn out_of_order(&self, entry: &Entry) -> StorageError {
        let listed = String::from_utf8_lossy(name(entry));
        self.failed(&format!(
            "the store listed {listed} where it does not belong in byte order: say that its lists have to be sorted \
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

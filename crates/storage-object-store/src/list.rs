//! Lists: in pages, of stores that list in byte order; else as a whole, which the layer above sorts.

use futures::stream::{StreamExt, TryStreamExt};
use icefield_storage::remote::{Fault, FaultKind, Page};
use icefield_storage::{Key, ListOptions, ObjectMeta, StorageError, UnreadableName};
use object_store::path::Path;

use crate::adapter::Adapter;

/// An object, or a name that is no key.
type Entry = Result<ObjectMeta, UnreadableName>;

/// Returns what entries are ordered by.
fn name(entry: &Entry) -> &[u8] {
    match entry {
        Ok(object) => object.key.as_str().as_bytes(),
        Err(unreadable) => unreadable.name(),
    }
}

/// Entries of a page of a store that lists in order.
const PAGE: usize = 1000;

impl Adapter {
    pub(crate) async fn page(
        &self,
        options: &ListOptions,
        token: Option<&str>,
    ) -> Result<Page, Fault> {
        if !self.options.lists {
            let (store, what) = (
                self.name.clone(),
                "lists: a web server does not say what it has".to_owned(),
            );
            return Err(StorageError::Unsupported { store, what }.into());
        }
        // No object lies below a prefix that is no path.
        let Ok(prefix) = self.path(options.prefix.as_str()) else {
            return Ok(Page::default());
        };
        #[cfg(feature = "azure")]
        if let Some(pages) = &self.pages {
            return self.page_of(pages.as_ref(), options, token).await;
        }
        let after = token.or(options.start_after.as_ref().map(Key::as_str));
        let ordered = self.options.ordered_lists && !self.options.settings.sort_lists;
        let most = match ordered {
            true => PAGE,
            // One more says that there are more than can be sorted.
            false => self.options.settings.list_entries.saturating_add(1),
        };
        let entries = self.collect(options, &prefix, after, ordered, most).await?;
        if ordered && !entries.is_sorted_by(|one, other| name(one) < name(other)) {
            // The next page begins behind the last key: what lies before it would be left out.
            let problem = "its lists are not in byte order, as `ordered_lists` says they are";
            let target = self.target("list", None);
            return Err(target.of_kind(FaultKind::Final, problem.into()));
        }
        // A path of the crate is text.
        let next = entries.last().filter(|_| ordered && entries.len() == most);
        let next = next.map(|last| String::from_utf8_lossy(name(last)).into_owned());
        Ok(Page { entries, next })
    }

    /// Asks for one page; the token is the store's own.
    #[cfg(feature = "azure")]
    async fn page_of(
        &self,
        pages: &dyn object_store::list::PaginatedListStore,
        options: &ListOptions,
        token: Option<&str>,
    ) -> Result<Page, Fault> {
        let path = |key: &str| self.path(key).ok();
        let prefix = path(options.prefix.as_str()).filter(|prefix| !prefix.is_root());
        let prefix = prefix.map(|prefix| format!("{prefix}/"));
        let after = options.start_after.as_ref().map(Key::as_str);
        // Where to begin is not said: by the order of an account with a hierarchical namespace that leaves out others.
        let asked = object_store::list::PaginatedListOptions {
            page_token: token.map(str::to_owned),
            ..Default::default()
        };
        let found = pages.list_paginated(prefix.as_deref(), asked).await;
        let found = found.map_err(|error| self.fault(self.target("list", None), error))?;
        let objects = found.result.objects.into_iter();
        Ok(Page {
            entries: objects
                .filter_map(|meta| self.entry(options, after, &meta))
                .collect(),
            next: found.page_token,
        })
    }

    /// Returns what is told of an object, `None` if it was not asked for: the crate compares prefixes in its own way.
    fn entry(
        &self,
        options: &ListOptions,
        after: Option<&str>,
        meta: &object_store::ObjectMeta,
    ) -> Option<Entry> {
        let location = meta.location.as_ref();
        #[cfg(feature = "azure")]
        let original = self
            .pages
            .as_ref()
            .map(|_| crate::names::original(location));
        #[cfg(feature = "azure")]
        let location = original.as_deref().unwrap_or(location);
        let name = self.below(location)?;
        if after.is_some_and(|after| name <= after) {
            return None;
        }
        match UnreadableName::parse(name.as_bytes(), meta.size) {
            Ok(key) if key.is_below(&options.prefix) => Some(Ok(self.meta(key, meta))),
            Err(unreadable) if unreadable.is_below(&options.prefix) => Some(Err(unreadable)),
            _ => None,
        }
    }

    /// Collects the objects below a prefix and behind a key, so many at most.
    async fn collect(
        &self,
        options: &ListOptions,
        prefix: &Path,
        after: Option<&str>,
        ordered: bool,
        most: usize,
    ) -> Result<Vec<Entry>, Fault> {
        let below = (!prefix.is_root()).then_some(prefix);
        // The store may leave out keys behind a key by an order that is not known.
        let offset = after.filter(|_| ordered);
        let offset = offset.and_then(|after| self.path(after).ok());
        let entries = match &offset {
            Some(offset) => self.store.list_with_offset(below, offset),
            None => self.store.list(below),
        };
        let target = self.target("list", None);
        entries
            .map_err(|error| self.fault(target, error))
            .try_filter_map(|meta| std::future::ready(Ok(self.entry(options, after, &meta))))
            .take(most)
            .try_collect()
            .await
    }
}

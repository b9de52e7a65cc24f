//! Lists: in pages, of stores that list in byte order; else as a whole, which the layer above sorts.

use futures::stream::{StreamExt, TryStreamExt};
use icefield_storage::remote::{Fault, FaultKind, Page};
use icefield_storage::{Key, ListOptions, ObjectMeta, StorageError};
use object_store::path::Path;

use crate::adapter::Adapter;

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
        let after = match token {
            Some(token) => Some(Key::parse(token).map_err(StorageError::from)?),
            None => options.start_after.clone(),
        };
        let ordered = self.options.ordered_lists && !self.options.settings.sort_lists;
        let most = match ordered {
            true => PAGE,
            // One more says that there are more than can be sorted.
            false => self.options.settings.list_entries.saturating_add(1),
        };
        let objects = self
            .collect(options, &prefix, after.as_ref(), ordered, most)
            .await?;
        if ordered && !objects.is_sorted_by(|one, other| one.key < other.key) {
            // The next page begins behind the last key: what lies before it would be left out.
            let problem = "its lists are not in byte order, as `ordered_lists` says they are";
            let target = self.target("list", None);
            return Err(target.of_kind(FaultKind::Final, problem.into()));
        }
        let next = objects.last().filter(|_| ordered && objects.len() == most);
        let next = next.map(|last| last.key.to_string());
        Ok(Page { objects, next })
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
        let after = options.start_after.as_ref();
        // Where to begin is not said: by the order of an account with a hierarchical namespace that leaves out others.
        let asked = object_store::list::PaginatedListOptions {
            page_token: token.map(str::to_owned),
            ..Default::default()
        };
        let found = pages.list_paginated(prefix.as_deref(), asked).await;
        let found = found.map_err(|error| self.fault(self.target("list", None), error))?;
        let keep = |meta: object_store::ObjectMeta| {
            let key = self.key(&meta.location)?;
            let wanted = key.is_below(&options.prefix) && after.is_none_or(|after| key > *after);
            wanted.then(|| self.meta(key, &meta))
        };
        let objects: Vec<_> = found.result.objects.into_iter().filter_map(keep).collect();
        Ok(Page {
            objects,
            next: found.page_token,
        })
    }

    /// Collects the objects below a prefix and behind a key, so many at most.
    async fn collect(
        &self,
        options: &ListOptions,
        prefix: &Path,
        after: Option<&Key>,
        ordered: bool,
        most: usize,
    ) -> Result<Vec<ObjectMeta>, Fault> {
        let below = (!prefix.is_root()).then_some(prefix);
        // What lies behind a key by an order that is not known may be left out by the store.
        let offset = after.filter(|_| ordered);
        let offset = offset.and_then(|after| self.path(after.as_str()).ok());
        let entries = match &offset {
            Some(offset) => self.store.list_with_offset(below, offset),
            None => self.store.list(below),
        };
        let keep = |meta: object_store::ObjectMeta| {
            let key = self.key(&meta.location)?;
            let wanted = key.is_below(&options.prefix) && after.is_none_or(|after| key > *after);
            wanted.then(|| self.meta(key, &meta))
        };
        let target = self.target("list", None);
        entries
            .map_err(|error| self.fault(target, error))
            .try_filter_map(|meta| std::future::ready(Ok(keep(meta))))
            .take(most)
            .try_collect()
            .await
    }
}

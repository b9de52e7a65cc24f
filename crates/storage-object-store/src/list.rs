//! Lists in byte order of stores that may list in any.

use futures::stream::{StreamExt, TryStreamExt};
use icefield_storage::remote::{Fault, Page};
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
        let after = match token {
            Some(token) => Some(Key::parse(token).map_err(StorageError::from)?),
            None => options.start_after.clone(),
        };
        let limit = match self.options.ordered_lists {
            true => PAGE,
            false => self.options.list_entries,
        };
        let mut objects = self
            .collect(options, &prefix, after.as_ref(), limit)
            .await?;
        if self.options.ordered_lists {
            let next = objects.last().filter(|_| objects.len() == limit);
            let next = next.map(|last| last.key.to_string());
            return Ok(Page { objects, next });
        }
        if objects.len() > limit {
            return Err(StorageError::Unsupported {
                store: self.name.clone(),
                what: format!(
                    "lists of more than {limit} objects: it lists in no order, and these are sorted in memory \
                     (`list_entries` sets how many)"
                ),
            }
            .into());
        }
        objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        objects.dedup_by(|one, other| one.key == other.key);
        Ok(Page {
            objects,
            next: None,
        })
    }

    /// Collects the objects below a prefix and behind a key; one more than the limit if the order is unknown.
    async fn collect(
        &self,
        options: &ListOptions,
        prefix: &Path,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<ObjectMeta>, Fault> {
        let below = (!prefix.is_root()).then_some(prefix);
        let offset = after.and_then(|after| self.path(after.as_str()).ok());
        let entries = match &offset {
            Some(offset) => self.store.list_with_offset(below, offset),
            None => self.store.list(below),
        };
        let keep = |meta: object_store::ObjectMeta| {
            let key = self.key(&meta.location)?;
            let wanted = key.is_below(&options.prefix) && after.is_none_or(|after| key > *after);
            wanted.then(|| self.meta(key, &meta))
        };
        let most = limit.saturating_add(usize::from(!self.options.ordered_lists));
        let target = self.target("list", None);
        entries
            .map_err(|error| target.fault(error))
            .try_filter_map(|meta| std::future::ready(Ok(keep(meta))))
            .take(most)
            .try_collect()
            .await
    }
}

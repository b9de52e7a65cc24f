//! The places of inner chunks in shards, by the index that each shard has.

use bytes::Bytes;
use http::StatusCode;
use icefield::ingest::ShardIndex;
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle};
use std::ops::Range;

use crate::failure::Failure;
use crate::object::Object;

/// Bytes of the longest index that is read.
const MAX_INDEX: u64 = 4 << 20;
/// Bytes of the indexes that are kept.
const KEPT: u64 = 32 << 20;

/// A shard by its tag, and the place of its index in it.
type Name = (String, Range<u64>);

#[derive(Clone, Debug)]
struct ByLength;

impl Weighter<Name, Bytes> for ByLength {
    fn weight(&self, name: &Name, index: &Bytes) -> u64 {
        (name.0.len() + index.len()) as u64 + 128
    }
}

/// The indexes of shards that were read and found whole: their entries.
#[derive(Debug)]
pub(crate) struct ShardIndexes(Cache<Name, Bytes, ByLength>);

impl Default for ShardIndexes {
    fn default() -> Self {
        // One part: with several, an index larger than its share of the bound would never be kept.
        let options = quick_cache::OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(1024)
            .weight_capacity(KEPT)
            .build()
            .expect("BUG: all required cache options are given");
        let lifecycle = DefaultLifecycle::default();
        Self(Cache::with_options(
            options,
            ByLength,
            Default::default(),
            lifecycle,
        ))
    }
}

impl ShardIndexes {
    /// Returns the place of an inner chunk in a shard, `None` if the shard does not have it. `name` names the shard in
    /// messages.
    ///
    /// # Errors
    /// An index that cannot be read or is not the one that was written: it says nothing of what is there.
    pub(crate) async fn span(
        &self,
        index: &ShardIndex,
        shard: &Object,
        number: u64,
        name: &str,
    ) -> Result<Option<Range<u64>>, Failure> {
        let damaged = |what: String| Failure::damage(format!("{name} is a damaged shard: {what}"));
        let length = index.length();
        if length > MAX_INDEX {
            let message =
                format!("{name} is a shard with an index of {length} bytes, more than {MAX_INDEX}");
            return Err(Failure::new(
                StatusCode::NOT_IMPLEMENTED,
                "unsupported",
                message,
            ));
        }
        let range = index.range(shard.length).map_err(damaged)?;
        let read = async {
            let bytes = shard.source.read(range.clone()).await?;
            index.entries(&bytes).map_err(damaged)
        };
        let entries = match &shard.tag {
            Some(tag) => {
                let name = (tag.clone(), range.clone());
                self.0.get_or_insert_async(&name, read).await?
            }
            // The bytes may be others at the next read.
            None => read.await?,
        };
        ShardIndex::span(&entries, number, shard.length).map_err(damaged)
    }
}

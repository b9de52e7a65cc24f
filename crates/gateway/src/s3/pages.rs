//! The keys of a version in a view, in the order of their bytes.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt};
use icefield::{ZarrKey, ZarrStore, ZarrStoreError};

use crate::failure::Failure;
use crate::mount::Mount;
use crate::route::View;
use crate::v2;
use crate::versions::Version;

/// Chunks of arrays in Zarr v2 that one list may walk over: their keys are sorted in memory.
const V2_KEYS: usize = 1_000_000;

/// The keys directly below a prefix, and the directories, with a slash at their end.
pub(crate) async fn prefixes_of_view(
    mount: &Mount,
    view: View,
    version: &Version,
    prefix: &str,
) -> Result<Vec<String>, Failure> {
    if view == View::V2 {
        let keys = v2_keys(mount, version, prefix, true).await?;
        return Ok(folded(keys, prefix));
    }
    let (directory, _) = split(prefix);
    let store = ZarrStore::new(version.session.clone());
    let listed = match store.list_dir(directory).await {
        Err(ZarrStoreError::InvalidPrefix { .. }) => return Ok(Vec::new()),
        listed => listed.map_err(Failure::of_read)?,
    };
    let mut all: Vec<String> = listed.keys.into_iter().chain(listed.prefixes).collect();
    all.retain(|key| key.starts_with(prefix));
    all.sort_unstable();
    Ok(all)
}

/// At most `room` keys that begin with a prefix and come after a key.
pub(crate) async fn entries_of_view(
    mount: &Mount,
    view: View,
    version: &Version,
    prefix: &str,
    after: &str,
    room: usize,
) -> Result<Vec<String>, Failure> {
    if view == View::V2 {
        let keys = v2_keys(mount, version, prefix, false).await?;
        return Ok(keys
            .into_iter()
            .filter(|key| key.as_str() > after)
            .take(room)
            .collect());
    }
    let (directory, _) = split(prefix);
    let store = ZarrStore::new(version.session.clone());
    let keys = store.list_prefix(directory);
    let keys = keys.try_filter(|key| {
        let is_wanted = key.starts_with(prefix) && key.as_str() > after;
        std::future::ready(is_wanted)
    });
    match keys.take(room).try_collect().await {
        Err(ZarrStoreError::InvalidPrefix { .. }) => Ok(Vec::new()),
        keys => keys.map_err(Failure::of_read),
    }
}

/// A prefix as a directory, and the beginning of a name in it.
fn split(prefix: &str) -> (&str, &str) {
    prefix.split_at(prefix.rfind('/').map_or(0, |at| at + 1))
}

/// The keys of the view in Zarr v2. Where keys are folded at the next slash, chunks count only of an array whose directory
/// is listed: of others, the documents say that the directory is there.
///
/// # Errors
/// A list that would have to name inner chunks of shards: only the index of each shard knows them, and a list without them
/// would say that they were never written.
async fn v2_keys(
    mount: &Mount,
    version: &Version,
    prefix: &str,
    is_folded: bool,
) -> Result<BTreeSet<String>, Failure> {
    let tree = v2::tree(mount, version).await?;
    let mut keys: BTreeSet<String> = tree
        .documents
        .keys()
        .filter(|key| key.starts_with(prefix))
        .cloned()
        .collect();
    let groups = tree
        .documents
        .keys()
        .filter_map(|key| key.strip_suffix(".zgroup"));
    let consolidated = groups.map(|group| format!("{group}.zmetadata"));
    keys.extend(consolidated.filter(|key| key.starts_with(prefix)));
    let store = ZarrStore::new(version.session.clone());
    for (path, array) in &tree.arrays {
        let directory = format!("{}/", path.as_str().trim_matches('/'));
        let directory = directory.trim_start_matches('/');
        let is_below = directory.starts_with(prefix) && !is_folded;
        let begins_chunks = prefix.strip_prefix(directory).is_some_and(may_begin_name);
        if !is_below && !begins_chunks {
            continue;
        }
        if array.shards.is_some() {
            let message = format!(
                "the inner chunks of shards are not listed, and {path} has shards: list less, or the bucket with Zarr v3"
            );
            return Err(unsupported(message));
        }
        let mut found = store.list_prefix(directory);
        while let Some(key) = found.try_next().await.map_err(Failure::of_read)? {
            let Ok(ZarrKey::Chunk { index, .. }) = ZarrKey::parse(&key, &version.session) else {
                continue;
            };
            let name = match index.is_empty() {
                true => "0".to_owned(),
                false => index
                    .iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join("."),
            };
            let key = format!("{directory}{name}");
            if key.starts_with(prefix) {
                keys.insert(key);
            }
            if keys.len() > V2_KEYS {
                let message = format!("there are more than {V2_KEYS} keys: list less at once");
                return Err(unsupported(message));
            }
        }
    }
    Ok(keys)
}

/// Whether the name of a chunk may begin so. Clients ask for what lies below a chunk that they do not find.
fn may_begin_name(text: &str) -> bool {
    let has_none_other = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    has_none_other && !text.starts_with('.')
}

fn unsupported(message: String) -> Failure {
    Failure::new(http::StatusCode::NOT_IMPLEMENTED, "unsupported", message)
}

/// Keys directly below a prefix, and what the others have in common up to the next slash.
fn folded(keys: BTreeSet<String>, prefix: &str) -> Vec<String> {
    let folded: BTreeSet<String> = keys
        .into_iter()
        .map(|mut key| {
            if let Some(at) = key[prefix.len()..].find('/') {
                key.truncate(prefix.len() + at + 1);
            }
            key
        })
        .collect();
    folded.into_iter().collect()
}

//! Other objects in the store: those of the repository that no ref reaches, and those of other programs.

use std::collections::HashSet;
use std::sync::Arc;

use futures::StreamExt;
use icefield_format::layout::{self, IdKey};
use icefield_format::{ManifestId, SnapshotId};
use icefield_storage::{Key, ListOptions, Prefix, Storage, StorageError};

use super::collected::Garbage;
use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::refs::{Tombstones, key_form};
use crate::Progress;

/// Where local stores keep their locks and temporary files.
const OWN_LOCAL: &str = ".icefield-local";

/// The objects that refs reach.
#[derive(Debug)]
pub(super) struct Reached<'a> {
    pub(super) snapshots: &'a HashSet<SnapshotId>,
    pub(super) manifests: &'a HashSet<ManifestId>,
    /// Snapshots that are gone and whose logs are part of the change of others.
    pub(super) pruned: &'a HashSet<SnapshotId>,
    /// Whether refs are files.
    pub(super) ref_files: bool,
}

/// The objects that refs do not reach.
#[derive(Debug, Default)]
pub(super) struct Others {
    pub(super) garbage: Garbage,
    pub(super) findings: Vec<Finding>,
    /// Snapshots that no ref reaches.
    pub(super) snapshots: Vec<SnapshotId>,
}

/// Lists all objects but chunks, which have a walk of their own.
pub(super) async fn list(
    storage: &Arc<dyn Storage>,
    reached: &Reached<'_>,
    progress: &dyn Progress,
) -> Result<Others, CheckError> {
    let form = key_form(&**storage);
    let chunks = format!("{}/", layout::CHUNKS);
    let end = Prefix::parse(layout::CHUNKS).map_err(StorageError::from)?;
    let behind = Key::parse(&format!("{chunks}~")).map_err(StorageError::from)?;
    let all = ListOptions::default().without_versions();
    let mut others = Others::default();
    let mut tombstones = Tombstones::default();
    for options in [all.clone().with_end_at(end), all.with_start_after(behind)] {
        let mut objects = storage.list(options);
        while let Some(object) = objects.next().await {
            let object = match object {
                Err(StorageError::UnreadableKey { raw, problem }) => {
                    others.findings.extend(unreadable(raw, problem));
                    continue;
                }
                object => object?,
            };
            let key = object.key.as_str();
            if key.starts_with(&chunks) {
                // Objects before them are done; the second walk visits those behind them.
                if key < "chunks/~" {
                    break;
                }
                continue;
            }
            progress.advance(1, 0);
            let garbage = match layout::parse_id_key(key) {
                Some(IdKey::Snapshot(id)) if !reached.snapshots.contains(&id) => {
                    others.snapshots.push(id);
                    Some(layout::SNAPSHOTS)
                }
                Some(IdKey::Manifest(id)) if !reached.manifests.contains(&id) => {
                    Some(layout::MANIFESTS)
                }
                Some(IdKey::TransactionLog(id))
                    if !(reached.snapshots.contains(&id) || reached.pruned.contains(&id)) =>
                {
                    Some(layout::TRANSACTIONS)
                }
                Some(_) => None,
                None => {
                    let is_ref = tombstones.take(&object.key, object.size, form);
                    if !is_ref && !is_known(&object.key) {
                        others.findings.push(stray(&object.key));
                    }
                    None
                }
            };
            if let Some(prefix) = garbage {
                others.garbage.add(prefix, 1, object.size);
            }
        }
    }
    if reached.ref_files {
        others.findings.extend(tombstones.findings());
    }
    Ok(others)
}

/// A finding for an object that is none of the repository's.
pub(super) fn stray(key: &Key) -> Finding {
    let rule = "the format has no object of this name";
    Finding::new(FindingKind::Stray, key.to_string(), rule)
}

/// A finding for what a list cannot give as an object. Below `refs/` it was told with the refs, below `chunks/` it is with
/// the chunks.
pub(super) fn unreadable(raw: String, problem: String) -> Option<Finding> {
    let told = [layout::REFS, layout::CHUNKS].contains(&raw.split('/').next().unwrap_or_default());
    (!told).then(|| Finding::new(FindingKind::Stray, raw, problem))
}

/// Returns whether an object without an id has its place in a repository, or is ours.
fn is_known(key: &Key) -> bool {
    match key.segments().next() {
        // Objects among the refs are reported with the refs.
        Some(layout::OWN | layout::OVERWRITTEN | layout::REFS | OWN_LOCAL) => true,
        _ => key.as_str() == layout::CONFIG || key.as_str() == layout::REPO,
    }
}

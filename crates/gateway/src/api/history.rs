//! Refs, snapshots, and histories in pages.

use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::time::SystemTime;

use http::StatusCode;
use icefield::{MERGED_SNAPSHOT, RefList, SnapshotId, SnapshotInfo};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::answer::ApiAnswer;
use super::values::{number, set_text};
use crate::failure::Failure;
use crate::mount::Mount;
use crate::observation::time;
use crate::target::Target;
use crate::versions::{Freshness, Stability};

/// Branches, and tags, of one answer.
const REFS: usize = 10_000;
/// Snapshots of one page.
const PAGE: u64 = 100;
/// Snapshots that one search looks at.
const SCANNED: usize = 2_000;
/// Snapshots of a cursor that are spelt in it.
const SPELT: usize = 64;
/// Bytes of a message.
const MESSAGE: usize = 16 << 10;
/// Bytes of the metadata of a snapshot.
const METADATA: usize = 64 << 10;

/// Lists branches and tags.
pub(crate) async fn refs(mount: &Mount) -> Result<ApiAnswer, Failure> {
    let refs = mount.repository().refs().await.map_err(Failure::of_read)?;
    let is_truncated = refs.branches.len() > REFS || refs.tags.len() > REFS;
    let entry = |name: &str, tip: &Result<SnapshotId, icefield::RefsError>| {
        json!({
            "name": name,
            "snapshot": tip.as_ref().ok().map(ToString::to_string),
            "error": tip.as_ref().err().map(ToString::to_string),
        })
    };
    let branches = refs.branches.iter().take(REFS);
    let branches: Vec<Value> = branches
        .map(|(name, tip)| entry(name.as_str(), tip))
        .collect();
    let tags = refs.tags.iter().take(REFS);
    let tags: Vec<Value> = tags.map(|(name, tip)| entry(name.as_str(), tip)).collect();
    Ok(json!({ "branches": branches, "tags": tags, "truncated": is_truncated }).into())
}

/// Says which snapshot a version is, and describes it.
pub(crate) async fn resolve(mount: &Mount, text: &str) -> Result<ApiAnswer, Failure> {
    let version = mount.versions.find(text, Freshness::Now).await?;
    let names = RefNames::of(mount).await;
    let info = mount.repository().ledger().snapshot(version.id).await;
    let info = info.map_err(Failure::of_snapshot)?;
    let mut document = snapshot(&info, &names);
    document.remove("id");
    document.insert("ref".to_owned(), text.into());
    document.insert("snapshot".to_owned(), version.id.to_string().into());
    let kind = match version.stability {
        Stability::Fixed => "snapshot",
        Stability::Tag => "tag",
        Stability::Moving => "branch",
    };
    document.insert("kind".to_owned(), kind.into());
    Ok(ApiAnswer {
        document: document.into(),
        snapshot: Some(version.id),
        // The refs beside it move.
        stability: Stability::Moving,
    })
}

/// The names of refs by the snapshots that they point to.
#[derive(Debug, Default)]
pub(crate) struct RefNames(BTreeMap<SnapshotId, Vec<String>>);

impl RefNames {
    /// Reads the refs; none, where they cannot be listed: they only decorate.
    pub(crate) async fn of(mount: &Mount) -> Self {
        let refs = mount.repository().refs().await;
        refs.map(|refs| Self::among(&refs)).unwrap_or_default()
    }

    fn among(refs: &RefList) -> Self {
        let mut names: BTreeMap<_, Vec<String>> = BTreeMap::new();
        let branches = refs
            .branches
            .iter()
            .map(|(name, tip)| (name.to_string(), tip));
        let tags = refs
            .tags
            .iter()
            .map(|(name, tip)| (format!("tag:{name}"), tip));
        for (name, tip) in branches.chain(tags) {
            if let Ok(id) = tip {
                names.entry(*id).or_default().push(name);
            }
        }
        Self(names)
    }
}

/// Describes a snapshot.
pub(crate) fn snapshot(info: &SnapshotInfo, names: &RefNames) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("id".to_owned(), info.id.to_string().into());
    object.insert(
        "parent".to_owned(),
        info.parent_id.map(|id| id.to_string()).into(),
    );
    object.insert("written_at".to_owned(), time(info.written_at).into());
    set_text(&mut object, "message", &info.message, MESSAGE);
    let metadata = json!(info.metadata);
    let length = metadata.to_string().len();
    if length > METADATA {
        object.insert("metadata".to_owned(), json!({}));
        object.insert("metadata_bytes".to_owned(), length.into());
    } else {
        object.insert("metadata".to_owned(), metadata);
    }
    let merged = info.metadata.get(MERGED_SNAPSHOT).and_then(Value::as_str);
    object.insert("merged".to_owned(), json!(Vec::from_iter(merged)));
    object.insert(
        "refs".to_owned(),
        json!(names.0.get(&info.id).cloned().unwrap_or_default()),
    );
    object
}

/// Returns a page of the histories of all refs or of one version, newest first.
pub(crate) async fn page(mount: &Mount, target: &Target) -> Result<ApiAnswer, Failure> {
    let limit = number(target, "limit", PAGE, PAGE)?.max(1);
    let query = target.parameter("q").unwrap_or_default().to_lowercase();
    let refs = mount.repository().refs().await;
    let names = refs.as_ref().map(RefNames::among).unwrap_or_default();
    let tips: Vec<SnapshotId> = match (target.parameter("cursor"), target.parameter("from")) {
        (Some(cursor), _) if !cursor.is_empty() => read_cursor(mount, cursor)?,
        (_, Some(from)) if !from.is_empty() => {
            vec![mount.versions.find(from, Freshness::Now).await?.id]
        }
        _ => {
            let refs = refs.map_err(Failure::of_read)?;
            let tips = refs.branches.into_values().chain(refs.tags.into_values());
            tips.filter_map(Result::ok).collect()
        }
    };
    let mut frontier = Frontier::new(mount);
    for tip in tips {
        frontier.add(tip).await?;
    }
    let (mut found, mut scanned) = (Vec::new(), 0);
    while (found.len() as u64) < limit
        && scanned < SCANNED
        && let Some(info) = frontier.next().await?
    {
        scanned += 1;
        let is_match = query.is_empty()
            || info.message.to_lowercase().contains(&query)
            || info.id.to_string().to_lowercase().starts_with(&query);
        if is_match {
            found.push(Value::from(snapshot(&info, &names)));
        }
    }
    let next = frontier.cursor();
    Ok(json!({ "snapshots": found, "next": next, "scanned": scanned }).into())
}

/// The snapshots that come next, of some histories that join.
struct Frontier<'a> {
    mount: &'a Mount,
    waiting: BinaryHeap<(SystemTime, SnapshotId)>,
    infos: BTreeMap<SnapshotId, SnapshotInfo>,
    seen: HashSet<SnapshotId>,
}

impl<'a> Frontier<'a> {
    fn new(mount: &'a Mount) -> Self {
        Self {
            mount,
            waiting: BinaryHeap::new(),
            infos: BTreeMap::new(),
            seen: HashSet::new(),
        }
    }

    async fn add(&mut self, id: SnapshotId) -> Result<(), Failure> {
        if !self.seen.insert(id) {
            return Ok(());
        }
        let info = self.mount.repository().ledger().snapshot(id).await;
        let info = info.map_err(Failure::of_read)?;
        self.waiting.push((info.written_at, id));
        self.infos.insert(id, info);
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<SnapshotInfo>, Failure> {
        let Some((_, id)) = self.waiting.pop() else {
            return Ok(None);
        };
        let info = self.infos.remove(&id);
        if let Some(parent) = info.as_ref().and_then(|info| info.parent_id) {
            self.add(parent).await?;
        }
        Ok(info)
    }

    /// Where the next page begins: the snapshots that wait, or where they are remembered if a URL cannot hold them.
    fn cursor(self) -> Option<String> {
        let ids: Vec<SnapshotId> = self.waiting.into_iter().map(|(_, id)| id).collect();
        if ids.is_empty() {
            return None;
        }
        let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let text = texts.join(".");
        if ids.len() <= SPELT {
            return Some(text);
        }
        let name = format!("~{:032x}", xxh3_128(text.as_bytes()));
        self.mount.cursors.insert(name.clone(), ids.into());
        Some(name)
    }
}

fn read_cursor(mount: &Mount, text: &str) -> Result<Vec<SnapshotId>, Failure> {
    if text.starts_with('~') {
        let known = mount.cursors.get(text).map(|ids| ids.to_vec());
        let forgotten = "the cursor is forgotten: begin with the first page again";
        return known.ok_or_else(|| Failure::new(StatusCode::GONE, "not-found", forgotten));
    }
    let ids = text
        .split('.')
        .map(str::parse)
        .collect::<Result<Vec<SnapshotId>, _>>();
    ids.map_err(|_| Failure::bad_request("the cursor is none of this server"))
}

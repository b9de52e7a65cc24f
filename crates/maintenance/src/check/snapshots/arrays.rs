//! The arrays of one snapshot, each as far as its parent has it otherwise.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{Extents, Manifest, ManifestId, NodeId, NodeRecord, layout};

use crate::check::compare::{Fresh, LoggedChunks};
use crate::check::error::CheckError;
use crate::check::finding::{Finding, FindingKind};
use crate::check::foreign::{ForeignNeed, VirtualChunks};
use crate::check::job::{Context, Job, Verdict};
use crate::check::logs::Logged;
use crate::check::needed::Need;
use crate::check::nodes;

/// Manifests fetched at a time.
const FETCHES: usize = 4;
/// Bytes of manifests that are looked through about as fast as another thread takes over.
const AT_ONCE: usize = 256 << 10;

pub(super) struct SnapshotCheck<'a> {
    pub(super) cx: &'a Context,
    pub(super) job: &'a Job,
    pub(super) logged: Option<&'a Logged>,
    /// Manifests that were held against what the snapshot says of them.
    pub(super) looked: HashSet<ManifestId>,
    pub(super) here: OnceCell<HashSet<NodeId>>,
    /// The parent's nodes, by id.
    pub(super) before: OnceCell<HashMap<NodeId, usize>>,
    pub(super) verdict: Verdict,
}

impl<'a> SnapshotCheck<'a> {
    pub(super) fn find(&mut self, finding: Finding) {
        self.verdict
            .findings
            .push(finding.of(self.job.snapshot.id()));
    }

    /// The same node in the parent, wherever it was.
    fn before(&self, record: &NodeRecord<'_>) -> Option<NodeRecord<'a>> {
        let parent = self.job.parent.as_deref()?;
        if let Some(same) = parent.node(&record.node_path())
            && same.id() == record.id()
        {
            return Some(same);
        }
        let by_id = self.before.get_or_init(|| {
            let ids = parent.nodes().map(|node| node.id());
            ids.zip(0..).collect()
        });
        by_id
            .get(&record.id())
            .map(|position| parent.node_at(*position))
    }

    pub(super) async fn array(&mut self, record: NodeRecord<'_>) -> Result<(), CheckError> {
        let list = |record: &NodeRecord<'_>| -> Vec<(ManifestId, Extents)> {
            let manifests = record
                .array()
                .into_iter()
                .flat_map(|array| array.manifests());
            manifests.map(|it| (it.id(), it.extents())).collect()
        };
        let before = self.before(&record);
        let now = list(&record);
        let then = before.as_ref().map(&list).unwrap_or_default();
        let same_document = before.is_some_and(|before| before.user_data() == record.user_data());
        if now == then && same_document {
            return Ok(());
        }
        let grid = nodes::grid(&record);
        let id_set = |list: &[(ManifestId, Extents)]| -> HashSet<ManifestId> {
            list.iter().map(|(id, _)| *id).collect()
        };
        let (now_ids, then_ids) = (id_set(&now), id_set(&then));
        let gone: Vec<ManifestId> = (then.iter().map(|(id, _)| *id))
            .filter(|id| !now_ids.contains(id))
            .collect();
        let told = self.logged_chunks(&record);
        self.overlaps(&record, &now, &then_ids).await?;
        let mut fresh = Fresh::new(
            grid.clone(),
            VirtualChunks::new(Arc::clone(&self.cx.locations), self.cx.follow),
        );
        // With nothing to compare them with, manifests are looked at one by one.
        let together = !gone.is_empty();
        let (mut new, mut readable) = (Vec::new(), true);
        let cx = self.cx;
        let fetches = now
            .into_iter()
            .filter(|it| !then.contains(it) || !same_document);
        let mut fetches = stream::iter(fetches)
            .map(|(id, extents)| async move {
                Ok::<_, CheckError>((id, extents, cx.objects.manifest(id).await?))
            })
            .buffered(FETCHES);
        while let Some((id, extents, read)) = fetches.try_next().await? {
            let is_new = !then_ids.contains(&id);
            let Some(stored) = self.check_manifest(id, Some(&record), read, is_new) else {
                readable = false;
                continue;
            };
            self.survey(&record, &stored.manifest, &extents, grid.as_deref());
            if !is_new {
                continue;
            }
            if together {
                new.push(stored.manifest);
            } else {
                fresh = compare(
                    fresh,
                    record.id(),
                    vec![stored.manifest],
                    Vec::new(),
                    told.as_ref(),
                )
                .await?;
            }
        }
        drop(fetches);
        if together {
            let mut old = Vec::with_capacity(gone.len());
            for id in gone {
                match cx.objects.manifest(id).await? {
                    Ok(stored) => old.push(stored.manifest),
                    // Told where it belongs: at the parent.
                    Err(_) => readable = false,
                }
            }
            let told = told.filter(|_| readable);
            fresh = compare(fresh, record.id(), new, old, told.as_ref()).await?;
        }
        self.moved(&record, &mut fresh).await?;
        self.keep(&record, fresh);
        Ok(())
    }

    /// Returns the changes of an array's chunks in the log, if all changes must be in it.
    fn logged_chunks(&self, record: &NodeRecord<'_>) -> Option<LoggedChunks> {
        let logged = self.logged.filter(|logged| logged.complete)?;
        Some(LoggedChunks {
            chunks: logged.chunks(&record.id()),
            resized: logged.resized.contains(&record.id()),
        })
    }

    /// Hands on what came new.
    fn keep(&mut self, record: &NodeRecord<'_>, fresh: Fresh) {
        let snapshot = self.job.snapshot.id();
        if fresh.unsaid.count > 0 {
            let key = layout::transaction_log_key(snapshot);
            let rule = "it does not tell that these chunks changed";
            let finding = Finding::new(FindingKind::LogIncomplete, key, rule);
            let finding = finding.at(record.path());
            self.find(finding.chunks(&fresh.unsaid.first, fresh.unsaid.count));
        }
        self.verdict.virtual_chunks += fresh.foreign.count;
        let faults = fresh.foreign.findings(snapshot, record.path());
        self.verdict.findings.extend(faults);
        if !fresh.foreign.needs.is_empty() {
            let path: Arc<str> = record.path().into();
            let mut all = self
                .cx
                .foreign
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for (object, need) in fresh.foreign.needs {
                let user = Some((snapshot, Arc::clone(&path)));
                let chunks = need.chunks;
                let entry = all.entry(object).or_insert(ForeignNeed {
                    user,
                    chunks: 0,
                    ..need.clone()
                });
                entry.end = entry.end.max(need.end);
                entry.chunks += chunks;
            }
        }
        if fresh.native.is_empty() {
            return;
        }
        let source = {
            let mut sources = self
                .cx
                .sources
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            sources.push((snapshot, record.id()));
            u32::try_from(sources.len() - 1).unwrap_or(u32::MAX)
        };
        let mut needed = self
            .cx
            .needed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (id, end) in fresh.native {
            let detached = self.job.detached;
            needed.add(Need {
                id,
                source,
                end,
                detached,
            });
        }
    }
}

/// Compares on a thread that may take its time, if it takes time.
async fn compare(
    mut fresh: Fresh,
    node: NodeId,
    new: Vec<Arc<Manifest>>,
    old: Vec<Arc<Manifest>>,
    told: Option<&LoggedChunks>,
) -> Result<Fresh, CheckError> {
    let bytes: usize = new.iter().chain(&old).map(|it| it.body_len()).sum();
    let runtime = tokio::runtime::Handle::try_current();
    match (runtime, bytes > AT_ONCE) {
        (Ok(runtime), true) => {
            let told = told.map(|told| LoggedChunks {
                chunks: told.chunks.clone(),
                resized: told.resized,
            });
            let work = move || {
                fresh.compare(&node, &new, &old, told.as_ref());
                fresh
            };
            let done = runtime.spawn_blocking(work).await;
            done.map_err(|error| CheckError::Aborted(error.to_string()))
        }
        _ => {
            fresh.compare(&node, &new, &old, told);
            Ok(fresh)
        }
    }
}

//! The first pass: all that the refs reach is read and checked, and the order of the commits is found.

use std::collections::{HashMap, HashSet};

use icefield_core::{BranchName, TagName, VirtualSource};

use super::containers::Folders;
use super::difference::Loaded;
use super::progress::Progress;
use crate::layout::ObjectKind;
use crate::{AlphaError, AlphaId, AlphaRefs, AlphaRepository, Payload, Rule, Snapshot};

/// The plan of an import.
pub(super) struct Plan {
    pub(super) refs: AlphaRefs,
    /// The snapshots, parents before children.
    pub(super) steps: Vec<Step>,
    /// Where virtual chunks lie.
    pub(super) folders: Folders,
    pub(super) hidden_chunks: u64,
}

/// One snapshot.
pub(super) struct Step {
    pub(super) id: AlphaId,
    pub(super) parent: Option<AlphaId>,
    /// The key of the ref, or of the child, that needs it.
    pub(super) needed_by: String,
}

struct Check<'a> {
    source: &'a AlphaRepository,
    progress: &'a dyn Progress,
    known: HashMap<AlphaId, Option<AlphaId>>,
    /// In the order in which they were met, newest first in each history.
    met: Vec<Step>,
    folders: Folders,
    hidden_chunks: u64,
}

impl Plan {
    pub(super) async fn read(
        source: &AlphaRepository,
        progress: &dyn Progress,
    ) -> Result<Self, AlphaError> {
        let refs = source.refs().await?;
        check_names(&refs)?;
        let mut check = Check {
            source,
            progress,
            known: HashMap::new(),
            met: Vec::new(),
            folders: Folders::default(),
            hidden_chunks: 0,
        };
        let tips = refs.branches.values().filter_map(|files| files.last());
        for tip in tips {
            check.history(tip.file.snapshot, &tip.key).await?;
        }
        for (key, tag) in refs.tags.values() {
            check.history(tag.snapshot, key).await?;
        }
        for files in refs.branches.values() {
            // Newest first: what is below a wrong one was not met.
            for pair in files.windows(2).rev() {
                let [before, file] = pair else { continue };
                let (before, snapshot) = (before.file.snapshot, file.file.snapshot);
                if check.known.get(&snapshot) != Some(&Some(before)) {
                    let rule = Rule::BranchChain { snapshot, before };
                    return Err(AlphaError::damaged(&file.key, rule));
                }
            }
        }
        Ok(Self {
            refs,
            steps: in_order(check.met),
            folders: check.folders,
            hidden_chunks: check.hidden_chunks,
        })
    }
}

impl Check<'_> {
    /// Checks a snapshot and its ancestors, as far as they are not known yet.
    async fn history(&mut self, tip: AlphaId, needed_by: &str) -> Result<(), AlphaError> {
        if self.known.contains_key(&tip) {
            return Ok(());
        }
        let mut needed_by = needed_by.to_owned();
        let mut snapshot = self.source.snapshot(tip, &needed_by).await?;
        loop {
            let parent = self.source.parent(&snapshot).await?;
            let (id, parent_id) = (snapshot.id, parent.as_ref().map(|it| it.id));
            let key = self.source.name_of(ObjectKind::Snapshot, id)?;
            self.snapshot(snapshot).await?;
            self.known.insert(id, parent_id);
            self.met.push(Step {
                id,
                parent: parent_id,
                needed_by,
            });
            self.progress.checked();
            match parent {
                Some(parent) if !self.known.contains_key(&parent.id) => {
                    (snapshot, needed_by) = (parent, key);
                }
                _ => return Ok(()),
            }
        }
    }

    /// Checks what a snapshot says of its chunks.
    async fn snapshot(&mut self, snapshot: Snapshot) -> Result<(), AlphaError> {
        let loaded = Loaded::of(self.source, snapshot).await?;
        // Of one URL, all chunks have the same text.
        let mut seen: HashSet<&str> = HashSet::new();
        for node in loaded.nodes() {
            let Some(array) = &node.array else { continue };
            for (manifest, entry) in loaded.chunks(self.source, node)? {
                let key = || self.source.name_of(ObjectKind::Manifest, manifest);
                if !array.contains(&entry.index) {
                    self.hidden_chunks += 1;
                    continue;
                }
                if let Payload::Virtual { location, .. } = &entry.payload
                    && seen.insert(location)
                {
                    let location = location.to_string();
                    let found = match VirtualSource::new(&location) {
                        Ok(source) => self.folders.add(source.location()),
                        Err(source) => {
                            let rule = Rule::Location { location, source };
                            return Err(AlphaError::unsupported(key()?, rule));
                        }
                    };
                    if !found {
                        let rule = Rule::NoFolder { location };
                        return Err(AlphaError::unsupported(key()?, rule));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Parents before children, and a child right behind its parent where that can be: less is read again.
fn in_order(met: Vec<Step>) -> Vec<Step> {
    let mut children: HashMap<Option<AlphaId>, Vec<Step>> = HashMap::new();
    for step in met {
        children.entry(step.parent).or_default().push(step);
    }
    let mut pending = children.remove(&None).unwrap_or_default();
    pending.reverse();
    let mut steps = Vec::new();
    while let Some(step) = pending.pop() {
        let below = children.remove(&Some(step.id)).unwrap_or_default();
        // The last one pushed is the next one popped: what was met first goes first.
        pending.extend(below.into_iter().rev());
        steps.push(step);
    }
    steps
}

/// Names that no ref can be given today are found before anything is written.
fn check_names(refs: &AlphaRefs) -> Result<(), AlphaError> {
    let branches = refs.branches.iter().filter_map(|(name, files)| {
        let newest = files.last()?;
        let parsed = BranchName::parse_new(name).map(drop);
        // `main` is there already.
        (name != "main").then_some((name, &newest.key, parsed))
    });
    let tags = refs.tags.iter();
    let tags = tags.map(|(name, (key, _))| (name, key, TagName::parse_new(name).map(drop)));
    for (name, key, parsed) in branches.chain(tags) {
        if let Err(source) = parsed {
            let name = name.clone();
            return Err(AlphaError::unsupported(key, Rule::Name { name, source }));
        }
    }
    Ok(())
}

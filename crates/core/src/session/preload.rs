//! Fetching manifests before anybody asks for them.
//!
//! `manifest.preload` of the configuration names arrays by conditions, and a bound on their references in all. Where it
//! is there, opening a session begins to fetch the manifests of these arrays into the cache of decoded objects. Arrays
//! are taken in the order of their paths, whole; one that would exceed the bound is passed over. Readers wait for what is
//! under way instead of fetching it again; what fails is fetched again where it is needed, and fails there.

use std::collections::HashSet;
use std::future::ready;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::config::PreloadCondition;
use icefield_format::{ManifestId, RepositoryConfig, Snapshot};
use icefield_refs::FetchError;

use super::Session;
use crate::SessionError;
use crate::conditions::{ArrayName, Pattern};

/// References of all arrays together, unless the configuration says otherwise.
const MOST_REFS: u32 = 10_000;

/// References of a coordinate at most, unless the configuration says otherwise.
const MOST_REFS_OF_COORDINATE: u32 = 1000;

/// What coordinates are called, as a rule.
const COORDINATE: &str = "(?i)^(x|y|z|t|i|j|time|valid_time|date|step|(r|nav_|grid_)?(lat|lon|latitude|longitude)\
    |lev|level|plev|depth|height|altitude|pressure|band|member)([_-]?(bnds|bounds|[0-9]+))?$";

/// Manifests that are fetched at a time.
const AT_A_TIME: usize = 8;

/// What [`Session::preload`] has seen to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreloadReport {
    /// Arrays that were chosen.
    pub arrays: usize,
    /// Their manifests, which are in memory now.
    pub manifests: usize,
    /// References in these.
    pub refs: u64,
}

#[derive(Debug)]
enum Arrays {
    Any,
    None,
    Fits(Pattern),
    Refs(Bound<u32>, Bound<u32>),
    Or(Vec<Self>),
    And(Vec<Self>),
}

impl Arrays {
    fn of(condition: &PreloadCondition) -> Self {
        let fits = |pattern: Option<Pattern>| pattern.map_or(Self::None, Self::Fits);
        match condition {
            PreloadCondition::True => Self::Any,
            PreloadCondition::False => Self::None,
            PreloadCondition::PathMatches { regex } => fits(Pattern::path(regex)),
            PreloadCondition::NameMatches { regex } => fits(Pattern::name(regex)),
            PreloadCondition::NumRefs { from, to } => Self::Refs(*from, *to),
            PreloadCondition::Or(all) => Self::Or(all.iter().map(Self::of).collect()),
            PreloadCondition::And(all) => Self::And(all.iter().map(Self::of).collect()),
        }
    }

    fn coordinates() -> Self {
        let name = Pattern::name(COORDINATE).map_or(Self::None, Self::Fits);
        let most = Bound::Included(MOST_REFS_OF_COORDINATE);
        Self::And(vec![name, Self::Refs(Bound::Unbounded, most)])
    }

    fn fits(&self, array: &ArrayName<'_>, refs: u64) -> bool {
        match self {
            Self::Any => true,
            Self::None => false,
            Self::Fits(pattern) => pattern.fits(array),
            Self::Refs(from, to) => (from.map(u64::from), to.map(u64::from)).contains(&refs),
            Self::Or(all) => all.iter().any(|one| one.fits(array, refs)),
            Self::And(all) => all.iter().all(|one| one.fits(array, refs)),
        }
    }
}

/// What is fetched early, in the order of the arrays.
type Choice = (PreloadReport, Vec<ManifestId>);

/// Which manifests are fetched early.
#[derive(Debug)]
pub(crate) struct PreloadRules {
    arrays: Arrays,
    most_refs: u64,
}

impl PreloadRules {
    /// Those of a configuration that says anything about it.
    pub(crate) fn of(config: &RepositoryConfig) -> Option<Self> {
        let preload = config.manifest.as_ref()?.preload.as_ref()?;
        let (condition, most) = (preload.preload_if.as_ref(), preload.max_total_refs);
        (condition.is_some() || most.is_some()).then(|| Self {
            arrays: condition.map_or_else(Arrays::coordinates, Arrays::of),
            most_refs: most.unwrap_or(MOST_REFS).into(),
        })
    }

    /// Small coordinates.
    fn usual() -> Self {
        Self {
            arrays: Arrays::coordinates(),
            most_refs: MOST_REFS.into(),
        }
    }

    /// Chooses manifests of a snapshot whose files have no more bytes than the cache has room for.
    fn choose(&self, snapshot: &Snapshot, most_bytes: u64) -> Choice {
        let (mut report, mut chosen) = (PreloadReport::default(), Vec::new());
        // An array may share manifests with another.
        let mut known = HashSet::new();
        let mut bytes = 0_u64;
        for node in snapshot.nodes() {
            let Some(array) = node.array() else { continue };
            let (mut refs, mut new) = (0_u64, Vec::new());
            for manifest in array.manifests() {
                let Some(info) = snapshot.manifest_file(&manifest.id()) else {
                    continue;
                };
                refs += u64::from(info.num_chunk_refs);
                if !known.contains(&info.id) {
                    new.push(info);
                }
            }
            let name = ArrayName {
                path: node.path(),
                dimensions: None,
            };
            if array.manifest_count() == 0 || !self.arrays.fits(&name, refs) {
                continue;
            }
            let more_refs: u64 = new.iter().map(|it| u64::from(it.num_chunk_refs)).sum();
            let sizes = new.iter().map(|it| it.size_bytes);
            let more_bytes = sizes.fold(bytes, u64::saturating_add);
            if report.refs + more_refs > self.most_refs || more_bytes > most_bytes {
                continue;
            }
            bytes = more_bytes;
            report.arrays += 1;
            report.refs += more_refs;
            known.extend(new.iter().map(|it| it.id));
            chosen.extend(new.into_iter().map(|it| it.id));
        }
        report.manifests = chosen.len();
        (report, chosen)
    }
}

impl Session {
    /// Fetches the manifests of arrays that the configuration says are to be fetched early, and waits for them: reading
    /// chunks of these arrays asks for chunks alone then. Where the configuration says nothing, it is those of small
    /// arrays that are named as coordinates are. Uncommitted edits do not matter.
    ///
    /// # Errors
    /// The first manifest that cannot be read. What was fetched stays in memory.
    pub async fn preload(&self) -> Result<PreloadReport, SessionError> {
        let (report, chosen) = self.to_preload()?;
        let objects = &self.shared().objects;
        stream::iter(chosen)
            .map(|id| objects.manifest(id))
            .buffered(AT_A_TIME)
            .try_for_each(|_| ready(Ok(())))
            .await?;
        Ok(report)
    }

    /// Begins to fetch what the configuration says is to be fetched early, in the background. Nothing that fails there
    /// is an error of the session; outside of a runtime, which could go on with it, nothing is fetched.
    pub(crate) fn begin_preload(self) -> Self {
        if self.shared().configs.in_force().preload.is_some()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let session = self.clone();
            runtime.spawn(async move {
                let Ok((_, chosen)) = session.to_preload() else {
                    return;
                };
                let objects = &session.shared().objects;
                let fetched = stream::iter(chosen).map(|id| objects.manifest(id));
                let note = |fetched: Result<_, FetchError>| {
                    if let Err(error) = fetched {
                        tracing::debug!(%error, "a manifest was not fetched early");
                    }
                    ready(())
                };
                fetched.buffered(AT_A_TIME).for_each(note).await;
            });
        }
        self
    }

    fn to_preload(&self) -> Result<Choice, SessionError> {
        let base = Arc::clone(&self.state()?.base);
        let shared = self.shared();
        let (in_force, room) = (shared.configs.in_force(), shared.settings.cache_bytes);
        Ok(match &in_force.preload {
            Some(rules) => rules.choose(base.snapshot(), room),
            None => PreloadRules::usual().choose(base.snapshot(), room),
        })
    }
}

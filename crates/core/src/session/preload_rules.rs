//! Rules of the configuration for manifests that are fetched early.

use std::collections::HashSet;
use std::ops::{Bound, RangeBounds};

use icefield_format::config::PreloadCondition;
use icefield_format::{ManifestId, RepositoryConfig, Snapshot};

use crate::conditions::{ArrayName, Pattern};

/// References of all arrays together, unless the configuration says otherwise.
const MOST_REFS: u32 = 10_000;

/// References of a coordinate at most, unless the configuration says otherwise.
const MOST_REFS_OF_COORDINATE: u32 = 1000;

/// The usual names of coordinates.
const COORDINATE: &str = "(?i)^(x|y|z|t|i|j|time|valid_time|date|step|(r|nav_|grid_)?(lat|lon|latitude|longitude)\
    |lev|level|plev|depth|height|altitude|pressure|band|member)([_-]?(bnds|bounds|[0-9]+))?$";

/// The manifests that [`Session::preload`](crate::Session::preload) has fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreloadReport {
    /// The number of arrays that the rules chose.
    pub arrays: usize,
    /// The number of their manifests, which are in memory now.
    pub manifests: usize,
    /// The number of chunk refs in these manifests.
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

/// The manifests that are fetched early, in the order of the arrays.
pub(super) type Choice = (PreloadReport, Vec<ManifestId>);

/// The rules for manifests that are fetched early.
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
    pub(super) fn usual() -> Self {
        Self {
            arrays: Arrays::coordinates(),
            most_refs: MOST_REFS.into(),
        }
    }

    /// Chooses manifests of a snapshot whose files have no more bytes than the cache has room for.
    pub(super) fn choose(&self, snapshot: &Snapshot, most_bytes: u64) -> Choice {
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

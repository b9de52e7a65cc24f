//! Virtual chunks: whether their locations are any, whether a container covers them, and, where that is wanted, whether
//! their objects are still there.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures::stream::{self, StreamExt};
use icefield_core::repair::foreign_object;
use icefield_core::{Containers, Repository, VirtualChunkError};
use icefield_format::{Checksum, RepositoryConfig, SnapshotId, SpecVersion};
use icefield_storage::{Condition, GetOptions, GetRange, StorageError, with_causes};

use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use crate::Progress;

/// Requests in flight.
const REQUESTS: usize = 16;

/// Foreign objects that are looked at together.
pub(super) const MOST_TOGETHER: usize = 64 << 10;

/// A foreign object, and what tells that it is still the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ForeignObject {
    pub(super) location: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<u32>,
}

impl ForeignObject {
    pub(super) fn of(location: &str, checksum: Option<Checksum<'_>>) -> Self {
        let (etag, last_modified) = match checksum {
            Some(Checksum::ETag(tag)) => (Some(tag.to_owned()), None),
            Some(Checksum::LastModified(seconds)) => (None, Some(seconds)),
            None => (None, None),
        };
        Self {
            location: location.to_owned(),
            etag,
            last_modified,
        }
    }

    /// The object is read as a chunk would be: one byte of it, on the same conditions.
    fn options(&self, end: u64) -> GetOptions {
        let last = end.max(1);
        let mut options = GetOptions::range(GetRange::Bounded(last - 1..last));
        if let Some(tag) = &self.etag {
            options = options.with_if_match(Condition::ETag(tag.clone()));
        }
        if let Some(seconds) = self.last_modified.filter(|seconds| *seconds > 0) {
            // Recorded in whole seconds: any time within that second is the same.
            let end = Duration::from_secs(u64::from(seconds)) + Duration::from_nanos(999_999_999);
            options = options.with_if_unmodified_since(UNIX_EPOCH + end);
        }
        options
    }
}

/// The needed range of a foreign object, and the chunk refs that need it.
#[derive(Clone, Debug)]
pub(super) struct ForeignNeed {
    pub(super) end: u64,
    pub(super) chunks: u64,
    pub(super) index: Vec<u32>,
    pub(super) user: Option<(SnapshotId, Arc<str>)>,
}

/// Foreign objects with what is needed of them.
pub(super) type ForeignNeeds = HashMap<ForeignObject, ForeignNeed>;

/// Foreign objects that do not hold what is referred to; the bytes of those that are only too short.
pub(super) type BadForeign = BTreeMap<ForeignObject, Option<u64>>;

/// The rules that locations of virtual chunks are checked against.
#[derive(Debug)]
pub(super) struct Locations {
    containers: Containers,
    /// Whether the configuration could be read.
    known: bool,
}

impl Locations {
    pub(super) fn new(config: Option<&RepositoryConfig>, version: SpecVersion) -> Self {
        let known = config.is_some();
        let default = RepositoryConfig::default();
        let containers = Containers::of(config.unwrap_or(&default), version);
        Self { containers, known }
    }

    fn judge(&self, location: &str) -> Result<(), Fault> {
        use FindingKind::{VirtualLocationInvalid, VirtualNoContainer};
        let fault = |kind, rule| Err(Fault { kind, rule });
        match self.containers.resolve(location) {
            Err(VirtualChunkError::Location(rule)) => {
                fault(VirtualLocationInvalid, rule.to_string())
            }
            _ if !self.known => Ok(()),
            Err(error) => fault(VirtualNoContainer, with_causes(&error)),
            Ok(parsed) if self.containers.find(&parsed).is_some() => Ok(()),
            Ok(_) => {
                let rule = "no container of the stored configuration covers it";
                fault(VirtualNoContainer, rule.to_owned())
            }
        }
    }

    /// Whether a text is a location at all.
    fn is_location(&self, text: &str) -> bool {
        let resolved = self.containers.resolve(text);
        !matches!(resolved, Err(VirtualChunkError::Location(_)))
    }

    /// Whether a virtual chunk is one that a repair may drop.
    pub(super) fn is_bad(
        &self,
        bad: &BadForeign,
        location: &str,
        end: u64,
        checksum: Option<Checksum<'_>>,
    ) -> bool {
        if !self.is_location(location) {
            return true;
        }
        match bad.get(&ForeignObject::of(location, checksum)) {
            None => false,
            Some(None) => true,
            Some(Some(size)) => end > *size,
        }
    }
}

/// The virtual chunks of one array.
#[derive(Debug)]
pub(super) struct VirtualChunks {
    locations: Arc<Locations>,
    follow: bool,
    last: Option<(String, Result<(), Fault>)>,
    pub(super) count: u64,
    faults: BTreeMap<FindingKind, (String, String, Vec<u32>, u64)>,
    pub(super) needs: ForeignNeeds,
}

#[derive(Clone, Debug)]
struct Fault {
    kind: FindingKind,
    rule: String,
}

impl VirtualChunks {
    pub(super) fn new(locations: Arc<Locations>, follow: bool) -> Self {
        Self {
            locations,
            follow,
            last: None,
            count: 0,
            faults: BTreeMap::new(),
            needs: ForeignNeeds::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        index: &[u32],
        (location, end, checksum): (&str, u64, Option<Checksum<'_>>),
    ) {
        self.count += 1;
        // Neighbours often lie in one object.
        let known = self.last.as_ref().filter(|(last, _)| last == location);
        let verdict = match known {
            Some((_, verdict)) => verdict.clone(),
            None => {
                let verdict = self.locations.judge(location);
                self.last = Some((location.to_owned(), verdict.clone()));
                verdict
            }
        };
        match verdict {
            Err(fault) => {
                let first = || (location.to_owned(), fault.rule.clone(), index.to_vec(), 0);
                self.faults.entry(fault.kind).or_insert_with(first).3 += 1;
            }
            Ok(()) if self.follow => {
                let object = ForeignObject::of(location, checksum);
                let need = self.needs.entry(object).or_insert_with(|| ForeignNeed {
                    end: 0,
                    chunks: 0,
                    index: index.to_vec(),
                    user: None,
                });
                need.end = need.end.max(end);
                need.chunks += 1;
            }
            Ok(()) => {}
        }
    }

    pub(super) fn findings(&self, snapshot: SnapshotId, path: &str) -> Vec<Finding> {
        let of = |(kind, (location, rule, index, count)): (
            &FindingKind,
            &(String, String, Vec<u32>, u64),
        )| {
            let finding = Finding::new(*kind, location, rule);
            finding.of(snapshot).at(path).chunks(index, *count)
        };
        self.faults.iter().map(of).collect()
    }
}

/// Looks whether foreign objects are there, and unchanged; adds those that are not to `bad`.
pub(super) async fn compare(
    repository: &Repository,
    needs: ForeignNeeds,
    bad: &mut BadForeign,
    progress: &dyn Progress,
) -> Result<Vec<Finding>, CheckError> {
    let mut needs: Vec<_> = needs.into_iter().collect();
    needs.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut looks = stream::iter(needs)
        .map(|(object, need)| async move {
            let found = check_object(repository, &object, need.end).await;
            (object, need, found)
        })
        .buffered(REQUESTS);
    let mut findings = Vec::new();
    while let Some((object, need, found)) = looks.next().await {
        progress.advance(1, 0);
        let Err((kind, rule, size)) = found else {
            continue;
        };
        let mut finding =
            Finding::new(kind, &object.location, rule).chunks(&need.index, need.chunks);
        if let Some((snapshot, path)) = &need.user {
            finding = finding.of(*snapshot).at(&**path);
        }
        findings.push(finding);
        if kind != FindingKind::VirtualUnchecked {
            bad.insert(object, size);
        }
    }
    Ok(findings)
}

async fn check_object(
    repository: &Repository,
    object: &ForeignObject,
    end: u64,
) -> Result<(), (FindingKind, String, Option<u64>)> {
    let unchecked =
        |error: &VirtualChunkError| (FindingKind::VirtualUnchecked, with_causes(error), None);
    let (storage, key) =
        (foreign_object(repository, &object.location).await).map_err(|error| unchecked(&error))?;
    match storage.get(&key, object.options(end)).await {
        Ok(_) => Ok(()),
        Err(StorageError::NotFound { .. }) => Err((
            FindingKind::VirtualMissing,
            "there is no such object".to_owned(),
            None,
        )),
        Err(StorageError::PreconditionFailed { .. }) => Err((
            FindingKind::VirtualChanged,
            "it has changed since the reference was made".to_owned(),
            None,
        )),
        Err(StorageError::RangeNotSatisfiable { size, .. }) => Err((
            FindingKind::VirtualShort,
            format!("it has {size} bytes, and chunks end at byte {end}"),
            Some(size),
        )),
        Err(error) => Err(unchecked(&VirtualChunkError::Storage(error))),
    }
}

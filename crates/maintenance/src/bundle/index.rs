//! The two entries of a bundle that are no objects.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use icefield_format::{SnapshotId, SpecVersion};
use serde::{Deserialize, Serialize};

use super::file::{Input, bad};
use crate::copy::CopyError;
use crate::copy::plan::{Plan, SourceRefs};

/// The name of the first entry.
pub(crate) const INDEX: &str = "icefield-bundle.json";
/// The name of the last entry.
pub(crate) const END: &str = "icefield-bundle-end.json";
/// The format that every index names.
const FORMAT: &str = "icefield-bundle";
/// The latest version that is read. A bundle has the version of the format that it is of: programs that know no repositories of
/// spec version 2 say of its bundles that they are newer.
pub(crate) const VERSION: u64 = 2;

/// The content of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleIndex {
    pub(crate) format: String,
    pub(crate) version: u64,
    /// Of the Icechunk format.
    pub(crate) spec_version: u64,
    /// Where it comes from, in words.
    pub(crate) source: String,
    pub(crate) branches: BTreeMap<String, SnapshotId>,
    pub(crate) tags: BTreeMap<String, SnapshotId>,
    pub(crate) deleted_tags: BTreeSet<String>,
    /// The snapshot whose objects were left out.
    pub(crate) since: Option<SnapshotId>,
    /// Snapshots that must be there where it is unpacked.
    pub(crate) requires: BTreeSet<SnapshotId>,
    /// How many snapshots of each ref were taken, if not all.
    pub(crate) depth: Option<usize>,
    /// Snapshots whose parent was left behind.
    pub(crate) shortened: BTreeSet<SnapshotId>,
}

impl BundleIndex {
    pub(crate) fn new(
        source: String,
        spec: SpecVersion,
        refs: &SourceRefs,
        plan: &Plan,
        since: Option<SnapshotId>,
        depth: Option<usize>,
    ) -> Self {
        let branches = refs.branches.iter();
        let tags = refs.tags.iter();
        Self {
            format: FORMAT.to_owned(),
            version: spec as u64,
            spec_version: spec as u64,
            source,
            branches: branches
                .map(|(name, tip)| (name.to_string(), *tip))
                .collect(),
            tags: tags
                .map(|(name, target)| (name.to_string(), *target))
                .collect(),
            deleted_tags: refs.deleted_tags.iter().map(ToString::to_string).collect(),
            since,
            requires: plan.bases.iter().copied().chain(since).collect(),
            depth,
            shortened: crate::copy::shortened(plan).into_iter().collect(),
        }
    }

    /// Returns the version of the Icechunk format; none if this is not what every index is.
    pub(crate) fn spec(&self) -> Option<SpecVersion> {
        let spec = match self.spec_version {
            1 => SpecVersion::V1,
            2 => SpecVersion::V2,
            _ => return None,
        };
        (self.format == FORMAT && self.version == self.spec_version).then_some(spec)
    }
}

/// How a bundle ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BundleEnd {
    /// Entries before this one.
    pub(crate) objects: u64,
    /// Bytes of their contents.
    pub(crate) bytes: u64,
    /// SHA-256 of the file up to the header of this entry, in hexadecimal.
    pub(crate) sha256: String,
}

/// Most bytes of one file of metadata.
pub(crate) const MAX_FILE: u64 = 2 << 30;

/// Most bytes of the index, and of all refs together.
pub(super) const MAX_INDEX: u64 = 64 << 20;

/// Reads the first entry, and says of which version of the format it is, and how many bytes it has.
pub(crate) async fn read_index<R: Read + Send + 'static>(
    input: &mut Input<R>,
) -> Result<(BundleIndex, SpecVersion, u64), CopyError> {
    let entry = match input.next().await {
        Ok(Some(entry)) if entry.name == INDEX => entry,
        Ok(_) => return Err(bad(format!("it does not begin with {INDEX}"))),
        Err(error) => return Err(error),
    };
    let bytes = input.whole(&entry, MAX_INDEX).await?;
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u64,
    }
    let wrong = |error: serde_json::Error| bad(format!("{INDEX}: {error}"));
    // The version first: in a later one the other members may mean something else.
    let version: Versioned = serde_json::from_slice(&bytes).map_err(wrong)?;
    if version.version > VERSION {
        return Err(CopyError::NewerBundle {
            found: version.version,
            supported: VERSION,
        });
    }
    let index: BundleIndex = serde_json::from_slice(&bytes).map_err(wrong)?;
    match index.spec() {
        Some(spec) => Ok((index, spec, entry.size)),
        None => Err(bad(format!("{INDEX} is not that of a bundle"))),
    }
}

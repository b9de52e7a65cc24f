//! Counts of chunks and of their bytes, by their storage: native, inline or virtual.

use std::collections::BTreeMap;

use serde::Serialize;

/// The chunks of arrays, by their storage.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ChunkCounts {
    pub(super) native: ChunkTotal,
    pub(super) inline: ChunkTotal,
    #[serde(rename = "virtual")]
    pub(super) external: ChunkTotal,
    /// Virtual chunks by the prefix of their container; the empty prefix counts chunks outside all containers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) containers: BTreeMap<String, ChunkTotal>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct ChunkTotal {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl ChunkTotal {
    /// Returns the total of one chunk of so many bytes.
    pub(super) fn one(bytes: u64) -> Self {
        Self { count: 1, bytes }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl ChunkCounts {
    pub(super) fn count(&self) -> u64 {
        self.native.count + self.inline.count + self.external.count
    }

    pub(super) fn bytes(&self) -> u64 {
        self.native.bytes + self.inline.bytes + self.external.bytes
    }

    /// Adds one virtual chunk of a container; the empty name stands for no container.
    pub(super) fn add_virtual(&mut self, container: String, bytes: u64) {
        let one = ChunkTotal::one(bytes);
        self.external.add(one);
        self.containers.entry(container).or_default().add(one);
    }

    /// Adds other counts.
    pub(super) fn add(&mut self, other: Self) {
        self.native.add(other.native);
        self.inline.add(other.inline);
        self.external.add(other.external);
        for (container, stored) in other.containers {
            self.containers.entry(container).or_default().add(stored);
        }
    }
}

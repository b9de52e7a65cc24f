//! Manifests: where the bytes of chunks are.

mod entry;
mod wire;

pub use self::entry::{ChunkEntry, Payload};
use self::wire::WireManifest;
use crate::body::decode;
use crate::{AlphaError, Layout, Rule};

/// A manifest: chunks of any number of arrays, sorted by node and coordinates.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    entries: Vec<ChunkEntry>,
}

impl Manifest {
    /// Reads the file of a manifest. The entries may come in any order, but each only once.
    ///
    /// # Errors
    /// [`AlphaError::Damaged`] with this key.
    pub fn decode(bytes: &[u8], layout: Layout, key: &str) -> Result<Self, AlphaError> {
        let wire: WireManifest = decode(bytes, layout, key, "manifest")?;
        let mut entries = wire.chunks.0;
        entries.sort_by(|a, b| (a.node, &a.index[..]).cmp(&(b.node, &b.index[..])));
        for pair in entries.windows(2) {
            if let [one, next] = pair
                && (one.node, &one.index) == (next.node, &next.index)
            {
                let (node, index) = (one.node, one.index.clone());
                return Err(AlphaError::damaged(key, Rule::TwoChunks { node, index }));
            }
        }
        for entry in &entries {
            check_range(entry).map_err(|rule| AlphaError::damaged(key, rule))?;
        }
        Ok(Self { entries })
    }

    /// Returns all entries.
    #[must_use]
    pub fn entries(&self) -> &[ChunkEntry] {
        &self.entries
    }

    /// Returns the chunks of one array.
    #[must_use]
    pub fn of(&self, node: u32) -> &[ChunkEntry] {
        let start = self.entries.partition_point(|entry| entry.node < node);
        let end = self.entries.partition_point(|entry| entry.node <= node);
        &self.entries[start..end]
    }
}

fn check_range(entry: &ChunkEntry) -> Result<(), Rule> {
    let (offset, length) = match entry.payload {
        Payload::Inline(ref bytes) => (0, bytes.len() as u64),
        Payload::Native { offset, length, .. } | Payload::Virtual { offset, length, .. } => {
            (offset, length)
        }
    };
    match length > 0 && offset.checked_add(length).is_some() {
        true => Ok(()),
        false => Err(Rule::Range {
            node: entry.node,
            index: entry.index.clone(),
            offset,
            length,
        }),
    }
}

#[cfg(test)]
mod tests;

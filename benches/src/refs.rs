//! Chunk refs of one array, as many as wanted, and the manifest of them.

use icefield_format::{
    ChunkId, ChunkRef, DecodeLimits, EncodedManifest, Manifest, ManifestEncoder, ManifestId,
    NodeId, Writer,
};
use icefield_storage::{Entropy, SeededEntropy};

/// Which places of the chunk grid have a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All of them.
    Full,
    /// Every other one, at random.
    Half,
    /// All of them first, later one in a hundred, at random: half of the refs each.
    Uneven,
}

/// How long chunks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All the same, as without compression.
    Same,
    /// Each another, as with it.
    Varying,
}

/// Native refs of one array of rank 3, with random chunk ids, in the order of manifests.
#[derive(Debug)]
pub struct Refs {
    /// The manifest's id.
    pub id: ManifestId,
    /// The array.
    pub node: NodeId,
    /// Places that have a ref.
    pub present: Vec<[u32; 3]>,
    /// Places between them that have none, of a full grid behind it.
    pub absent: Vec<[u32; 3]>,
    chunks: Vec<(ChunkId, u64)>,
}

fn random<const N: usize>(entropy: &SeededEntropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

impl Refs {
    /// Makes `count` refs. The outermost dimension of the grid is as long as that takes.
    pub fn new(count: usize, layout: Layout, lengths: Lengths) -> Self {
        let entropy = SeededEntropy::new(count as u64);
        let side = if count < 10_000 { 10 } else { 100 };
        let mut refs = Self {
            id: ManifestId::from_bytes(random(&entropy)),
            node: NodeId::from_bytes(random(&entropy)),
            present: Vec::with_capacity(count),
            absent: Vec::new(),
            chunks: Vec::with_capacity(count),
        };
        let places =
            (0..).flat_map(|z| (0..side).flat_map(move |y| (0..side).map(move |x| [z, y, x])));
        for place in places {
            let one_in = match layout {
                Layout::Half => 2,
                Layout::Uneven if refs.present.len() >= count / 2 => 100,
                Layout::Full | Layout::Uneven => 1,
            };
            if refs.present.len() == count {
                refs.absent.push(place);
                if refs.absent.len() >= 1000 {
                    return refs;
                }
            } else if entropy.below(one_in) == 0 {
                refs.present.push(place);
                let length = match lengths {
                    Lengths::Same => 1 << 20,
                    Lengths::Varying => (1 << 19) + entropy.below(1 << 19),
                };
                refs.chunks
                    .push((ChunkId::from_bytes(random(&entropy)), length));
            } else if entropy.below(one_in) < 2 {
                refs.absent.push(place);
            }
        }
        refs
    }

    /// Encodes them.
    ///
    /// # Panics
    /// If the encoder refuses them.
    pub fn encode(&self) -> EncodedManifest {
        let mut encoder = ManifestEncoder::new(self.id);
        encoder.begin_array(self.node).expect("it is the first");
        for (index, &(id, length)) in self.present.iter().zip(&self.chunks) {
            let chunk = ChunkRef::Native {
                id,
                offset: 0,
                length,
            };
            encoder.push(index, chunk).expect("the refs are in order");
        }
        encoder
            .finish(&Writer::default())
            .expect("the refs are few enough")
    }

    /// Decodes a manifest of them.
    ///
    /// # Panics
    /// If the decoder refuses it.
    pub fn decode(&self, file: &[u8]) -> Manifest {
        Manifest::decode(file, self.id, &DecodeLimits::default()).expect("the encoder made it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_found_and_gaps_are_not() {
        for layout in [Layout::Full, Layout::Half, Layout::Uneven] {
            let refs = Refs::new(1000, layout, Lengths::Varying);
            let manifest = refs.decode(&refs.encode().bytes);
            assert_eq!(manifest.total_refs(), 1000);
            for index in &refs.present {
                assert!(manifest.get(&refs.node, index).unwrap().is_some());
            }
            for index in &refs.absent {
                assert_eq!(manifest.get(&refs.node, index).unwrap(), None);
            }
        }
    }
}

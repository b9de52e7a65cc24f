//! Bytes that do not compress.

use icefield_storage::{Bytes, Entropy, SeededEntropy};

/// Returns bytes that do not compress.
pub fn noise(seed: u64, length: usize) -> Bytes {
    let mut bytes = vec![0; length];
    SeededEntropy::new(seed).fill(&mut bytes);
    bytes.into()
}

//! Bounds on the bytes that are held, and on the requests that are under way.

use icefield_format::{DecodeLimits, SpecVersion};

/// The bounds on memory and on requests of a copy or a bundle.
#[derive(Clone, Debug)]
pub struct CopyBounds {
    /// The number of objects that are transferred at the same time, at least one. Default 16.
    pub requests: usize,
    /// The memory for the ids of chunks, in bytes. Default 64 MiB. With less, manifests or the bundle are read more
    /// than once.
    pub memory: usize,
    /// The limits for decoding the files of the source.
    pub decode_limits: DecodeLimits,
}

impl Default for CopyBounds {
    fn default() -> Self {
        Self {
            requests: 16,
            memory: 64 << 20,
            decode_limits: DecodeLimits::default(),
        }
    }
}

impl CopyBounds {
    /// The same for files of a repository of a spec version.
    pub(crate) fn up_to(&self, latest: SpecVersion) -> Self {
        Self {
            requests: self.requests.max(1),
            memory: self.memory,
            decode_limits: DecodeLimits {
                latest,
                ..self.decode_limits
            },
        }
    }
}

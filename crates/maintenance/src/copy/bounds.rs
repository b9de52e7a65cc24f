//! How much is held, and how much is asked for at a time.

use icefield_format::{DecodeLimits, SpecVersion};

/// How much is held, and how much is asked for at a time.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) requests: usize,
    pub(crate) memory: usize,
    pub(crate) limits: DecodeLimits,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            requests: 16,
            memory: 64 << 20,
            limits: DecodeLimits::default(),
        }
    }
}

impl Bounds {
    /// The same for files of a repository of a spec version.
    pub(crate) fn up_to(&self, latest: SpecVersion) -> Self {
        let limits = DecodeLimits {
            latest,
            ..self.limits
        };
        Self {
            limits,
            ..self.clone()
        }
    }
}

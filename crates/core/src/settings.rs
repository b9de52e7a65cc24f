//! What tunes this process. Nothing here is stored; what is stored is the repository's configuration.

use icefield_format::DecodeLimits;

/// Settings of an open repository. Plain data: print it, compare it, change it with `with_*`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Bytes of decoded snapshots, manifests and transaction logs kept in memory. Default 256 MiB.
    /// An object larger than this is still used, and decoded again the next time.
    pub cache_bytes: u64,
    /// Manifests that one commit sends at a time; at least one. Default 64.
    pub max_requests: usize,
    /// Limits for decoding files, against hostile ones.
    pub decode_limits: DecodeLimits,
    /// Largest `zarr.json` accepted, in bytes. Default 64 MiB.
    pub max_metadata_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            max_requests: 64,
            decode_limits: DecodeLimits::default(),
            max_metadata_bytes: 64 << 20,
        }
    }
}

impl Settings {
    /// Returns the settings with another bound on cached bytes.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Returns the settings with another number of manifests that a commit sends at a time; at least one.
    #[must_use]
    pub fn with_max_requests(mut self, requests: usize) -> Self {
        self.max_requests = requests.max(1);
        self
    }

    /// Returns the settings with other limits for decoding.
    #[must_use]
    pub fn with_decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.decode_limits = limits;
        self
    }
}

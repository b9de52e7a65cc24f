//! Settings of this process. None of them is stored: the repository's configuration is.

use icefield_format::DecodeLimits;

/// Settings of an open repository. A value that can be printed, compared, and changed with `with_*`. Settings tune one
/// process and are not stored; the [`RepositoryConfig`](crate::RepositoryConfig) holds for all processes.
///
/// ```
/// use icefield_core::{ReadSettings, Settings};
///
/// // A small machine that reads long arrays over a slow network.
/// let settings = Settings::default()
///     .with_cache_bytes(64 << 20)
///     .with_reads(ReadSettings::default().with_requests(8));
/// assert_eq!(settings.cache_bytes, 67_108_864);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// The memory for decoded snapshots, manifests and transaction logs, in bytes. Default 256 MiB. An object larger
    /// than this is still used, and decoded again the next time. Chunks are not cached.
    pub cache_bytes: u64,
    /// The number of manifests that one commit sends at the same time; at least one. Default 64.
    pub concurrent_manifests: usize,
    /// The memory for encoded manifests that wait until a commit sends all its objects in one round, in bytes.
    /// Manifests beyond that are stored earlier, while others are encoded. Default 8 MiB.
    pub held_manifest_bytes: usize,
    /// The limits for decoding files, which bound the memory that a hostile file can take.
    pub decode_limits: DecodeLimits,
    /// The largest `zarr.json` that a session accepts, in bytes. Default 64 MiB.
    pub max_metadata_bytes: usize,
    /// The rules by which reads of many chunks become requests.
    pub reads: ReadSettings,
    /// The rules by which small chunks are written together.
    pub packs: PackSettings,
}

/// The rules by which small chunks are written together into objects, the packs. The repository's configuration
/// (`packed_chunk_threshold_bytes`, `pack_size_bytes`) decides for fields that are `None`; without either, the store does:
/// in a [remote](icefield_storage::Capabilities::remote) one, chunks below 1 MiB are packed, in any other one none.
///
/// Packs save requests where a request costs more than the bytes of a chunk, as in most buckets. Readers need no
/// setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackSettings {
    /// The length in bytes below which a chunk is packed, if it is too long for a manifest. 0 packs none.
    pub threshold_bytes: Option<u32>,
    /// The length of a full pack, in bytes.
    pub size_bytes: Option<u32>,
    /// The memory for chunks that wait until their packs are stored, in bytes, for a session and its forks together. A
    /// write waits while there is no room. A pack is at most half as long, whatever its size is set to. Default: two
    /// packs, and at least 64 MiB.
    pub buffered_bytes: Option<usize>,
}

impl PackSettings {
    /// Returns settings that write no packs, whatever the configuration and the store suggest.
    pub fn off() -> Self {
        Self::default().with_threshold(0)
    }

    /// Sets the length in bytes below which chunks are packed; 0 packs none.
    #[must_use]
    pub fn with_threshold(mut self, bytes: u32) -> Self {
        self.threshold_bytes = Some(bytes);
        self
    }

    /// Sets the length of a full pack, in bytes.
    #[must_use]
    pub fn with_size(mut self, bytes: u32) -> Self {
        self.size_bytes = Some(bytes);
        self
    }

    /// Sets the memory for chunks that wait for their packs, in bytes.
    #[must_use]
    pub fn with_buffered_bytes(mut self, bytes: usize) -> Self {
        self.buffered_bytes = Some(bytes);
        self
    }
}

/// The rules by which [`Session::get_many`](crate::Session::get_many) turns reads of many chunks into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSettings {
    /// The largest gap between two chunks of one object that are fetched together, in bytes: the gap is read and thrown
    /// away, which is cheaper than another request. Default 256 KiB.
    pub gap_bytes: u64,
    /// The longest request made of several chunks, in bytes. A chunk that is longer is one request. Default 8 MiB.
    pub request_bytes: u64,
    /// The number of requests of one call that are in flight at the same time, at least one. Default 32.
    pub requests: usize,
    /// The bytes that one call has asked for and not yet handed out; one request may always be in flight. It bounds the
    /// memory of a reader that is slower than the store. Default 64 MiB.
    pub buffered_bytes: u64,
}

impl Default for ReadSettings {
    fn default() -> Self {
        Self {
            gap_bytes: 256 << 10,
            request_bytes: 8 << 20,
            requests: 32,
            buffered_bytes: 64 << 20,
        }
    }
}

impl ReadSettings {
    /// Sets the largest gap between chunks that are fetched together, and the longest such request, both in bytes.
    #[must_use]
    pub fn with_coalescing(mut self, gap_bytes: u64, request_bytes: u64) -> Self {
        (self.gap_bytes, self.request_bytes) = (gap_bytes, request_bytes);
        self
    }

    /// Returns the settings with so many requests in flight, at least one.
    #[must_use]
    pub fn with_requests(mut self, requests: usize) -> Self {
        self.requests = requests.max(1);
        self
    }

    /// Sets the number of requests in flight, at least one, and the bytes that may be asked for and not handed out.
    #[must_use]
    pub fn with_in_flight(mut self, requests: usize, buffered_bytes: u64) -> Self {
        (self.requests, self.buffered_bytes) = (requests.max(1), buffered_bytes);
        self
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            concurrent_manifests: 64,
            held_manifest_bytes: 8 << 20,
            decode_limits: DecodeLimits::default(),
            max_metadata_bytes: 64 << 20,
            reads: ReadSettings::default(),
            packs: PackSettings::default(),
        }
    }
}

impl Settings {
    /// Sets the memory for decoded metadata objects, in bytes.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the number of manifests that a commit sends at the same time; at least one.
    #[must_use]
    pub fn with_concurrent_manifests(mut self, manifests: usize) -> Self {
        self.concurrent_manifests = manifests.max(1);
        self
    }

    /// Sets the memory for manifests that wait for their commit, in bytes.
    #[must_use]
    pub fn with_held_manifest_bytes(mut self, bytes: usize) -> Self {
        self.held_manifest_bytes = bytes;
        self
    }

    /// Sets the rules for reads of many chunks.
    #[must_use]
    pub fn with_reads(mut self, reads: ReadSettings) -> Self {
        self.reads = reads;
        self
    }

    /// Sets the rules for packs.
    #[must_use]
    pub fn with_packs(mut self, packs: PackSettings) -> Self {
        self.packs = packs;
        self
    }

    /// Sets the limits for decoding files.
    #[must_use]
    pub fn with_decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.decode_limits = limits;
        self
    }
}

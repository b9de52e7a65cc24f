//! Settings of this process. None of them is stored: the repository's configuration is.

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
    /// Bytes of encoded manifests that a commit keeps in memory until it sends all its objects in one round. What goes
    /// beyond is stored before that, while others are made. Default 8 MiB.
    pub waiting_bytes: usize,
    /// Limits for decoding files, against hostile ones.
    pub decode_limits: DecodeLimits,
    /// Largest `zarr.json` accepted, in bytes. Default 64 MiB.
    pub max_metadata_bytes: usize,
    /// How reads of many chunks are put together.
    pub reads: ReadSettings,
    /// How small chunks are put together when they are written.
    pub packs: PackSettings,
}

/// How small chunks are put together into objects, the packs. What is not set here, the repository's configuration says
/// (`packed_chunk_threshold_bytes`, `pack_size_bytes`), else the store: a [remote](icefield_storage::Capabilities::remote) one gets
/// packs of chunks below 1 MiB, any other store an object for each chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackSettings {
    /// Chunks that are too long for a manifest, and shorter than this many bytes, are written to packs. 0: none are. Default: the
    /// configuration decides, else the store.
    pub threshold_bytes: Option<u32>,
    /// Bytes of a full pack.
    pub size_bytes: Option<u32>,
    /// Bytes of chunks that a session and its forks keep in memory until their packs are stored. Writes wait where there would be
    /// more. A pack is at most half of that, whatever its size is set to. Default: two packs, and at least 64 MiB.
    pub buffered_bytes: Option<usize>,
}

impl PackSettings {
    /// Returns settings that write no packs, whatever configuration and store suggest.
    pub fn off() -> Self {
        Self::default().with_threshold(0)
    }

    /// Returns the settings with another threshold, in bytes; 0 writes no packs.
    #[must_use]
    pub fn with_threshold(mut self, bytes: u32) -> Self {
        self.threshold_bytes = Some(bytes);
        self
    }

    /// Returns the settings with packs of another size, in bytes.
    #[must_use]
    pub fn with_size(mut self, bytes: u32) -> Self {
        self.size_bytes = Some(bytes);
        self
    }

    /// Returns the settings with another bound on chunks in memory, in bytes.
    #[must_use]
    pub fn with_buffered_bytes(mut self, bytes: usize) -> Self {
        self.buffered_bytes = Some(bytes);
        self
    }
}

/// How reads of many chunks are put together into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSettings {
    /// Chunks of one object are fetched together if no more bytes than this lie between them. Default 256 KiB.
    pub gap_bytes: u64,
    /// Chunks are put together up to this many bytes. One that is longer by itself is one request. Default 8 MiB.
    pub request_bytes: u64,
    /// Requests in flight of one read of many chunks, at least one. Default 32.
    pub requests: usize,
    /// Bytes that one read of many chunks has asked for and not yet handed out; one request may always be in flight.
    /// Default 64 MiB.
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
    /// Returns the settings with other bounds on what is fetched together: bytes between chunks, and of a request.
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

    /// Returns the settings with other bounds on what is in flight: requests, and bytes.
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
            max_requests: 64,
            waiting_bytes: 8 << 20,
            decode_limits: DecodeLimits::default(),
            max_metadata_bytes: 64 << 20,
            reads: ReadSettings::default(),
            packs: PackSettings::default(),
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

    /// Returns the settings with another bound on manifests that wait for their commit, in bytes.
    #[must_use]
    pub fn with_waiting_bytes(mut self, bytes: usize) -> Self {
        self.waiting_bytes = bytes;
        self
    }

    /// Returns the settings with other rules for reads of many chunks.
    #[must_use]
    pub fn with_reads(mut self, reads: ReadSettings) -> Self {
        self.reads = reads;
        self
    }

    /// Returns the settings with other rules for packs.
    #[must_use]
    pub fn with_packs(mut self, packs: PackSettings) -> Self {
        self.packs = packs;
        self
    }

    /// Returns the settings with other limits for decoding.
    #[must_use]
    pub fn with_decode_limits(mut self, limits: DecodeLimits) -> Self {
        self.decode_limits = limits;
        self
    }
}

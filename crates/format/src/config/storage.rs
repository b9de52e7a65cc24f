//! The parts of the configuration that tune access: compression, caches, storage.

use std::num::{NonZeroU16, NonZeroU64};

use serde::{Deserialize, Serialize};

use super::section::{plain_entries, section};

/// The algorithm with which metadata files are compressed. There is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompressionAlgorithm {
    /// Zstandard.
    Zstd,
}

plain_entries!(CompressionAlgorithm = "zstd");

section! { keywise
    /// `compression`: the compression of metadata files.
    CompressionConfig {
        /// The algorithm. Default: zstd.
        algorithm: CompressionAlgorithm = "zstd",
        /// The level of zstd. Default: 3. Where it is not set, this implementation writes manifests and transaction
        /// logs with 1: see [`Writer`](crate::Writer).
        level: u8 = "3",
    }
}

section! { keywise
    /// `caching`: the sizes of the reference implementation's caches, counted in items. This implementation has one
    /// cache, whose size is a setting of the process.
    CachingConfig {
        /// The number of nodes in cached snapshots. Default: 500 000.
        num_snapshot_nodes: u64 = "500000",
        /// The number of chunk refs in cached manifests. Default: 15 000 000.
        num_chunk_refs: u64 = "15000000",
        /// The number of changes in cached transaction logs. Default: 0.
        num_transaction_changes: u64 = "0",
        /// The number of bytes of cached attributes. Default: 0.
        num_bytes_attributes: u64 = "0",
        /// The number of bytes of cached chunks. Default: 0.
        num_bytes_chunks: u64 = "0",
    }
}

section! { keywise
    /// `storage.concurrency`: the division of one object into requests.
    ConcurrencyConfig {
        /// The number of requests for one object at the same time. Default: 18.
        max_concurrent_requests_for_object: NonZeroU16 = "18",
        /// The size of such a request in bytes. Default: 12 582 912.
        ideal_concurrent_request_size: NonZeroU64 = "12582912",
    }
}

section! { keywise
    /// `storage.retries`. The defaults are those of the reference implementation. In icefield only the Python package reads this
    /// section, and a member that is not set leaves the default of the backend (`RetrySettings` of `icefield-storage`).
    RetriesConfig {
        /// The number of attempts of one request. Default: 10.
        max_tries: NonZeroU16 = "10",
        /// The pause before the second attempt, in milliseconds. Default: 100.
        initial_backoff_ms: u32 = "100",
        /// The longest pause, in milliseconds. Default: 180 000.
        max_backoff_ms: u32 = "180000",
    }
}

section! { keywise
    /// `storage`: the use of the store.
    StorageConfig {
        /// The division of objects into requests.
        concurrency: ConcurrencyConfig,
        /// The repetition of requests.
        retries: RetriesConfig,
        /// Whether refs and configuration are replaced under a condition. False loses commits of concurrent writers.
        /// Default: true.
        unsafe_use_conditional_update: bool = "true",
        /// Whether new refs are created under a condition. Default: true.
        unsafe_use_conditional_create: bool = "true",
        /// Whether objects get user metadata. Default: true.
        unsafe_use_metadata: bool = "true",
        /// The storage class of all objects. Default: that of the store.
        storage_class: String,
        /// The storage class of metadata files. Default: that of all objects.
        metadata_storage_class: String,
        /// The storage class of chunks. Default: that of all objects.
        chunks_storage_class: String,
        /// The size in bytes from which an upload is split. Default: 104 857 600.
        minimum_size_for_multipart_upload: u64 = "104857600",
    }
}

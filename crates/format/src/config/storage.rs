//! The parts of the configuration that tune access: compression, caches, storage.

use std::num::{NonZeroU16, NonZeroU64};

use serde::{Deserialize, Serialize};

use super::section::{plain_entries, section};

/// How metadata files are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompressionAlgorithm {
    /// Zstandard.
    Zstd,
}

plain_entries!(CompressionAlgorithm = "zstd");

section! { keywise
    /// `compression`: of metadata files.
    CompressionConfig {
        /// Default: zstd.
        algorithm: CompressionAlgorithm = "zstd",
        /// Default: 3. Where it is not set, this implementation writes manifests and transaction logs with 1: see
        /// [`Writer`](crate::Writer).
        level: u8 = "3",
    }
}

section! { keywise
    /// `caching`: sizes of the reference implementation's caches, counted in items.
    CachingConfig {
        /// Default: 500 000.
        num_snapshot_nodes: u64 = "500000",
        /// Default: 15 000 000.
        num_chunk_refs: u64 = "15000000",
        /// Default: 0.
        num_transaction_changes: u64 = "0",
        /// Default: 0.
        num_bytes_attributes: u64 = "0",
        /// Default: 0.
        num_bytes_chunks: u64 = "0",
    }
}

section! { keywise
    /// `storage.concurrency`: how one object is split into requests.
    ConcurrencyConfig {
        /// Default: 18.
        max_concurrent_requests_for_object: NonZeroU16 = "18",
        /// Bytes. Default: 12 582 912.
        ideal_concurrent_request_size: NonZeroU64 = "12582912",
    }
}

section! { keywise
    /// `storage.retries`. The defaults are those of the reference implementation. In icefield only the Python package reads this
    /// section, and a member that is not set leaves the default of the backend (`RetrySettings` of `icefield-storage`).
    RetriesConfig {
        /// Attempts of one request. Default: 10.
        max_tries: NonZeroU16 = "10",
        /// Milliseconds before the second attempt. Default: 100.
        initial_backoff_ms: u32 = "100",
        /// Milliseconds, the longest pause. Default: 180 000.
        max_backoff_ms: u32 = "180000",
    }
}

section! { keywise
    /// `storage`: how the store is used.
    StorageConfig {
        /// Splitting of requests.
        concurrency: ConcurrencyConfig,
        /// Repetition of requests.
        retries: RetriesConfig,
        /// False: refs and configuration are overwritten without a condition. Default: true.
        unsafe_use_conditional_update: bool = "true",
        /// False: new refs overwrite without a condition. Default: true.
        unsafe_use_conditional_create: bool = "true",
        /// False: objects get no user metadata. Default: true.
        unsafe_use_metadata: bool = "true",
        /// Storage class of all objects. Default: the store's.
        storage_class: String,
        /// Storage class of metadata files. Default: that of all objects.
        metadata_storage_class: String,
        /// Storage class of chunks. Default: that of all objects.
        chunks_storage_class: String,
        /// Bytes from which on an upload is split. Default: 104 857 600.
        minimum_size_for_multipart_upload: u64 = "104857600",
    }
}

//! The whole configuration: read, written, merged.

use bytes::Bytes;
use serde_yaml_ng::Value;

use super::containers::{VirtualChunkContainer, VirtualChunkContainers};
use super::manifest::{ManifestConfig, SplitRule};
use super::section::{Entry, invalid, section};
use super::storage::{CachingConfig, CompressionConfig, StorageConfig};
use crate::budget::Budget;
use crate::error::FormatError;
use crate::file::FormatFile;

/// Largest file that is read.
pub(super) const MAX_FILE_LEN: usize = 4 << 20;
/// Most memory that its values may take, aliases replaced by what they repeat.
pub(super) const MAX_IN_MEMORY: u64 = 32 << 20;

section! { keywise
    /// The settings that are stored with a repository, for all its readers and writers. Fields that are `None` have the
    /// defaults.
    ///
    /// ```
    /// use icefield_format::RepositoryConfig;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = RepositoryConfig::default().with_setting("inline_chunk_threshold_bytes", "1024")?;
    /// assert_eq!(config.inline_chunk_threshold(), 1024);
    /// assert_eq!(RepositoryConfig::decode(&config.encode()?)?, config);
    /// # Ok(())
    /// # }
    /// ```
    RepositoryConfig {
        /// The largest number of bytes of a chunk that is stored in the manifest. Default: 512.
        inline_chunk_threshold_bytes: u16 = "512",
        /// The number of reads of one call that the reference implementation sends at the same time. Default: 10.
        get_partial_values_concurrency: u16 = "10",
        /// The compression of metadata files.
        compression: CompressionConfig,
        /// The number of requests that the reference implementation has in flight. Default: 256.
        max_concurrent_requests: u16 = "256",
        /// The sizes of caches.
        caching: CachingConfig,
        /// The use of the store.
        storage: StorageConfig,
        /// The places of virtual chunks. Default: none.
        virtual_chunk_containers: VirtualChunkContainers = "{}",
        /// The preloading and splitting of manifests.
        manifest: ManifestConfig,
    }
}

impl RepositoryConfig {
    /// Reads the file `config.yaml`. Keys that this crate does not know are kept.
    ///
    /// # Errors
    /// `Empty`; `TooLarge` beyond 4 MiB, or 32 MiB in memory; `Yaml` and `NotAMapping` with the key at fault.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let file = FormatFile::Config;
        if bytes.is_empty() {
            return Err(FormatError::Empty { file });
        }
        if bytes.len() > MAX_FILE_LEN {
            return Err(FormatError::TooLarge {
                file,
                limit: MAX_FILE_LEN as u64,
            });
        }
        let budget = Budget::new(MAX_IN_MEMORY);
        let counted = budget.spend_on(serde_yaml_ng::Deserializer::from_slice(bytes));
        if budget.is_exceeded() {
            return Err(FormatError::TooLarge {
                file,
                limit: MAX_IN_MEMORY,
            });
        }
        counted.map_err(|error| invalid("", error))?;
        let value: Value = serde_yaml_ng::from_slice(bytes).map_err(|error| invalid("", error))?;
        Self::read(value, "")
    }

    /// Returns the content of the file `config.yaml`.
    ///
    /// # Errors
    /// `Yaml` if a value that was kept as it is cannot be written.
    pub fn encode(&self) -> Result<Bytes, FormatError> {
        let value = self.write()?;
        let text = serde_yaml_ng::to_string(&value).map_err(|error| invalid("", error))?;
        Ok(Bytes::from(text))
    }

    /// Tells whether no setting has a value, so that no file needs to be written.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.is_unset()
    }

    /// Returns these settings where they have values, and those of `base` elsewhere.
    ///
    /// Key by key, also inside `compression`, `caching`, `storage` and its parts; but `manifest.preload`,
    /// `manifest.splitting` and the containers replace each other as a whole.
    #[must_use]
    pub fn merged_over(&self, base: &Self) -> Self {
        Entry::merged_over(self, base)
    }

    /// Returns the largest number of bytes of a chunk that is stored in the manifest.
    #[must_use]
    pub fn inline_chunk_threshold(&self) -> u16 {
        self.inline_chunk_threshold_bytes.unwrap_or(512)
    }

    /// Returns the level of zstd, if the configuration has one.
    #[must_use]
    pub fn compression_level(&self) -> Option<u8> {
        self.compression.as_ref()?.level
    }

    /// Returns the rules by which the refs of an array are split over manifests; none by default.
    #[must_use]
    pub fn split_rules(&self) -> &[SplitRule] {
        let splitting = self
            .manifest
            .as_ref()
            .and_then(|manifest| manifest.splitting.as_ref());
        splitting
            .and_then(|splitting| splitting.split_sizes.as_deref())
            .unwrap_or_default()
    }

    /// Returns the containers of virtual chunks that can be read; none by default.
    pub fn containers(&self) -> impl Iterator<Item = &VirtualChunkContainer> {
        self.virtual_chunk_containers
            .iter()
            .flat_map(VirtualChunkContainers::containers)
    }
}

//! Settings that are stored with a repository: `config.yaml` of spec 1, and the configuration in `repo` of spec 2.
//!
//! Every key may be missing or null, which means its default. Unknown keys are kept and written
//! back, except inside conditions, which are replaced as a whole. All known keys are written, in
//! the order below, null where unset.

mod containers;
mod flexbuffers;
mod manifest;
mod packing;
mod repository;
mod second;
mod section;
mod settings;
mod storage;

pub use containers::{
    ContainerEntry, HttpOptions, OpaqueYaml, S3Options, VirtualChunkContainer,
    VirtualChunkContainers, VirtualStore,
};
pub use manifest::{
    DimensionCondition, DimensionRule, ManifestConfig, PreloadCondition, PreloadConfig,
    SplitCondition, SplitRule, SplittingConfig,
};
pub use repository::RepositoryConfig;
pub use section::{Setting, UnknownKeys};
pub use settings::SettingError;
pub use storage::{
    CachingConfig, CompressionAlgorithm, CompressionConfig, ConcurrencyConfig, RetriesConfig,
    StorageConfig,
};

#[cfg(test)]
mod tests;

//! The errors of the layers as the one error.

use super::Error;
use super::classify::Classify;

macro_rules! from_layers {
    ($($(#[$attribute:meta])* $error:ty,)*) => {
        $(
            $(#[$attribute])*
            impl From<$error> for Error {
                fn from(error: $error) -> Self {
                    Self::new(error.kind(), error)
                }
            }
        )*
    };
}

from_layers! {
    icefield_storage::StorageError,
    icefield_storage::KeyError,
    icefield_format::FormatError,
    icefield_format::IdError,
    icefield_format::PathError,
    icefield_core::NameError,
    icefield_core::FetchError,
    icefield_core::RefsError,
    icefield_core::RepositoryError,
    icefield_core::SessionError,
    icefield_core::CommitError,
    icefield_core::RebaseError,
    icefield_core::ForkError,
    icefield_core::NodeMetadataError,
    icefield_zarr_store::ZarrStoreError,
    #[cfg(feature = "cache")]
    icefield_storage_cache::CacheError,
    crate::LocationError,
    crate::RevisionError,
    crate::Unsettled,
    #[cfg(feature = "ingest")]
    icefield_ingest::SourceError,
    #[cfg(feature = "ingest")]
    icefield_ingest::ImportError,
    #[cfg(feature = "ingest")]
    icefield_ingest::ExportError,
    #[cfg(feature = "ingest")]
    icefield_ingest::TreeError,
    #[cfg(feature = "alpha")]
    icefield_alpha::AlphaError,
    #[cfg(feature = "alpha")]
    icefield_alpha::ImportError,
    #[cfg(feature = "maintenance")]
    icefield_maintenance::CopyError,
    #[cfg(feature = "rolling")]
    icefield_rolling::RollingError,
    #[cfg(feature = "maintenance")]
    icefield_maintenance::UsageError,
    #[cfg(feature = "maintenance")]
    icefield_maintenance::RepackError,
}

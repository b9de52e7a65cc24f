//! The facade's error: the error of the layer inside it determines the code, if its type is known.

use icefield::format::{FormatError, IdError, PathError};
use icefield::maintenance::{CollectError, ExpireError};
use icefield::storage::{KeyError, StorageError};
use icefield::{
    CommitError, FetchError, ForkBlobError, ForkError, LocationError, NameError, NodeMetadataError,
    RebaseError, RefsError, RepositoryError, RevisionError, SessionError, VirtualChunkError,
    VirtualRefsError, ZarrStoreError,
};

use super::maintenance::code_of_kind;
use super::{Coded, Failure};

macro_rules! known {
    ($error:expr; $($layer:ty),* $(,)?) => {
        $(if let Some(layer) = $error.downcast_ref::<$layer>() {
            return layer.detailed(Self::of(layer.code(), layer));
        })*
    };
}

impl From<icefield::Error> for Failure {
    fn from(error: icefield::Error) -> Self {
        known!(error;
            StorageError, KeyError, FormatError, IdError, PathError, NameError, FetchError, RefsError,
            RepositoryError, SessionError, CommitError, RebaseError, ForkError, NodeMetadataError,
            ZarrStoreError, LocationError, RevisionError, ForkBlobError, VirtualChunkError,
            VirtualRefsError, CollectError, ExpireError,
        );
        if let Some(failure) = error.downcast_ref::<Self>() {
            return failure.clone();
        }
        Self::of(code_of_kind(error.kind()), &error)
    }
}

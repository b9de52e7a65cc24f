//! Errors of virtual chunks.

use icefield::{ErrorKind, VirtualChunkError, VirtualRefsError};

use super::{Coded, Failure, failures_from};

failures_from!(VirtualChunkError, VirtualRefsError);

impl Coded for VirtualChunkError {
    fn code(&self) -> &'static str {
        match self {
            Self::Location(_) | Self::Key(_) => "invalid-virtual-ref",
            Self::NoContainer | Self::NoContainerNamed { .. } => "no-container-for-virtual-chunk",
            Self::NotGranted { .. } | Self::NoGrant => "unauthorized-virtual-chunk-container",
            Self::Open { source, .. } => match (source.downcast_ref(), source.downcast_ref()) {
                (Some(failure), _) => Failure::kind(failure),
                // The grant is missing, or does not allow a setting of the repository.
                (_, Some(error)) if icefield::Error::kind(error) == ErrorKind::Invalid => {
                    "storage-config"
                }
                _ => "virtual-chunk-fetch",
            },
            Self::Changed => "virtual-chunk-modified",
            Self::Truncated { .. } => "invalid-object-size",
            _ => "virtual-chunk-fetch",
        }
    }
}

impl Coded for VirtualRefsError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoContainer { .. } => "no-container-for-virtual-chunk",
            Self::OutOfGrid { .. } => "invalid-chunk-index",
            _ => "invalid-virtual-ref",
        }
    }
}

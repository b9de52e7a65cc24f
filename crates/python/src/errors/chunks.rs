//! Chunks that lie in foreign objects.

use icefield::{VirtualChunkError, VirtualRefsError};

use super::{Coded, Failure, failures_from};

failures_from!(VirtualChunkError, VirtualRefsError);

impl Coded for VirtualChunkError {
    fn code(&self) -> &'static str {
        match self {
            Self::Location(_) | Self::Key(_) => "invalid-virtual-ref",
            Self::NoContainer => "no-container-for-virtual-chunk",
            Self::NotGranted { .. } | Self::NoGrant => "unauthorized-virtual-chunk-container",
            Self::Open { source, .. } => source
                .downcast_ref()
                .map_or("virtual-chunk-fetch", Failure::kind),
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

//! Nothing: the manifest is all there is.

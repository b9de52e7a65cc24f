//! The Zarr v3 key-value view of an icefield session.

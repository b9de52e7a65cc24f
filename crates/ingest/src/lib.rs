//! Readers and writers that move Zarr hierarchies in and out of icefield repositories.

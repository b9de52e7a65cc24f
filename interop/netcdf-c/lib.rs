//! Has no code: cargo needs a target beside the manifest, which pins the source of netCDF-C.

//! Transactional, versioned storage for n-dimensional arrays, in the Icechunk format.

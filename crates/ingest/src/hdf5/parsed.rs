//! The result of parsing a part of a file.

use hdf5_reader::error::Error;

/// The contents of a part of the file, or why it cannot be understood.
pub(super) type Parsed<T> = Result<T, Error>;

/// Returns the error of bytes that break a rule.
pub(super) fn invalid(rule: impl Into<String>) -> Error {
    Error::InvalidData(rule.into())
}

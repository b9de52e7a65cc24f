//! What parsing a part of a file returns.

use hdf5_reader::error::Error;

/// What a part of the file says, or why it cannot be understood.
pub(super) type Parsed<T> = Result<T, Error>;

/// Returns the error of bytes that break a rule.
pub(super) fn invalid(rule: impl Into<String>) -> Error {
    Error::InvalidData(rule.into())
}

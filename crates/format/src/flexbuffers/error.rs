//! The errors of FlexBuffers documents.

/// Tells why bytes are not the FlexBuffers form of a JSON value, or why a value has none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlexBuffersError {
    /// There is no root: fewer than three bytes, or a root that does not fit.
    #[error("the document has no root value")]
    NoRoot,
    /// An offset, a length or a text leads out of the document.
    #[error("a value at byte {at} leads out of the document")]
    OutOfBounds {
        /// Where the value is named.
        at: usize,
    },
    /// A type that does not exist, or that JSON has not.
    #[error("a value at byte {at} has the type {found}, which no JSON value has")]
    Type {
        /// Where the value is named.
        at: usize,
        /// The type.
        found: u8,
    },
    /// A width that does not exist, or that a float cannot have.
    #[error("a value at byte {at} has the impossible width {width}")]
    Width {
        /// Where the value is named.
        at: usize,
        /// Its width in bytes.
        width: u64,
    },
    /// A text is not UTF-8.
    #[error("the text at byte {at} is not UTF-8")]
    Utf8 {
        /// Where the text begins.
        at: usize,
    },
    /// A map has a key twice.
    #[error("a map has the key {0:?} twice")]
    DuplicateKey(String),
    /// Values are nested too deeply.
    #[error("values are nested more than {limit} deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The value would take more memory than allowed.
    #[error("the value would take more memory than allowed")]
    TooLarge,
    /// A key that is to be written has a zero byte, with which keys end.
    #[error("the key {0:?} has a zero byte, with which keys end")]
    ZeroInKey(String),
}

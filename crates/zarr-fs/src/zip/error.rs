//! The rules that a zip file must keep to be read, or written, as a tree.

use std::io;

use crate::{KeyError, TreeKey};

/// The reason why a zip file is refused. Entries are named as in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZipError {
    /// The file cannot be read or written.
    #[error("the file cannot be read or written")]
    Io(#[source] io::Error),
    /// The structure of the file is damaged, or it is no zip file.
    #[error("it is no zip file, or damaged: {problem}")]
    Damaged {
        /// The problem.
        problem: String,
    },
    /// More entries than the limit.
    #[error("it has more than {limit} entries; raise the limit if it is to be trusted")]
    TooManyEntries {
        /// The limit.
        limit: u64,
    },
    /// The names of the entries are longer than the limit, together.
    #[error(
        "the names of its entries have more than {limit} bytes; raise the limit if it is to be trusted"
    )]
    NamesTooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// An entry that is larger than the limit.
    #[error(
        "entry {name:?} has {size} bytes, more than {limit}; raise the limit if it is to be trusted"
    )]
    EntryTooLarge {
        /// The entry.
        name: String,
        /// Its bytes, decompressed.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An entry that grows more than the limit.
    #[error(
        "entry {name:?} grows from {compressed} to {size} bytes, more than {limit} times; raise the limit if it is to be trusted"
    )]
    RatioTooHigh {
        /// The entry.
        name: String,
        /// Its bytes in the file.
        compressed: u64,
        /// Its bytes, decompressed.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A name that is not UTF-8.
    #[error("the name of an entry is not UTF-8: {name:?}")]
    NotUtf8 {
        /// The name, with what is not UTF-8 replaced.
        name: String,
    },
    /// A name that would lead out of the tree, or is no key for another reason.
    #[error("the name of an entry is no key")]
    Name(#[from] KeyError),
    /// A backslash, which some programs take for a separator.
    #[error("entry {name:?} has a backslash in its name, which programs take for different things")]
    Backslash {
        /// The entry.
        name: String,
    },
    /// Two entries of one name.
    #[error(
        "it has the entry {name:?} twice; open it such that the last one counts, if it was written so"
    )]
    Duplicate {
        /// The entry.
        name: String,
    },
    /// Two entries whose names differ in case alone.
    #[error("it has the entries {first:?} and {second:?}, which differ in case alone")]
    CaseCollision {
        /// One entry.
        first: String,
        /// The other one.
        second: String,
    },
    /// An entry below another one.
    #[error("it has the entry {below:?} below the entry {name:?}")]
    BelowAValue {
        /// The upper entry.
        name: String,
        /// The lower entry.
        below: String,
    },
    /// An encrypted entry.
    #[error("entry {name:?} is encrypted")]
    Encrypted {
        /// The entry.
        name: String,
    },
    /// A method that is neither stored nor deflated.
    #[error(
        "entry {name:?} is compressed by method {method}; only stored and deflated entries are read"
    )]
    Method {
        /// The entry.
        name: String,
        /// The number of the method.
        method: u16,
    },
    /// A symbolic link or another special file.
    #[error("entry {name:?} is a symbolic link or special file")]
    Special {
        /// The entry.
        name: String,
    },
    /// Two entries share bytes.
    #[error("entries {first:?} and {second:?} overlap")]
    Overlap {
        /// The entry that begins first.
        first: String,
        /// The entry that begins inside it.
        second: String,
    },
    /// A stored entry whose two sizes differ.
    #[error(
        "entry {name:?} is stored as it is, and yet has {compressed} bytes in the file and {size} without"
    )]
    SizesDiffer {
        /// The entry.
        name: String,
        /// Bytes in the file.
        compressed: u64,
        /// Bytes of the value.
        size: u64,
    },
    /// The bytes are not those that were put in.
    #[error("entry {name:?} is damaged: {problem}")]
    Content {
        /// The entry.
        name: String,
        /// The problem.
        problem: String,
    },
    /// The same key was to be written a second time.
    #[error("{key} was written already, and an entry of a zip file cannot be replaced")]
    WrittenTwice {
        /// The key.
        key: TreeKey,
    },
    /// A write failed before; what is there has no end.
    #[error("an earlier write failed: the file cannot be completed")]
    Broken,
}

impl From<rawzip::Error> for ZipError {
    fn from(error: rawzip::Error) -> Self {
        match error.into_kind() {
            rawzip::ErrorKind::IO(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Self::Io(error)
            }
            kind => Self::Damaged {
                problem: kind.to_string(),
            },
        }
    }
}

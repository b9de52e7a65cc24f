//! Errors of reading a source.

use std::io;

use icefield_core::{MetadataError, NodePath};
use icefield_zarr_fs::ZipError;

/// The reason why a source could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// There is nothing.
    #[error("{name} does not exist")]
    NotFound {
        /// The source, or the part of it.
        name: String,
    },
    /// There is something else than what is read here.
    #[error("{name} is {found}; a Zarr v3 directory is needed")]
    NotADirectory {
        /// The source.
        name: String,
        /// Its kind.
        found: &'static str,
    },
    /// A directory without a single node.
    #[error(
        "{name} is no Zarr v3 hierarchy: it holds no zarr.json, and neither does any directory below it"
    )]
    NoNodes {
        /// The source.
        name: String,
    },
    /// An older generation of Zarr.
    #[error(
        "{name} belongs to Zarr format 2, which cannot be imported: convert it to format 3 first"
    )]
    ZarrFormat2 {
        /// The file that shows it.
        name: String,
    },
    /// Nodes of both formats in one tree, of which a reader would see one part.
    #[error(
        "{format_2} belongs to Zarr format 2 and {format_3} to format 3: import the two parts one by one, each from a directory or file of its own"
    )]
    MixedFormats {
        /// A document of a node that has none of format 3.
        format_2: String,
        /// A document of format 3.
        format_3: String,
    },
    /// A link could lead anywhere.
    #[error(
        "{name} is a symbolic link, which an import does not follow: put the files themselves there"
    )]
    Link {
        /// The link.
        name: String,
    },
    /// A name that cannot be the name of a node.
    #[error("{name} cannot be the name of an array or group")]
    NodeName {
        /// The directory.
        name: String,
        /// The rule that it breaks.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A document is not that of a Zarr v3 node.
    #[error("{name} is not the metadata of a Zarr v3 array or group")]
    Metadata {
        /// The document.
        name: String,
        /// The problem with it.
        source: MetadataError,
    },
    /// Something has the name of a document and is no file.
    #[error("{name} is not a file: it should hold the metadata of a node")]
    NoDocument {
        /// The entry with that name.
        name: String,
    },
    /// Something lies among the chunks that is none.
    #[error(
        "{name} is not a chunk of the array it lies in: {problem}; correct the array's metadata if it is too old, or move the file out of the array"
    )]
    NotAChunk {
        /// The file.
        name: String,
        /// The problem with it.
        problem: String,
    },
    /// A chunk without a byte.
    #[error("{name} is empty, and no encoded chunk is: remove the file to leave the chunk out")]
    EmptyChunk {
        /// The chunk's file.
        name: String,
    },
    /// Another program is writing the source.
    #[error("{name} changed while it was being read: import again once no program writes to it")]
    Changed {
        /// The file.
        name: String,
    },
    /// A file is not what its format says.
    #[error("{name} is damaged, or is not what its name says: {problem}")]
    Damaged {
        /// The file.
        name: String,
        /// The problem with it.
        problem: String,
    },
    /// A zip file that breaks a rule, or one of its entries does.
    #[error("{name} is not a zip file that can be imported")]
    Zip {
        /// The file, or the entry in it.
        name: String,
        /// The rule.
        source: ZipError,
    },
    /// A message of a GRIB file is not imported.
    #[cfg(feature = "grib")]
    #[error("message {message} of {name}, at byte {offset}, cannot be imported: {problem}")]
    Grib {
        /// The file.
        name: String,
        /// The number of the message, from 1.
        message: u64,
        /// Its first byte.
        offset: u64,
        /// The problem.
        problem: crate::GribProblem,
    },
    /// A variable that cannot be had.
    #[error("{path} of {name} cannot be imported: {reason}")]
    Variable {
        /// The file.
        name: String,
        /// The variable.
        path: NodePath,
        /// The obstacle.
        reason: String,
    },
    /// Elements that cannot be stored as the array that they go to stores them.
    #[error("{path} of {name} cannot be converted: {reason}")]
    Conversion {
        /// The file.
        name: String,
        /// The array.
        path: NodePath,
        /// The obstacle.
        reason: String,
    },
    /// A file of references names another one that cannot be read.
    #[error("{path} of {name} refers to {url}, which cannot be read")]
    Reference {
        /// The file of references.
        name: String,
        /// An array that refers to it.
        path: NodePath,
        /// The target of the reference.
        url: String,
        /// Why.
        source: Box<Self>,
    },
    /// The operating system refused.
    #[error("cannot read {name}")]
    Io {
        /// The file or directory.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The error of another kind of source.
    #[error("cannot read {name}")]
    Other {
        /// The part of the source.
        name: String,
        /// Its own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl SourceError {
    /// Returns the error of an array whose elements cannot be converted to those of another.
    pub(crate) fn conversion(file: &str, array: &NodePath, reason: impl Into<String>) -> Self {
        Self::Conversion {
            name: file.to_owned(),
            path: array.clone(),
            reason: reason.into(),
        }
    }

    /// Returns the error of a variable that cannot be read.
    pub fn variable(file: &str, variable: &NodePath, reason: impl Into<String>) -> Self {
        Self::Variable {
            name: file.to_owned(),
            path: variable.clone(),
            reason: reason.into(),
        }
    }

    /// Returns the error of a file that breaks the rules of its format.
    pub fn damaged(file: &str, problem: impl Into<String>) -> Self {
        Self::Damaged {
            name: file.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns the error of a message of a GRIB file: its number, counted from 1, and its first byte.
    #[cfg(feature = "grib")]
    pub(crate) fn grib(
        file: &str,
        message: u64,
        offset: u64,
        problem: crate::grib::GribProblem,
    ) -> Self {
        Self::Grib {
            name: file.to_owned(),
            message,
            offset,
            problem,
        }
    }
}

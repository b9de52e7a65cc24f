//! DMR++: documents of OPeNDAP that say of an HDF5 or NetCDF-4 file what is in it, in the terms of DAP4, and which bytes of it
//! are which chunk.
//!
//! Chunks become references without a read of the data file; it is opened once, to know its size and time. It lies where
//! `dmrpp:href` says, of the document or of a chunk; else, or if there is the place holder of OPeNDAP's builder, beside the
//! document, under its name without `.dmrpp`.
//!
//! # What becomes of what
//! - **Chunks** keep their grid and their filters: shuffle, deflate, Fletcher's checksum. A chunk that is not listed is fill
//!   values. An array in one piece without filters is cut as a contiguous one of NetCDF-3 is.
//! - A chunk that went without some filters (`fm`), and a shuffle that leaves bytes over, make an array that is copied: it is
//!   decoded and gets Zstandard.
//! - **Values in the document** (`dmrpp:compact`, `dmrpp:missingdata`, `dmrpp:vlsa`) are copied.
//! - **Numbers** are little-endian unless `byteOrder` says `BE`. An enumeration is its integers, with the names as attribute
//!   `enum_members`. A `Char` and a text of fixed length are `null_terminated_bytes`, others are `string`.
//! - **Dimensions** are called by the last part of their names; without one `phony_dim_0` and so on, as netCDF-C does.
//! - **Attributes** are as of HDF5 files: numbers of their types, containers as objects, `_FillValue` of floats in base64.
//!
//! # What is refused
//! By name: structures, sequences, opaque values, chunks in several blocks, texts of variable length in heaps of the file, other
//! filters. A document is XML without a type definition; entities are not expanded. One longer than 256 MiB is not read.

mod attributes;
mod chunks;
mod declarations;
mod encoding;
mod filters;
mod inline;
mod places;
mod types;
mod variable;
mod walk;
mod xml;

use crate::{Archive, ArchiveFile, ArchiveOptions, OpenUrl, SourceError};

/// Longest document that is read, in bytes: all of it is in memory, several times over, until it is understood.
const MAX_DOCUMENT: u64 = 256 << 20;
/// Elements and texts of a document.
const MAX_NODES: u32 = 16 << 20;

/// Reads a DMR++ document; `files` opens the files that it refers to.
///
/// # Errors
/// [`SourceError::Damaged`] for what is no such document or refers to bytes beyond the end of a file;
/// [`SourceError::Variable`] for what Zarr has no words for; [`SourceError::Reference`] for a file that cannot be opened.
pub async fn read_dmrpp(
    file: ArchiveFile,
    files: &dyn OpenUrl,
    options: ArchiveOptions,
) -> Result<Archive, SourceError> {
    let name = file.url();
    if file.size() > MAX_DOCUMENT {
        let problem = "it is longer than 256 MiB, the most that is read of a DMR++ document";
        return Err(SourceError::damaged(name, problem));
    }
    let bytes = file.read(0..file.size()).await?;
    let found = {
        let text = encoding::text(&bytes).map_err(|problem| SourceError::damaged(name, problem))?;
        let parsing = roxmltree::ParsingOptions {
            allow_dtd: false,
            nodes_limit: MAX_NODES,
            ..roxmltree::ParsingOptions::default()
        };
        let document = roxmltree::Document::parse_with_options(&text, parsing);
        let document = document.map_err(|error| {
            SourceError::damaged(name, format!("it is not XML as DMR++ has it: {error}"))
        })?;
        walk::read(document.root_element(), name, options.lists_unsupported)?
    };
    found.into_archive(name, files).await
}

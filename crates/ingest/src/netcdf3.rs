//! NetCDF-3 files: the classic format, that with 64-bit offsets, and that with 64-bit data (CDF-1, CDF-2, CDF-5).
//!
//! ```text
//! header            dimensions, attributes, variables: name, type, dimensions, first byte
//! fixed variables   each in one piece
//! records           for each record a piece of every variable that has the record dimension
//! ```
//!
//! Only the header is read. The numbers of the data are big-endian and not compressed, so every chunk is a range of
//! the file.

mod attributes;
mod cursor;
mod header;
mod layout;
mod types;

use serde_json::Map;

use icefield_core::NodePath;
use icefield_format::MAX_RANK;

use crate::archive::{Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, values};
use crate::{SourceError, netcdf3::header::Variable};

use cursor::CursorError;
use header::Header;
use layout::{Layout, Records};

/// Bytes of the first read: more than most headers have.
const FIRST_READ: u64 = 64 << 10;
/// Longest header that is read, in bytes.
const MAX_HEADER: u64 = 16 << 20;

/// Reads what a NetCDF-3 file holds: its header, and where the chunks of its variables lie.
///
/// A variable with the record dimension has a chunk per record, so that files of one kind can be appended to each
/// other. Another one that is large is cut into pieces of a few MiB where its lengths allow it.
///
/// # Errors
/// [`SourceError::Damaged`] if the file is no NetCDF-3 file, or lacks data that its header promises;
/// [`SourceError::Variable`] for a variable that Zarr cannot describe.
pub async fn read_netcdf3(file: ArchiveFile) -> Result<Archive, SourceError> {
    let header = read_header(&file).await?;
    let records = Records::of(&header, &file)?;
    let mut archive = Archive::default();
    let mut taken: u64 = 0;
    let root = attributes::of_group(&header.attributes);
    let group = ArchiveNode::Group(root);
    archive.nodes.insert(NodePath::root(), group);
    for variable in &header.variables {
        let path = values::child(&NodePath::root(), &variable.name).map_err(|source| {
            SourceError::NodeName {
                name: format!("the variable {:?} of {}", variable.name, file.url()),
                source,
            }
        })?;
        let array = array(&file, &header, &records, variable, &path)?;
        // A header that is damaged could make a chunk of every byte many times over.
        taken = taken.saturating_add(array_bytes(&array));
        if taken > file.size() {
            let problem = format!("its variable {:?} shares bytes with another", variable.name);
            return Err(SourceError::damaged(file.url(), problem));
        }
        let node = ArchiveNode::Array(Box::new(array));
        if archive.nodes.insert(path, node).is_some() {
            let problem = format!("it has two variables named {:?}", variable.name);
            return Err(SourceError::damaged(file.url(), problem));
        }
    }
    archive.files.push(file);
    Ok(archive)
}

/// Reads the header: more and more of the file, until it is all there.
async fn read_header(file: &ArchiveFile) -> Result<Header, SourceError> {
    let mut length = FIRST_READ.min(file.size());
    loop {
        let bytes = file.read(0..length).await?;
        let needed = match Header::parse(&bytes, file.size()) {
            Ok(header) => return Ok(header),
            Err(CursorError::Damaged(problem)) => {
                return Err(SourceError::damaged(file.url(), problem));
            }
            Err(CursorError::Short { needed }) => needed,
        };
        let damaged = |problem: &str| Err(SourceError::damaged(file.url(), problem));
        if needed > file.size() {
            return damaged("it ends within its header");
        }
        if needed > MAX_HEADER {
            return damaged("its header is longer than 16 MiB, the most that is read");
        }
        length = needed.max(length.saturating_mul(4));
        length = length.min(file.size()).min(MAX_HEADER);
    }
}

fn array(
    file: &ArchiveFile,
    header: &Header,
    records: &Records,
    variable: &Variable,
    path: &NodePath,
) -> Result<ArchiveArray, SourceError> {
    let refuse = |reason: String| SourceError::variable(file.url(), path, reason);
    let rank = variable.dimensions.len();
    if rank > MAX_RANK {
        let reason = format!("it has {rank} dimensions, and an array at most {MAX_RANK}");
        return Err(refuse(reason));
    }
    let shape = records.shape(header, variable);
    let layout = Layout::of(header, records, variable, &shape).map_err(refuse)?;
    let extents = layout.extents(file.size()).map_err(|problem| {
        let problem = format!("its variable {:?} {problem}", variable.name);
        SourceError::damaged(file.url(), problem)
    })?;
    let (attributes, fill_value) = attributes::of_variable(variable).map_err(refuse)?;
    let dimensions = header.dimensions_of(variable);
    Ok(ArchiveArray {
        chunk_shape: layout.chunk_shape,
        shape,
        data_type: variable.kind.data_type(),
        fill_value,
        codecs: vec![variable.kind.bytes_codec()],
        dimension_names: dimensions
            .map(|dimension| Some(dimension.name.clone()))
            .collect(),
        attributes,
        chunks: ArchiveChunks::InFiles(extents),
    })
}

fn array_bytes(array: &ArchiveArray) -> u64 {
    match &array.chunks {
        ArchiveChunks::InFiles(extents) => extents.bytes(),
        _ => 0,
    }
}

/// Attributes by name, in the order of the file.
type Attributes = Map<String, serde_json::Value>;

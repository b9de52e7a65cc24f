//! The header of a file.

use bytes::Bytes;

use super::cursor::{Cursor, CursorError};
use super::types::ExternalType;

const DIMENSION: u32 = 10;
const VARIABLE: u32 = 11;
const ATTRIBUTE: u32 = 12;

/// The fields of the header.
#[derive(Debug)]
pub(super) struct Header {
    /// Records, if the header knows: a program that streams leaves that to the length of the file.
    pub(super) records: Option<u64>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) variables: Vec<Variable>,
}

#[derive(Debug)]
pub(super) struct Dimension {
    pub(super) name: String,
    /// `None` for the record dimension.
    pub(super) length: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: ExternalType,
    /// The values, big-endian: a whole number of them.
    pub(super) values: Bytes,
}

#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Positions in the list of dimensions, which exist. The record dimension can only be the first.
    pub(super) dimensions: Vec<usize>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) kind: ExternalType,
    /// First byte of the data, or of the first record.
    pub(super) begin: u64,
    /// Whether it has the record dimension.
    pub(super) is_record: bool,
}

impl Header {
    /// Reads the header from the first bytes of a file.
    pub(super) fn parse(bytes: &Bytes, file_size: u64) -> Result<Self, CursorError> {
        let mut cursor = Cursor::new(bytes);
        let version = version(&mut cursor, file_size)?;
        cursor.set_wide(version == 5);
        let records = match cursor.count()? {
            count if count == u64::MAX || !cursor.is_wide() && count == u64::from(u32::MAX) => None,
            count => Some(count),
        };
        let dimensions = dimensions(&mut cursor)?;
        let attributes = attributes(&mut cursor, version)?;
        let mut variables = Vec::new();
        for _ in 0..cursor.list(VARIABLE, "variables")? {
            variables.push(variable(&mut cursor, version, &dimensions)?);
        }
        Ok(Self {
            records,
            dimensions,
            attributes,
            variables,
        })
    }

    /// Returns the dimensions of a variable.
    pub(super) fn dimensions_of<'a>(
        &'a self,
        variable: &'a Variable,
    ) -> impl Iterator<Item = &'a Dimension> {
        let positions = variable.dimensions.iter();
        positions.filter_map(|position| self.dimensions.get(*position))
    }
}

fn version(cursor: &mut Cursor<'_>, file_size: u64) -> Result<u8, CursorError> {
    let foreign = |problem: &str| Err(CursorError::Damaged(problem.to_owned()));
    if file_size < 4 {
        return foreign("it is too short for a NetCDF-3 file");
    }
    match cursor.magic()? {
        [b'C', b'D', b'F', version @ (1 | 2 | 5)] => Ok(version),
        [b'C', b'D', b'F', version] => Err(CursorError::Damaged(format!(
            "it is of version {version} of the classic NetCDF format, of which 1, 2 and 5 are known"
        ))),
        [0x89, b'H', b'D', b'F'] => {
            foreign("it is an HDF5 file, as those of NetCDF-4 are: read it as such")
        }
        _ => foreign("it does not begin as a NetCDF-3 file does"),
    }
}

fn dimensions(cursor: &mut Cursor<'_>) -> Result<Vec<Dimension>, CursorError> {
    let mut dimensions: Vec<Dimension> = Vec::new();
    let mut has_record = false;
    for _ in 0..cursor.list(DIMENSION, "dimensions")? {
        let name = cursor.name()?;
        let length = Some(cursor.count()?).filter(|length| *length > 0);
        if length.is_none() && std::mem::replace(&mut has_record, true) {
            let problem = format!("{name:?} is its second record dimension");
            return Err(CursorError::Damaged(problem));
        }
        dimensions.push(Dimension { name, length });
    }
    Ok(dimensions)
}

fn attributes(cursor: &mut Cursor<'_>, version: u8) -> Result<Vec<Attribute>, CursorError> {
    let mut attributes = Vec::new();
    for _ in 0..cursor.list(ATTRIBUTE, "attributes")? {
        let name = cursor.name()?;
        let kind = kind(cursor, version, &name)?;
        let count = cursor.count()?;
        // Too long for any file, if it is too long for a number.
        let length = count.saturating_mul(kind.bytes());
        let values = cursor.padded(length)?;
        attributes.push(Attribute { name, kind, values });
    }
    Ok(attributes)
}

fn kind(cursor: &mut Cursor<'_>, version: u8, name: &str) -> Result<ExternalType, CursorError> {
    let number = cursor.u32()?;
    ExternalType::of(number, version).ok_or_else(|| {
        CursorError::Damaged(format!(
            "{name:?} has the type {number}, which the format does not have"
        ))
    })
}

fn variable(
    cursor: &mut Cursor<'_>,
    version: u8,
    dimensions: &[Dimension],
) -> Result<Variable, CursorError> {
    let name = cursor.name()?;
    let mut positions = Vec::new();
    let mut is_record = false;
    for place in 0..cursor.count()? {
        let id = cursor.count()?;
        let position = usize::try_from(id).ok();
        let dimension = position.and_then(|position| dimensions.get(position));
        let (Some(position), Some(dimension)) = (position, dimension) else {
            let problem = format!("the dimension {id} of its variable {name:?} does not exist");
            return Err(CursorError::Damaged(problem));
        };
        if dimension.length.is_none() {
            if place > 0 {
                return Err(CursorError::Damaged(format!(
                    "the record dimension is not the first of its variable {name:?}"
                )));
            }
            is_record = true;
        }
        positions.push(position);
    }
    let attributes = attributes(cursor, version)?;
    let kind = kind(cursor, version, &name)?;
    // The size that follows cannot be right for a large variable, and follows from the dimensions.
    cursor.count()?;
    let begin = match version {
        1 => u64::from(cursor.u32()?),
        _ => cursor.u64()?,
    };
    Ok(Variable {
        name,
        dimensions: positions,
        attributes,
        kind,
        begin,
        is_record,
    })
}

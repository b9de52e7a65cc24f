//! GRIB files of edition 2: messages with fields, each packed for itself.
//!
//! ```text
//! scan        where the fields lie: section headers, read by ranges
//! product     section 4: parameter, level, step, member          ┐
//! grid        section 3: the points and their coordinates        │ what each field is
//! packing     section 5: how values become of its bits           ┘
//! names       what the variables are called
//! cube        fields put together: members, times, steps, levels
//! describe    arrays in the terms of Zarr and of the CF conventions
//! field       the elements of one field: a chunk
//! ```
//!
//! No codec of Zarr undoes the packings of GRIB, so that fields are decoded and encoded anew, one by one, when they are
//! copied. The numbers of codes and templates are those of the tables of WMO (Manual on Codes, volume I.2).

mod cube;
mod describe;
mod field;
mod grid;
mod levels;
mod names;
mod octets;
mod order;
mod packing;
mod parameters;
mod problem;
mod product;
mod scan;

pub use self::problem::GribProblem;

use crate::archive::{Archive, ArchiveFile};
use crate::{ArchiveOptions, SourceError, Unsupported};

/// Reads what a GRIB file holds: the headers of its messages, without their data.
///
/// Fields of one parameter, on one kind of level and of one kind of statistic are one array. Its dimensions are `number` (of
/// a member of an ensemble), `time` (the reference time), `step`, the level, and those of the grid; a chunk is a field. Where
/// no message lies, there is no chunk, and a warning names the array.
///
/// # Errors
/// [`SourceError::Grib`] for a message that is damaged or of the place of another one, see [`ArchiveOptions::duplicates`];
/// for one that is not understood, unless [`ArchiveOptions::lists_unsupported`]; [`SourceError::Damaged`] for a file without
/// a message.
pub async fn read_grib(file: ArchiveFile, options: ArchiveOptions) -> Result<Archive, SourceError> {
    let scanned = scan::scan(&file).await?;
    let mut cube = cube::cube(file.url(), &scanned.fields, options.duplicates)?;
    let mut archive = Archive {
        may_repeat: true,
        ..Archive::default()
    };
    for (name, left_out) in std::mem::take(&mut cube.left_out) {
        if !options.lists_unsupported {
            return Err(left_out.first);
        }
        let mut reason = left_out.first.to_string();
        if left_out.count > 1 {
            let more = left_out.count - 1;
            reason = format!("{reason}; so are {more} more of its messages");
        }
        archive.unsupported.push(Unsupported {
            path: describe::path(&name, file.url())?,
            name: file.url().to_owned(),
            reason,
        });
    }
    describe::describe(cube, &scanned, &file, &mut archive)?;
    archive.files.push(file);
    Ok(archive)
}

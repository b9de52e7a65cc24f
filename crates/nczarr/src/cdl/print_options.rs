//! The parts of a dataset to print.

use super::number::Digits;

/// The parts of a dataset to print.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintOptions {
    /// The name behind `netcdf`; `ncdump -n`. (`ncdump` itself takes the file's name up to its last point.)
    pub name: String,
    /// Prints no data; `ncdump -h`.
    pub header_only: bool,
    /// Prints only the data of coordinates: variables of one dimension that have the name of a dimension; `ncdump -c`.
    pub coordinates_only: bool,
    /// Prints only the data of these variables, if there are any: names, which hold in all groups, and absolute paths;
    /// `ncdump -v`.
    pub variables: Vec<String>,
    /// Prints the layout of the elements as attributes such as `_ChunkSizes`; `ncdump -s`.
    pub special_attributes: bool,
    /// The number of significant digits of floats, 7 by default; 9 keep every value. `ncdump -p`.
    pub float_digits: u8,
    /// The number of significant digits of doubles, 15 by default; 17 keep every value. `ncdump -p`.
    pub double_digits: u8,
}

impl PrintOptions {
    /// Returns options to print everything, under a name.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            header_only: false,
            coordinates_only: false,
            variables: Vec::new(),
            special_attributes: false,
            float_digits: 7,
            double_digits: 15,
        }
    }

    pub(super) fn digits(&self) -> Digits {
        Digits {
            float: usize::from(self.float_digits),
            double: usize::from(self.double_digits),
        }
    }
}

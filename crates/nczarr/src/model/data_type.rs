//! The twelve types of elements and attributes.

use std::fmt;

/// The type of the elements of a variable or the values of an attribute, by netCDF's names.
///
/// ```
/// use icefield_nczarr::DataType;
///
/// assert_eq!(DataType::of_number(4).map(DataType::name), Some("int"));
/// assert_eq!(DataType::Double.bytes(), Some(8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `byte`: 8 bits, signed.
    Byte,
    /// `char`: one byte of text.
    Char,
    /// `short`: 16 bits, signed.
    Short,
    /// `int`: 32 bits, signed.
    Int,
    /// `float`: 32 bits.
    Float,
    /// `double`: 64 bits.
    Double,
    /// `ubyte`: 8 bits.
    UByte,
    /// `ushort`: 16 bits.
    UShort,
    /// `uint`: 32 bits.
    UInt,
    /// `int64`: 64 bits, signed.
    Int64,
    /// `uint64`: 64 bits.
    UInt64,
    /// `string`: UTF-8 of any length.
    String,
}

impl DataType {
    /// All types, in the order of netCDF's numbers, which begin at 1.
    pub const ALL: [Self; 12] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Float,
        Self::Double,
        Self::UByte,
        Self::UShort,
        Self::UInt,
        Self::Int64,
        Self::UInt64,
        Self::String,
    ];

    /// Returns the name in CDL, such as `int` or `uint64`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Byte => "byte",
            Self::Char => "char",
            Self::Short => "short",
            Self::Int => "int",
            Self::Float => "float",
            Self::Double => "double",
            Self::UByte => "ubyte",
            Self::UShort => "ushort",
            Self::UInt => "uint",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
            Self::String => "string",
        }
    }

    /// Returns the type of a number such as `NC_INT`, 4.
    pub fn of_number(number: u64) -> Option<Self> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        Self::ALL.get(at).copied()
    }

    /// Returns the number of bytes of an element; `None` for strings.
    pub fn bytes(self) -> Option<usize> {
        Some(match self {
            Self::Byte | Self::Char | Self::UByte => 1,
            Self::Short | Self::UShort => 2,
            Self::Int | Self::UInt | Self::Float => 4,
            Self::Int64 | Self::UInt64 | Self::Double => 8,
            Self::String => return None,
        })
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_netcdf() {
        assert_eq!(DataType::of_number(0), None);
        assert_eq!(DataType::of_number(2), Some(DataType::Char));
        assert_eq!(DataType::of_number(12), Some(DataType::String));
        assert_eq!(DataType::of_number(13), None);
    }
}

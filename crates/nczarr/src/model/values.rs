//! Values of one type: of an attribute, or of a part of a variable.

use super::data_type::DataType;

/// The default fill value of `float` and `double` (`NC_FILL_FLOAT`): 0x1.ep+122.
const FILL_FLOAT: f32 = 9.969_21e36;

/// Values of one type, in order. For a variable that is C order: the last dimension varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of `byte`.
    Byte(Vec<i8>),
    /// Of `char`; as an attribute, a text in an encoding that is not promised.
    Char(Vec<u8>),
    /// Of `short`.
    Short(Vec<i16>),
    /// Of `int`.
    Int(Vec<i32>),
    /// Of `float`.
    Float(Vec<f32>),
    /// Of `double`.
    Double(Vec<f64>),
    /// Of `ubyte`.
    UByte(Vec<u8>),
    /// Of `ushort`.
    UShort(Vec<u16>),
    /// Of `uint`.
    UInt(Vec<u32>),
    /// Of `int64`.
    Int64(Vec<i64>),
    /// Of `uint64`.
    UInt64(Vec<u64>),
    /// Of `string`.
    String(Vec<String>),
}

/// Does the same with whatever list there is.
macro_rules! each {
    ($values:expr, $list:ident => $result:expr) => {
        match $values {
            Values::Byte($list) => $result,
            Values::Char($list) | Values::UByte($list) => $result,
            Values::Short($list) => $result,
            Values::Int($list) => $result,
            Values::Float($list) => $result,
            Values::Double($list) => $result,
            Values::UShort($list) => $result,
            Values::UInt($list) => $result,
            Values::Int64($list) => $result,
            Values::UInt64($list) => $result,
            Values::String($list) => $result,
        }
    };
}

impl Values {
    /// Returns a text as the value of a char attribute.
    pub fn text(text: &str) -> Self {
        Self::Char(text.as_bytes().to_vec())
    }

    /// Returns the type.
    pub fn data_type(&self) -> DataType {
        match self {
            Self::Byte(_) => DataType::Byte,
            Self::Char(_) => DataType::Char,
            Self::Short(_) => DataType::Short,
            Self::Int(_) => DataType::Int,
            Self::Float(_) => DataType::Float,
            Self::Double(_) => DataType::Double,
            Self::UByte(_) => DataType::UByte,
            Self::UShort(_) => DataType::UShort,
            Self::UInt(_) => DataType::UInt,
            Self::Int64(_) => DataType::Int64,
            Self::UInt64(_) => DataType::UInt64,
            Self::String(_) => DataType::String,
        }
    }

    /// Returns the number of values; for chars, the number of bytes.
    pub fn len(&self) -> usize {
        each!(self, list => list.len())
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl DataType {
    /// Returns netCDF's default fill value, one value.
    pub fn default_fill(self) -> Values {
        match self {
            Self::Byte => Values::Byte(vec![-127]),
            Self::Char => Values::Char(vec![0]),
            Self::Short => Values::Short(vec![-32767]),
            Self::Int => Values::Int(vec![-2_147_483_647]),
            Self::Float => Values::Float(vec![FILL_FLOAT]),
            Self::Double => Values::Double(vec![f64::from(FILL_FLOAT)]),
            Self::UByte => Values::UByte(vec![255]),
            Self::UShort => Values::UShort(vec![65535]),
            Self::UInt => Values::UInt(vec![u32::MAX]),
            Self::Int64 => Values::Int64(vec![-9_223_372_036_854_775_806]),
            Self::UInt64 => Values::UInt64(vec![18_446_744_073_709_551_614]),
            Self::String => Values::String(vec![String::new()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fill_value_of_floats_is_the_one_of_netcdf() {
        assert_eq!(FILL_FLOAT.to_bits(), 0x7cf0_0000);
    }
}

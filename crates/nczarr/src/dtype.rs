//! The `dtype` of Zarr format 2, as far as netCDF has types for it, and of attributes.

use crate::{DataType, Endian};

/// Reads the `dtype` of an array: the type of its elements and the order of their bytes. `|S1` is a string of one byte,
/// `>S1` and `<U1` (of which netCDF-C stores one byte) a char.
pub(crate) fn of_array(dtype: &str) -> Option<(DataType, Endian)> {
    let (order, kind) = dtype.split_at_checked(1)?;
    let endian = match order {
        ">" => Endian::Big,
        "<" | "|" | "=" => Endian::Little,
        _ => return None,
    };
    let data_type = match kind {
        "i1" => DataType::Byte,
        "u1" => DataType::UByte,
        "i2" => DataType::Short,
        "u2" => DataType::UShort,
        "i4" => DataType::Int,
        "u4" => DataType::UInt,
        "i8" => DataType::Int64,
        "u8" => DataType::UInt64,
        "f4" => DataType::Float,
        "f8" => DataType::Double,
        "S1" if order == ">" => return Some((DataType::Char, Endian::Little)),
        "U1" if order == "<" => return Some((DataType::Char, Endian::Little)),
        text => {
            let length: u32 = text.strip_prefix('S')?.parse().ok()?;
            return (length > 0).then_some((DataType::String, Endian::Little));
        }
    };
    Some((data_type, endian))
}

/// Reads the type of an attribute: a `dtype`, the number of netCDF's type that the first generation wrote, or `|J0`, which
/// is JSON kept as chars.
pub(crate) fn of_attribute(text: &str) -> Option<DataType> {
    if let Ok(number) = text.parse() {
        return DataType::of_number(number);
    }
    match text {
        "|J0" => Some(DataType::Char),
        dtype => of_array(dtype).map(|(data_type, _)| data_type),
    }
}

/// Returns the `dtype` of an array or attribute; `bytes` is the length of a string.
pub(crate) fn of(data_type: DataType, endian: Endian, bytes: usize) -> String {
    let order = match endian {
        Endian::Little => '<',
        Endian::Big => '>',
    };
    match data_type {
        DataType::Byte => "|i1".to_owned(),
        DataType::UByte => "|u1".to_owned(),
        DataType::Char => ">S1".to_owned(),
        DataType::String => format!("|S{}", bytes.max(1)),
        DataType::Short => format!("{order}i2"),
        DataType::UShort => format!("{order}u2"),
        DataType::Int => format!("{order}i4"),
        DataType::UInt => format!("{order}u4"),
        DataType::Int64 => format!("{order}i8"),
        DataType::UInt64 => format!("{order}u8"),
        DataType::Float => format!("{order}f4"),
        DataType::Double => format!("{order}f8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_and_written() {
        for data_type in DataType::ALL {
            for endian in [Endian::Little, Endian::Big] {
                let text = of(data_type, endian, 7);
                let (found, order) = of_array(&text).expect("known");
                assert_eq!(found, data_type, "{text}");
                assert!(
                    order == endian || data_type.bytes().unwrap_or(1) == 1,
                    "{text}"
                );
            }
        }
        assert_eq!(of_array("<U1").map(|it| it.0), Some(DataType::Char));
        assert_eq!(of_array("|S1").map(|it| it.0), Some(DataType::String));
        for other in [
            "", "<", "|b1", "<c8", "<M8[s]", "<U2", "<f2", "|S0", "|S", "é4",
        ] {
            assert_eq!(of_array(other), None, "{other}");
        }
        assert_eq!(of_attribute("2"), Some(DataType::Char));
        assert_eq!(of_attribute("|J0"), Some(DataType::Char));
        assert_eq!(of_attribute("13"), None);
    }
}

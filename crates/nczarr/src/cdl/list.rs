//! Lists of values of a type that is known only at run time.

use std::ops::Range;

use crate::{DataType, Values};

/// Returns no values of a type.
pub(super) fn empty(data_type: DataType) -> Values {
    match data_type {
        DataType::Byte => Values::Byte(Vec::new()),
        DataType::Char => Values::Char(Vec::new()),
        DataType::Short => Values::Short(Vec::new()),
        DataType::Int => Values::Int(Vec::new()),
        DataType::Float => Values::Float(Vec::new()),
        DataType::Double => Values::Double(Vec::new()),
        DataType::UByte => Values::UByte(Vec::new()),
        DataType::UShort => Values::UShort(Vec::new()),
        DataType::UInt => Values::UInt(Vec::new()),
        DataType::Int64 => Values::Int64(Vec::new()),
        DataType::UInt64 => Values::UInt64(Vec::new()),
        DataType::String => Values::String(Vec::new()),
    }
}

/// Does the same with two lists of one type; nothing if their types differ.
macro_rules! both {
    ($to:expr, $from:expr, ($a:ident, $b:ident) => $do:expr) => {
        match ($to, $from) {
            (Values::Byte($a), Values::Byte($b)) => $do,
            (Values::Char($a), Values::Char($b)) => $do,
            (Values::Short($a), Values::Short($b)) => $do,
            (Values::Int($a), Values::Int($b)) => $do,
            (Values::Float($a), Values::Float($b)) => $do,
            (Values::Double($a), Values::Double($b)) => $do,
            (Values::UByte($a), Values::UByte($b)) => $do,
            (Values::UShort($a), Values::UShort($b)) => $do,
            (Values::UInt($a), Values::UInt($b)) => $do,
            (Values::Int64($a), Values::Int64($b)) => $do,
            (Values::UInt64($a), Values::UInt64($b)) => $do,
            (Values::String($a), Values::String($b)) => $do,
            _ => debug_assert!(false, "lists of two types"),
        }
    };
}

/// Appends a part of other values of the same type.
pub(super) fn append(to: &mut Values, from: &Values, range: Range<usize>) {
    both!(to, from, (to, from) => to.extend_from_slice(&from[range]));
}

/// Appends the first value of `fill`, which must have one, again and again.
pub(super) fn repeat(to: &mut Values, fill: &Values, count: usize) {
    both!(to, fill, (to, fill) => to.extend(std::iter::repeat_n(&fill[0], count).cloned()));
}

//! Numbers as C's `printf` and `ncdump` spell them.

use crate::{DataType, Values};

/// Returns a number as `%.{digits}g` of C does.
pub(super) fn general(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific; // "NaN" or "inf", which the callers have treated before
    };
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let precision = i64::try_from(digits).unwrap_or(i64::MAX);
    if exponent < -4 || exponent >= precision {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(precision - 1 - exponent).unwrap_or(0);
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

/// Drops the zeros after the last digit behind a point, and the point if nothing is left behind it.
fn trimmed(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Returns a float or double as `ncdump` prints it among data; `suffix` is `f` for floats.
pub(super) fn in_data(value: f64, digits: usize, suffix: &str) -> String {
    special(value, suffix).unwrap_or_else(|| general(value, digits))
}

/// Returns a float or double as `ncdump` prints it among attributes: never to be taken for an integer.
fn in_attribute(value: f64, digits: usize, suffix: &str) -> String {
    if let Some(text) = special(value, suffix) {
        return text;
    }
    let mut text = general(value, digits);
    if !text.contains('.') {
        text.insert(text.find('e').unwrap_or(text.len()), '.');
    }
    text + suffix
}

fn special(value: f64, suffix: &str) -> Option<String> {
    if value.is_nan() {
        Some(format!("NaN{suffix}"))
    } else if value.is_infinite() {
        let sign = if value < 0.0 { "-" } else { "" };
        Some(format!("{sign}Infinity{suffix}"))
    } else {
        None
    }
}

/// Significant digits of floats and of doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub float: usize,
    pub double: usize,
}

/// Returns one number of an attribute with the suffix of its type. Chars and strings are texts, and come back empty.
pub(super) fn attribute_number(values: &Values, at: usize, digits: Digits) -> String {
    match values {
        Values::Byte(list) => format!("{}b", list[at]),
        Values::Short(list) => format!("{}s", list[at]),
        Values::Int(list) => list[at].to_string(),
        Values::UByte(list) => format!("{}UB", list[at]),
        Values::UShort(list) => format!("{}US", list[at]),
        Values::UInt(list) => format!("{}U", list[at]),
        Values::Int64(list) => format!("{}LL", list[at]),
        Values::UInt64(list) => format!("{}ULL", list[at]),
        Values::Float(list) => in_attribute(f64::from(list[at]), digits.float, "f"),
        Values::Double(list) => in_attribute(list[at], digits.double, ""),
        Values::Char(_) | Values::String(_) => String::new(),
    }
}

/// Returns whether `ncdump` prints netCDF's default fill value of a type as `_`: not where it is a common number.
pub(super) fn default_fill_shows(data_type: DataType) -> bool {
    !matches!(
        data_type,
        DataType::Byte | DataType::UByte | DataType::Char | DataType::String
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_numbers_are_those_of_printf() {
        let cases = [
            (0.0, 7, "0"),
            (-0.0, 7, "-0"),
            (1.0, 7, "1"),
            (0.1, 15, "0.1"),
            (100_000.0, 7, "100000"),
            (12_345_678.0, 7, "1.234568e+07"),
            (9_999_999.6, 7, "1e+07"),
            (0.0001, 7, "0.0001"),
            (0.00001, 7, "1e-05"),
            (1e300, 15, "1e+300"),
            (5e-324, 15, "4.94065645841247e-324"),
            (123_456_789_012_345_680.0, 15, "1.23456789012346e+17"),
            (0.5, 0, "0.5"),
            (2.5, 1, "2"),
        ];
        for (value, digits, expected) in cases {
            assert_eq!(general(value, digits), expected);
        }
    }

    #[test]
    fn an_attribute_shows_its_type() {
        let digits = Digits {
            float: 7,
            double: 15,
        };
        let cases = [
            (Values::Float(vec![1.0]), "1.f"),
            (Values::Float(vec![1e10]), "1.e+10f"),
            (Values::Float(vec![9.900_001]), "9.900001f"),
            (Values::Double(vec![-0.0]), "-0."),
            (Values::Double(vec![f64::NEG_INFINITY]), "-Infinity"),
            (Values::Float(vec![f32::NAN]), "NaNf"),
            (Values::UInt64(vec![7]), "7ULL"),
        ];
        for (values, expected) in cases {
            assert_eq!(attribute_number(&values, 0, digits), expected);
        }
    }
}

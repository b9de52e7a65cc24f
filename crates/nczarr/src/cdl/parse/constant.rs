//! Constants, and what they are as values of a type.

use crate::{DataType, Values};

use super::super::error::{CdlError, Position, Rule};
use super::super::token::{Token, error, shortened};

/// A constant as it is written.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub position: Position,
    pub kind: ConstantKind,
}

#[derive(Clone, Debug)]
pub(super) enum ConstantKind {
    /// A whole number, of the type that its suffix or size gives it.
    Whole(i128, DataType),
    /// `-0`, which is another number than 0 for floats and doubles.
    MinusZero(DataType),
    /// A number with a point or exponent, without its suffix; or one of the words for no number and infinity.
    Real(String, DataType),
    Text(Vec<u8>),
    Char(u8),
    /// `_`
    Fill,
    /// `NIL`
    Nil,
}

/// The whole types, each wider than, or signed as no one before.
const WHOLE: [DataType; 8] = [
    DataType::Byte,
    DataType::UByte,
    DataType::Short,
    DataType::UShort,
    DataType::Int,
    DataType::UInt,
    DataType::Int64,
    DataType::UInt64,
];

impl Constant {
    /// Reads a word as a constant; `None` if it is no constant.
    pub(super) fn of(token: &Token, position: Position) -> Result<Option<Self>, CdlError> {
        let kind = match token {
            Token::Text(text) => ConstantKind::Text(text.clone()),
            Token::Char(byte) => ConstantKind::Char(*byte),
            Token::Number(number) => match number_of(number, position)? {
                Some(kind) => kind,
                None => {
                    let number = shortened(number);
                    return Err(error(position, Rule::Number { number }));
                }
            },
            Token::Word(word) => match word.as_str() {
                "_" => ConstantKind::Fill,
                "NIL" => ConstantKind::Nil,
                word => match special(word) {
                    Some(kind) => kind,
                    None => return Ok(None),
                },
            },
            Token::Sign(_) | Token::End => return Ok(None),
        };
        Ok(Some(Self { position, kind }))
    }

    /// Returns the type that it has without being told one.
    fn data_type(&self) -> Option<DataType> {
        match self.kind {
            ConstantKind::Whole(_, data_type)
            | ConstantKind::MinusZero(data_type)
            | ConstantKind::Real(_, data_type) => Some(data_type),
            ConstantKind::Char(_) => Some(DataType::Byte),
            ConstantKind::Text(_) => Some(DataType::Char),
            ConstantKind::Fill | ConstantKind::Nil => None,
        }
    }

    fn describe(&self) -> String {
        match &self.kind {
            ConstantKind::Whole(number, _) => number.to_string(),
            ConstantKind::MinusZero(_) => String::from("-0"),
            ConstantKind::Real(number, _) => shortened(number),
            ConstantKind::Text(text) => Token::Text(text.clone()).describe(),
            ConstantKind::Char(byte) => Token::Char(*byte).describe(),
            ConstantKind::Fill => String::from("_"),
            ConstantKind::Nil => String::from("NIL"),
        }
    }

    /// Appends its value to values of a type. A text is all its bytes of a char, and one string.
    pub(super) fn append_to(&self, values: &mut Values, name: &str) -> Result<(), CdlError> {
        let data_type = values.data_type();
        let of_kind = || {
            let (name, found) = (name.to_owned(), self.describe());
            error(
                self.position,
                Rule::Kind {
                    name,
                    found,
                    data_type,
                },
            )
        };
        match (&self.kind, values) {
            (ConstantKind::Text(text), Values::Char(values)) => values.extend_from_slice(text),
            (ConstantKind::Char(byte), Values::Char(values)) => values.push(*byte),
            (ConstantKind::Text(text), Values::String(values)) => {
                let text = std::str::from_utf8(text).map_err(|_| of_kind())?;
                values.push(text.to_owned());
            }
            (ConstantKind::Char(byte), Values::String(values)) if byte.is_ascii() => {
                values.push(char::from(*byte).to_string());
            }
            (ConstantKind::Nil, Values::String(values)) => values.push(String::new()),
            (_, Values::Char(_) | Values::String(_)) => return Err(of_kind()),
            (ConstantKind::Text(_) | ConstantKind::Fill | ConstantKind::Nil, _) => {
                return Err(of_kind());
            }
            (_, values) => {
                if self.append_number(values).is_none() {
                    let (name, number) = (name.to_owned(), self.describe());
                    let rule = Rule::OutOfRange {
                        name,
                        number,
                        data_type,
                    };
                    return Err(error(self.position, rule));
                }
            }
        }
        Ok(())
    }

    fn append_number(&self, values: &mut Values) -> Option<()> {
        match values {
            Values::Float(values) => {
                let number = match &self.kind {
                    ConstantKind::Whole(number, _) => *number as f32,
                    ConstantKind::MinusZero(_) => -0.0,
                    ConstantKind::Real(number, _) => real(number, str::parse, f32::is_finite)?,
                    ConstantKind::Char(byte) => f32::from(*byte),
                    _ => return None,
                };
                values.push(number);
                return Some(());
            }
            Values::Double(values) => {
                let number = match &self.kind {
                    ConstantKind::Whole(number, _) => *number as f64,
                    ConstantKind::MinusZero(_) => -0.0,
                    ConstantKind::Real(number, _) => double(number)?,
                    ConstantKind::Char(byte) => f64::from(*byte),
                    _ => return None,
                };
                values.push(number);
                return Some(());
            }
            _ => {}
        }
        let whole = match &self.kind {
            ConstantKind::Whole(number, _) => *number,
            ConstantKind::MinusZero(_) => 0,
            ConstantKind::Char(byte) => match values {
                Values::Byte(_) => i128::from(byte.cast_signed()),
                _ => i128::from(*byte),
            },
            ConstantKind::Real(number, _) => {
                let number: f64 = real(number, str::parse, f64::is_finite)?;
                // Beyond 2^64 nothing fits anyway.
                if number.fract() != 0.0 || number.abs() > 2e19 {
                    return None;
                }
                number as i128
            }
            _ => return None,
        };
        match values {
            Values::Byte(values) => values.push(whole.try_into().ok()?),
            Values::UByte(values) => values.push(whole.try_into().ok()?),
            Values::Short(values) => values.push(whole.try_into().ok()?),
            Values::UShort(values) => values.push(whole.try_into().ok()?),
            Values::Int(values) => values.push(whole.try_into().ok()?),
            Values::UInt(values) => values.push(whole.try_into().ok()?),
            Values::Int64(values) => values.push(whole.try_into().ok()?),
            Values::UInt64(values) => values.push(whole.try_into().ok()?),
            _ => return None,
        }
        Some(())
    }
}

/// Returns the type of an attribute that is given none: char for texts, else the narrowest that its numbers have and fit.
pub(super) fn common_type(constants: &[Constant], name: &str) -> Result<DataType, CdlError> {
    let mut widest = 0;
    let mut has = (false, false, false, false); // text, whole, float, double
    for constant in constants {
        match constant.data_type() {
            Some(DataType::Char) => has.0 = true,
            Some(DataType::Float) => has.2 = true,
            Some(DataType::Double) => has.3 = true,
            Some(whole) => {
                has.1 = true;
                let rank = WHOLE.iter().position(|&it| it == whole).unwrap_or(0);
                widest = widest.max(rank);
            }
            None => {
                let (name, found) = (name.to_owned(), constant.describe());
                let data_type = DataType::Char;
                let rule = Rule::Kind {
                    name,
                    found,
                    data_type,
                };
                return Err(error(constant.position, rule));
            }
        }
    }
    Ok(match has {
        (false, false, false, false) | (true, false, false, false) => DataType::Char,
        (true, ..) => {
            let name = name.to_owned();
            return Err(error(constants[0].position, Rule::Mixed { name }));
        }
        (.., true) => DataType::Double,
        (_, _, true, _) => DataType::Float,
        _ => {
            let wider = WHOLE[widest..].iter().copied();
            let mut fitting = wider.filter(|&it| {
                let mut values = super::super::list::empty(it);
                constants
                    .iter()
                    .all(|constant| constant.append_number(&mut values).is_some())
            });
            fitting.next().unwrap_or(WHOLE[widest])
        }
    })
}

/// Reads a number, which may be a word for infinity; `None` if it is too large for its type.
fn real<T, E>(
    number: &str,
    parse: impl Fn(&str) -> Result<T, E>,
    is_finite: impl Fn(T) -> bool,
) -> Option<T>
where
    T: Copy,
{
    let value = parse(number).ok()?;
    let is_word = number.ends_with(|last: char| last.is_ascii_alphabetic());
    (is_word || is_finite(value)).then_some(value)
}

/// Reads the words for no number and for infinity, which may have a sign and be floats.
fn special(word: &str) -> Option<ConstantKind> {
    let (sign, bare) = match word.as_bytes().first()? {
        b'-' => ("-", &word[1..]),
        b'+' => ("", &word[1..]),
        _ => ("", word),
    };
    let (word, data_type) = match bare {
        "NaN" | "nan" => ("NaN", DataType::Double),
        "NaNf" | "nanf" => ("NaN", DataType::Float),
        "Infinity" | "inf" => ("inf", DataType::Double),
        "Infinityf" | "inff" => ("inf", DataType::Float),
        _ => return None,
    };
    Some(ConstantKind::Real(format!("{sign}{word}"), data_type))
}

/// The largest double with the 15 digits that `ncdump` prints, which are rounded up.
const LARGEST: &str = "1.79769313486232e+308";

/// Reads a double; `None` if it is out of range.
fn double(text: &str) -> Option<f64> {
    match text.strip_prefix('-') {
        Some(LARGEST) => Some(f64::MIN),
        None if text == LARGEST => Some(f64::MAX),
        _ => real(text, str::parse, f64::is_finite),
    }
}

/// Reads a number; `None` if the text is no number.
fn number_of(text: &str, position: Position) -> Result<Option<ConstantKind>, CdlError> {
    if let Some(kind) = special(text) {
        return Ok(Some(kind));
    }
    let (is_negative, bare) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let sign = if is_negative { "-" } else { "" };
    let is_hexadecimal = bare.starts_with("0x") || bare.starts_with("0X");
    if !is_hexadecimal && bare.contains(['.', 'e', 'E', 'f', 'F', 'd', 'D']) {
        let (digits, data_type) = match bare.as_bytes().last() {
            Some(b'f' | b'F') => (&bare[..bare.len() - 1], DataType::Float),
            Some(b'd' | b'D') => (&bare[..bare.len() - 1], DataType::Double),
            _ => (bare, DataType::Double),
        };
        let is_spelt = digits.bytes().any(|byte| byte.is_ascii_digit())
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
            && digits.parse::<f64>().is_ok();
        return Ok(is_spelt.then(|| ConstantKind::Real(format!("{sign}{digits}"), data_type)));
    }
    let (digits, suffix) = split_suffix(bare, is_hexadecimal);
    let Some(magnitude) = magnitude(digits) else {
        return Ok(None);
    };
    let Ok(magnitude) = i128::try_from(magnitude) else {
        return Err(out_of_range(text, DataType::UInt64, position));
    };
    let value = if is_negative { -magnitude } else { magnitude };
    let data_type = match suffix.to_ascii_lowercase().as_str() {
        "" => [
            DataType::Int,
            DataType::UInt,
            DataType::Int64,
            DataType::UInt64,
        ]
        .into_iter()
        .find(|&it| fits(value, it))
        .unwrap_or(DataType::UInt64),
        "b" => DataType::Byte,
        "s" => DataType::Short,
        "l" => DataType::Int,
        "ll" => DataType::Int64,
        "ub" => DataType::UByte,
        "us" => DataType::UShort,
        "u" | "ul" => DataType::UInt,
        "ull" => DataType::UInt64,
        _ => return Ok(None),
    };
    if value == 0 && is_negative {
        Ok(Some(ConstantKind::MinusZero(data_type)))
    } else if fits(value, data_type) {
        Ok(Some(ConstantKind::Whole(value, data_type)))
    } else {
        Err(out_of_range(text, data_type, position))
    }
}

fn out_of_range(text: &str, data_type: DataType, position: Position) -> CdlError {
    let number = shortened(text);
    let name = format!("the constant {number}");
    error(
        position,
        Rule::OutOfRange {
            name,
            number,
            data_type,
        },
    )
}

/// Separates a whole number from its suffix. The digits of a hexadecimal number go on as far as they can.
fn split_suffix(text: &str, is_hexadecimal: bool) -> (&str, &str) {
    let is_digit = |c: char| match is_hexadecimal {
        true => c.is_ascii_hexdigit(),
        false => c.is_ascii_digit(),
    };
    let start = if is_hexadecimal { 2 } else { 0 };
    let end = text[start..]
        .find(|c| !is_digit(c))
        .map_or(text.len(), |at| start + at);
    text.split_at(end)
}

/// Reads decimal, octal (`017`) and hexadecimal (`0x1f`) digits; `None` if they are none. Too large a number is the largest.
fn magnitude(digits: &str) -> Option<u128> {
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some(u128::from_str_radix(digits, radix).unwrap_or(u128::MAX))
}

fn fits(value: i128, data_type: DataType) -> bool {
    match data_type {
        DataType::Byte => i8::try_from(value).is_ok(),
        DataType::UByte => u8::try_from(value).is_ok(),
        DataType::Short => i16::try_from(value).is_ok(),
        DataType::UShort => u16::try_from(value).is_ok(),
        DataType::Int => i32::try_from(value).is_ok(),
        DataType::UInt => u32::try_from(value).is_ok(),
        DataType::Int64 => i64::try_from(value).is_ok(),
        DataType::UInt64 => u64::try_from(value).is_ok(),
        DataType::Char | DataType::Float | DataType::Double | DataType::String => false,
    }
}

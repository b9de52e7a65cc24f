//! Values of attributes as JSON: with a type beside them, and without one.

use serde_json::{Map, Number, Value, json};

use crate::{DataType, Dimension, Values};

/// Spellings of the numbers that JSON lacks; the first of each is written.
const NAN: [&str; 2] = ["NaN", "nan"];
const INFINITY: [&str; 4] = ["Infinity", "infinity", "inf", "+Infinity"];
const NEGATIVE_INFINITY: [&str; 3] = ["-Infinity", "-infinity", "-inf"];

/// Reads a value whose type is known. Chars take any JSON: what is not text becomes its JSON text, which is how netCDF
/// stores char attributes that look like JSON.
///
/// # Errors
/// Why it is no value of the type.
pub(crate) fn typed(value: &Value, data_type: DataType) -> Result<Values, String> {
    let refuse = || format!("{value} is not of the type {data_type}");
    let whole = |least: i128, most: i128| -> Result<Vec<i128>, String> {
        let number = |one: &Value| whole(one).filter(|it| (least..=most).contains(it));
        let numbers: Option<Vec<i128>> = list(value).iter().map(number).collect();
        numbers.ok_or_else(refuse)
    };
    // The range was checked: the casts keep every value.
    macro_rules! integers {
        ($kind:ident, $type:ty) => {{
            let numbers = whole(<$type>::MIN.into(), <$type>::MAX.into())?;
            Values::$kind(numbers.into_iter().map(|it| it as $type).collect())
        }};
    }
    let floats = || -> Result<Vec<f64>, String> {
        let numbers: Option<Vec<f64>> = list(value).iter().map(float).collect();
        numbers.ok_or_else(refuse)
    };
    Ok(match data_type {
        DataType::Byte => integers!(Byte, i8),
        DataType::UByte => integers!(UByte, u8),
        DataType::Short => integers!(Short, i16),
        DataType::UShort => integers!(UShort, u16),
        DataType::Int => integers!(Int, i32),
        DataType::UInt => integers!(UInt, u32),
        DataType::Int64 => integers!(Int64, i64),
        DataType::UInt64 => integers!(UInt64, u64),
        DataType::Float => Values::Float(floats()?.into_iter().map(|it| it as f32).collect()),
        DataType::Double => Values::Double(floats()?),
        DataType::Char => Values::Char(match value {
            Value::String(text) => text.clone().into_bytes(),
            other => text(other).into_bytes(),
        }),
        DataType::String => {
            let text = |one: &Value| one.as_str().map(str::to_owned);
            let texts: Option<Vec<String>> = list(value).iter().map(text).collect();
            Values::String(texts.ok_or_else(refuse)?)
        }
    })
}

/// Reads a value without a declared type.
///
/// | JSON | type |
/// |---|---|
/// | whole numbers | the first of `int`, `uint`, `int64`, `uint64` that holds them all |
/// | numbers of which one has a fraction or an exponent | `double` |
/// | text | `char` |
/// | texts in a list | `string` (netCDF-C takes their JSON text) |
/// | truth values | `ubyte` |
/// | anything else, an empty list too | `char`: its JSON text |
pub(crate) fn untyped(value: &Value) -> Values {
    let values = list(value);
    let candidates: &[DataType] = match values.first() {
        Some(Value::Number(_)) => &[
            DataType::Int,
            DataType::UInt,
            DataType::Int64,
            DataType::UInt64,
            DataType::Double,
        ],
        Some(Value::String(_)) if value.is_array() => &[DataType::String],
        Some(Value::Bool(_)) => {
            let all: Option<Vec<u8>> = values.iter().map(|it| it.as_bool().map(u8::from)).collect();
            match all {
                Some(all) => return Values::UByte(all),
                None => &[],
            }
        }
        _ => &[],
    };
    let is_number = values.iter().all(Value::is_number);
    let has_fraction = values.iter().any(|it| it.is_number() && it.is_f64());
    for candidate in candidates {
        let is_whole = !matches!(candidate, DataType::Double | DataType::String);
        if is_whole && (has_fraction || !is_number) {
            continue;
        }
        if *candidate == DataType::Double && !is_number {
            continue;
        }
        if let Ok(found) = typed(value, *candidate) {
            return found;
        }
    }
    match value {
        Value::String(text) => Values::text(text),
        other => Values::text(&text(other)),
    }
}

/// Writes values, a single one without a list around it; strings always in a list, which tells them from chars. Chars
/// that are not UTF-8 become a list of numbers.
pub(crate) fn written(values: &Values) -> Value {
    fn one_or_list<T>(list: &[T], json: impl Fn(&T) -> Value) -> Value {
        match list {
            [one] => json(one),
            several => Value::Array(several.iter().map(json).collect()),
        }
    }
    match values {
        Values::Byte(list) => one_or_list(list, |it| (*it).into()),
        Values::Short(list) => one_or_list(list, |it| (*it).into()),
        Values::Int(list) => one_or_list(list, |it| (*it).into()),
        Values::Int64(list) => one_or_list(list, |it| (*it).into()),
        Values::UByte(list) => one_or_list(list, |it| (*it).into()),
        Values::UShort(list) => one_or_list(list, |it| (*it).into()),
        Values::UInt(list) => one_or_list(list, |it| (*it).into()),
        Values::UInt64(list) => one_or_list(list, |it| (*it).into()),
        Values::Float(list) => one_or_list(list, |it| of_float(single(*it))),
        Values::Double(list) => one_or_list(list, |it| of_float(*it)),
        Values::Char(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => Value::Array(bytes.iter().map(|it| (*it).into()).collect()),
        },
        Values::String(list) => Value::Array(list.iter().map(|it| it.as_str().into()).collect()),
    }
}

/// Returns a number; the three that JSON lacks as texts.
pub(crate) fn of_float(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => NAN[0].into(),
        None if value > 0.0 => INFINITY[0].into(),
        None => NEGATIVE_INFINITY[0].into(),
    }
}

/// Reads a number, also the texts of those that JSON lacks.
pub(crate) fn float(value: &Value) -> Option<f64> {
    let Value::String(text) = value else {
        return value.as_f64();
    };
    let is = |names: &[&str]| names.contains(&text.as_str());
    match () {
        () if is(&NAN) => Some(f64::NAN),
        () if is(&INFINITY) => Some(f64::INFINITY),
        () if is(&NEGATIVE_INFINITY) => Some(f64::NEG_INFINITY),
        () => None,
    }
}

/// Reads a number without a fraction.
pub(crate) fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) if !number.is_f64() => number.as_i128(),
        Value::Number(number) => {
            let float = number.as_f64().filter(|it| it.fract() == 0.0)?;
            // Beyond its range the cast stays at the end, which no type reaches.
            Some(float as i128)
        }
        _ => None,
    }
}

/// The number with the fewest digits that is this one again when it is read as a `float`.
fn single(value: f32) -> f64 {
    let short = value.to_string().parse::<f64>();
    match short {
        Ok(short) if short as f32 == value => short,
        _ => f64::from(value),
    }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(list) => list,
        one => std::slice::from_ref(one),
    }
}

/// JSON text as netCDF-C writes it: a blank after the colon and between the members of an object, none in lists.
fn text(value: &Value) -> String {
    let joined = |parts: Vec<String>, between: &str| parts.join(between);
    match value {
        Value::Array(list) => format!("[{}]", joined(list.iter().map(text).collect(), ",")),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), text(value))
            };
            format!("{{{}}}", joined(members.iter().map(member).collect(), ", "))
        }
        scalar => scalar.to_string(),
    }
}

/// Returns dimensions as records have them, by name and in order.
pub(crate) fn dimensions(dimensions: &[Dimension]) -> Map<String, Value> {
    let one = |dimension: &Dimension| {
        let size = match dimension.is_unlimited {
            true => json!({ "size": dimension.length, "unlimited": 1 }),
            false => dimension.length.into(),
        };
        (dimension.name.clone(), size)
    };
    dimensions.iter().map(one).collect()
}

/// Returns what a key holds if that is an object.
pub(crate) fn object<'a>(
    fields: &'a Map<String, Value>,
    key: &str,
) -> Option<&'a Map<String, Value>> {
    fields.get(key)?.as_object()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_nobody_says_are_inferred() {
        assert_eq!(untyped(&json!(17)), Values::Int(vec![17]));
        assert_eq!(
            untyped(&json!(4_000_000_000_u32)),
            Values::UInt(vec![4_000_000_000])
        );
        assert_eq!(
            untyped(&json!([-1, 4_000_000_000_u32])),
            Values::Int64(vec![-1, 4_000_000_000])
        );
        assert_eq!(untyped(&json!(u64::MAX)), Values::UInt64(vec![u64::MAX]));
        assert_eq!(untyped(&json!([1, 2.5])), Values::Double(vec![1.0, 2.5]));
        assert_eq!(
            untyped(&json!([-1, u64::MAX])),
            Values::Double(vec![-1.0, u64::MAX as f64])
        );
        assert_eq!(untyped(&json!("m")), Values::text("m"));
        assert_eq!(untyped(&json!("")), Values::text(""));
        assert_eq!(
            untyped(&json!(["p", "qq"])),
            Values::String(vec!["p".into(), "qq".into()])
        );
        assert_eq!(untyped(&json!([true, false])), Values::UByte(vec![1, 0]));
        assert_eq!(untyped(&json!(["p", 1])), Values::text("[\"p\",1]"));
        assert_eq!(untyped(&json!([1, "p"])), Values::text("[1,\"p\"]"));
        assert_eq!(untyped(&json!(null)), Values::text("null"));
        assert_eq!(untyped(&json!([])), Values::text("[]"));
        let nested = json!({"a": [1, 2], "b": "c"});
        assert_eq!(untyped(&nested), Values::text(r#"{"a": [1,2], "b": "c"}"#));
    }

    #[test]
    fn values_are_of_their_type_or_refused() {
        assert_eq!(
            typed(&json!(250), DataType::UByte),
            Ok(Values::UByte(vec![250]))
        );
        assert!(typed(&json!(256), DataType::UByte).is_err());
        assert!(typed(&json!(0.5), DataType::Int).is_err());
        assert_eq!(typed(&json!(2.0), DataType::Int), Ok(Values::Int(vec![2])));
        assert_eq!(
            typed(&json!(12345), DataType::Char),
            Ok(Values::text("12345"))
        );
        assert_eq!(
            typed(&json!(["-Infinity", 1]), DataType::Float),
            Ok(Values::Float(vec![f32::NEG_INFINITY, 1.0]))
        );
        assert!(typed(&json!("x"), DataType::Double).is_err());
        assert!(typed(&json!([1]), DataType::String).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for values in [
            Values::Byte(vec![-3]),
            Values::UInt64(vec![u64::MAX, 0]),
            Values::Float(vec![0.1, f32::MIN_POSITIVE, f32::MAX, -0.0]),
            Values::Double(vec![0.1, 5e-324, f64::MAX, f64::INFINITY]),
            Values::text("{\"a\": 1}"),
            Values::text("12345"),
            Values::text(""),
            Values::String(vec!["one".into()]),
            Values::String(Vec::new()),
        ] {
            assert_eq!(typed(&written(&values), values.data_type()), Ok(values));
        }
        assert_eq!(written(&Values::Float(vec![0.1])), json!(0.1));
        assert_eq!(written(&Values::Double(vec![f64::NAN])), json!("NaN"));
    }
}

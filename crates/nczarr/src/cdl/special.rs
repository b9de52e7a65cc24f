//! How elements are stored, as attributes with a meaning to netCDF.
//!
//! `ncdump` shows checksums, shuffling and deflation by attributes of their own. Other filters, and these in an unusual
//! order, are a list in one attribute: `_Filter` by the numbers that HDF5 has for them, `_Codecs` by their configurations.

use serde_json::{Value, json};

use crate::{Attribute, Dataset, Endian, Fill, Filter, ModelError, Values, Variable};

/// The filters that HDF5 has numbers for.
const DEFLATE: u32 = 1;
const SHUFFLE: u32 = 2;
const FLETCHER32: u32 = 3;
const BZIP2: u32 = 307;
const ZSTANDARD: u32 = 32015;

/// Returns what `ncdump -s` shows of a variable.
pub(super) fn special_attributes(
    dataset: &Dataset,
    variable: &Variable,
) -> Result<Vec<Attribute>, ModelError> {
    dataset.shape(variable)?;
    let storage = &variable.storage;
    let mut found = Vec::new();
    let mut add = |name: &str, values| {
        found.push(Attribute {
            name: name.to_owned(),
            values,
        });
    };
    if !storage.chunk_shape.is_empty() {
        add("_Storage", Values::text("chunked"));
        add("_ChunkSizes", lengths(&storage.chunk_shape));
    }
    filters(&storage.filters, &mut add);
    if variable.data_type.bytes().is_some_and(|bytes| bytes > 1) {
        let order = match storage.endian {
            Endian::Little => "little",
            Endian::Big => "big",
        };
        add("_Endianness", Values::text(order));
    }
    if variable.fill == Fill::Off {
        add("_NoFill", Values::text("true"));
    }
    Ok(found)
}

/// Returns what `ncdump -s` shows of the dataset itself.
pub(super) fn global_attributes() -> Vec<Attribute> {
    vec![Attribute {
        name: String::from("_Format"),
        values: Values::text("netCDF-4"),
    }]
}

fn lengths(lengths: &[u64]) -> Values {
    let small = lengths.iter().map(|&it| i32::try_from(it).ok());
    match small.collect() {
        Some(small) => Values::Int(small),
        None => Values::UInt64(lengths.to_vec()),
    }
}

fn filters(filters: &[Filter], add: &mut impl FnMut(&str, Values)) {
    let place = |filter: &Filter| match filter {
        Filter::Shuffle => 1,
        Filter::Deflate(_) => 2,
        Filter::Fletcher32 => 3,
        _ => 0,
    };
    let places: Vec<_> = filters.iter().map(place).collect();
    if filters.is_empty() {
        return;
    }
    if !places.contains(&0) && places.windows(2).all(|pair| pair[0] < pair[1]) {
        if places.contains(&3) {
            add("_Fletcher32", Values::text("true"));
        }
        if places.contains(&1) {
            add("_Shuffle", Values::text("true"));
        }
        for filter in filters {
            if let Filter::Deflate(level) = filter {
                add(
                    "_DeflateLevel",
                    Values::Int(vec![i32::try_from(*level).unwrap_or(i32::MAX)]),
                );
            }
        }
        return;
    }
    let numbers: Option<Vec<_>> = filters.iter().map(numbers).collect();
    match numbers {
        Some(numbers) => add("_Filter", Values::text(&numbers.join("|"))),
        None => {
            let codecs: Vec<_> = filters.iter().map(codec).collect();
            add("_Codecs", Values::text(&Value::Array(codecs).to_string()));
        }
    }
}

/// Returns a filter by HDF5's number for it and its parameters.
fn numbers(filter: &Filter) -> Option<String> {
    Some(match filter {
        Filter::Deflate(level) => format!("{DEFLATE},{level}"),
        Filter::Shuffle => SHUFFLE.to_string(),
        Filter::Fletcher32 => FLETCHER32.to_string(),
        Filter::Zstandard(level) => format!("{ZSTANDARD},{}", level.cast_unsigned()),
        Filter::Bzip2(level) => format!("{BZIP2},{level}"),
        Filter::Other(_) => return None,
    })
}

/// Returns a filter by its configuration.
fn codec(filter: &Filter) -> Value {
    match filter {
        Filter::Deflate(level) => json!({"id": "zlib", "level": level}),
        Filter::Shuffle => json!({"id": "shuffle"}),
        Filter::Fletcher32 => json!({"id": "fletcher32"}),
        Filter::Zstandard(level) => json!({"id": "zstd", "level": level}),
        Filter::Bzip2(level) => json!({"id": "bz2", "level": level}),
        Filter::Other(configuration) => configuration.clone(),
    }
}

/// Reads the text of `_Filter`; `None` for what has no word here.
fn of_numbers(text: &str) -> Option<Vec<Filter>> {
    let one = |text: &str| {
        let numbers = text.split(',').map(|it| it.trim().parse::<u32>().ok());
        let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
        Some(match numbers[..] {
            [DEFLATE, level @ 0..=9] => Filter::Deflate(level),
            [SHUFFLE] | [SHUFFLE, _] => Filter::Shuffle,
            [FLETCHER32] => Filter::Fletcher32,
            [ZSTANDARD, level] => Filter::Zstandard(level.cast_signed()),
            [BZIP2, level @ 1..=9] => Filter::Bzip2(level),
            _ => return None,
        })
    };
    text.split('|').map(one).collect()
}

/// Reads the text of `_Codecs`; `None` if it is no list of configurations.
fn of_codecs(text: &str) -> Option<Vec<Filter>> {
    let list: Vec<Value> = serde_json::from_str(text).ok()?;
    let one = |codec: Value| {
        let keys = codec.as_object()?.len();
        let level = codec.get("level").and_then(Value::as_i64);
        let small = level.and_then(|level| u32::try_from(level).ok());
        let known = match (codec.get("id")?.as_str()?, keys) {
            ("zlib", 2) => small.map(Filter::Deflate),
            // With the size of an element, which is that of the variable.
            ("shuffle", 1 | 2) => Some(Filter::Shuffle),
            ("fletcher32", 1) => Some(Filter::Fletcher32),
            ("zstd", 2) => level
                .and_then(|it| i32::try_from(it).ok())
                .map(Filter::Zstandard),
            ("bz2", 2) => small.map(Filter::Bzip2),
            _ => None,
        };
        Some(known.unwrap_or(Filter::Other(codec)))
    };
    list.into_iter().map(one).collect()
}

/// The rule for an attribute with a meaning to netCDF.
pub(super) type Expectation = &'static str;

/// Whether an attribute of a variable was one with a meaning.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    /// It was, and is in the variable now.
    Yes,
    /// It is an ordinary attribute.
    No,
}

/// Takes the meaning of an attribute into a variable.
pub(super) fn take_special(
    variable: &mut Variable,
    name: &str,
    values: &Values,
) -> Result<Taken, Expectation> {
    match name {
        "_Storage" => {
            one_of(values, &["chunked", "contiguous", "compact"])
                .ok_or("\"chunked\", \"contiguous\" or \"compact\"")?;
        }
        "_ChunkSizes" => {
            let rank = variable.dimensions.len();
            let sizes =
                whole_numbers(values).filter(|sizes| sizes.len() == rank && !sizes.contains(&0));
            variable.storage.chunk_shape =
                sizes.ok_or("a number of at least 1 for each dimension")?;
        }
        "_DeflateLevel" => {
            let level = whole_numbers(values).filter(|it| it.len() == 1 && it[0] <= 9);
            let level = level.ok_or("a number of 0 to 9")?[0];
            if level > 0 {
                insert(variable, Filter::Deflate(u32::try_from(level).unwrap_or(9)));
            }
        }
        "_Shuffle" => switch(variable, Filter::Shuffle, values)?,
        "_Fletcher32" => switch(variable, Filter::Fletcher32, values)?,
        "_Filter" => {
            let filters = as_text(values).and_then(of_numbers);
            for filter in filters.ok_or(
                "numbers of filters and their parameters, as \"2|1,5\" (1 deflate, 2 shuffle, 3 fletcher32, 307 bzip2, 32015 zstd)",
            )? {
                variable.storage.filters.push(filter);
            }
        }
        "_Codecs" => {
            let filters = as_text(values).and_then(of_codecs);
            variable.storage.filters = filters.ok_or("a list of configurations in JSON")?;
        }
        "_Endianness" => {
            let order = one_of(values, &["little", "big", "native"]);
            variable.storage.endian = match order.ok_or("\"little\" or \"big\"")? {
                1 => Endian::Big,
                _ => Endian::Little,
            };
        }
        "_NoFill" => {
            if truth(values)? {
                variable.fill = Fill::Off;
            }
        }
        _ => return Ok(Taken::No),
    }
    Ok(Taken::Yes)
}

/// Returns whether an attribute of the root group describes the file and is not part of the dataset.
pub(super) fn is_of_file(name: &str) -> bool {
    matches!(
        name,
        "_Format" | "_NCProperties" | "_IsNetcdf4" | "_SuperblockVersion"
    )
}

/// Puts a filter where netCDF has it: shuffling first, a checksum last.
fn insert(variable: &mut Variable, filter: Filter) {
    let filters = &mut variable.storage.filters;
    let is_last = |it: &&Filter| matches!(it, Filter::Fletcher32);
    let at = match filter {
        Filter::Shuffle => 0,
        Filter::Fletcher32 => filters.len(),
        _ => filters.len() - filters.iter().rev().take_while(is_last).count(),
    };
    filters.insert(at, filter);
}

fn switch(variable: &mut Variable, filter: Filter, values: &Values) -> Result<(), Expectation> {
    if truth(values)? {
        insert(variable, filter);
    }
    Ok(())
}

fn truth(values: &Values) -> Result<bool, Expectation> {
    let numbers = whole_numbers(values).filter(|it| it.len() == 1 && it[0] <= 1);
    let number = numbers.map(|it| it[0] == 1);
    let word = one_of(values, &["true", "false"]).map(|at| at == 0);
    number.or(word).ok_or("\"true\" or \"false\"")
}

fn one_of(values: &Values, words: &[&str]) -> Option<usize> {
    let text = as_text(values)?;
    words
        .iter()
        .position(|word| text.eq_ignore_ascii_case(word))
}

fn as_text(values: &Values) -> Option<&str> {
    match values {
        Values::Char(text) => std::str::from_utf8(text).ok(),
        Values::String(texts) if texts.len() == 1 => Some(&texts[0]),
        _ => None,
    }
}

fn whole_numbers(values: &Values) -> Option<Vec<u64>> {
    fn all<T: Copy>(list: &[T]) -> Option<Vec<u64>>
    where
        u64: TryFrom<T>,
    {
        list.iter().map(|&it| u64::try_from(it).ok()).collect()
    }
    match values {
        Values::Byte(list) => all(list),
        Values::Short(list) => all(list),
        Values::Int(list) => all(list),
        Values::UByte(list) => all(list),
        Values::UShort(list) => all(list),
        Values::UInt(list) => all(list),
        Values::Int64(list) => all(list),
        Values::UInt64(list) => Some(list.clone()),
        Values::Char(_) | Values::Float(_) | Values::Double(_) | Values::String(_) => None,
    }
}

//! Every dataset of format 2: dimensions, types and attributes as expected, and the same again from both spellings that
//! are written.

use std::collections::BTreeMap;

use icefield_nczarr::{
    DataType, Dataset, Endian, Generation, NczarrError, Opened, ReadOptions, Storage, Values,
    Variable, read, read_zarr3, write, write_zarr3,
};
use serde_json::{Value, json};

use crate::fixtures::{Case, directories};

/// The vectors that netCDF has no types for: those are imported as plain Zarr and are no datasets.
const NO_DATASETS: [&str; 1] = ["zarr-python-v2-dir"];

fn opened(case: &Case) -> Result<Opened, NczarrError> {
    read(&case.documents, ReadOptions::default())
}

/// All that are datasets.
fn datasets() -> Vec<(Case, Opened)> {
    let mut found = Vec::new();
    for case in directories() {
        match opened(&case) {
            Ok(opened) => found.push((case, opened)),
            Err(error) => {
                assert!(NO_DATASETS.contains(&&*case.name), "{}: {error}", case.name);
            }
        }
    }
    found
}

#[test]
fn generations_are_told_by_their_marks() {
    for (case, opened) in datasets() {
        let told = case.expected["generation"].as_str().expect("a text");
        let expected = match told {
            "keys upper-case inside .zgroup/.zarray/.zattrs" => Generation::G1,
            "keys lower-case inside .zgroup/.zarray" => Generation::G2,
            "keys lower-case inside .zattrs" => Generation::G3,
            _ => Generation::Pure,
        };
        assert_eq!(opened.generation, expected, "{}", case.name);
    }
}

#[test]
fn variables_dimensions_and_attributes_are_the_expected_ones() {
    for (case, opened) in datasets() {
        let expected = case.expected["arrays"].as_object().expect("an object");
        let found = opened.dataset.variables();
        assert_eq!(found.len(), expected.len(), "{}", case.name);
        for (path, variable) in found {
            let at = format!("{} {path}", case.name);
            let expected = expected.get(&path).unwrap_or_else(|| panic!("{at} is new"));
            let shape = opened.dataset.shape(variable).expect("defined");
            assert_eq!(json!(shape), expected["shape"], "{at}");
            // Plain Zarr of netCDF-C 4.9.0 has names in the root alone.
            let is_below = path.rfind('/') > Some(0) && case.name == "ncgen-4.9.0-zarr/groups";
            let is_anonymous = case.name.contains("noxarray") || is_below;
            // zarr-python knows no dimensions.
            if !is_anonymous && !case.name.starts_with("zarr-python") {
                let names = variable.dimensions.iter().map(|it| it.name());
                assert_eq!(json!(names.collect::<Vec<_>>()), expected["dims"], "{at}");
            }
            let written = expected["dtype"].as_str().expect("a text");
            let is_pure = opened.generation == Generation::Pure;
            // Without NCZarr's records a char is a char still, by its order of bytes.
            assert_eq!(name(variable.data_type), written, "{at}");
            for (name, expected) in expected["attrs"].as_object().expect("an object") {
                let found = variable.attribute(name);
                let found = found.unwrap_or_else(|| panic!("{at} lacks {name}"));
                // Types are lost in plain Zarr; values are not.
                same(found, expected, !is_pure, &format!("{at} {name}"));
            }
            let count = expected["attrs"].as_object().map_or(0, |all| all.len());
            let fill = variable.attribute("_FillValue").is_some();
            if case.name.contains("fill") {
                assert!(
                    variable.attributes.len() <= count + usize::from(fill),
                    "{at}"
                );
            }
        }
    }
}

fn name(data_type: DataType) -> &'static str {
    match data_type {
        DataType::Byte => "int8",
        DataType::UByte => "uint8",
        DataType::Short => "int16",
        DataType::UShort => "uint16",
        DataType::Int => "int32",
        DataType::UInt => "uint32",
        DataType::Int64 => "int64",
        DataType::UInt64 => "uint64",
        DataType::Float => "float32",
        DataType::Double => "float64",
        DataType::Char => "char",
        DataType::String => "string",
    }
}

/// Compares an attribute with `{"type": "int8", "value": 1}`.
fn same(found: &Values, expected: &Value, has_types: bool, at: &str) {
    let told = expected["type"].as_str().expect("a text");
    let text = |bytes: &[u8]| json!(String::from_utf8_lossy(bytes));
    fn one_or_list<T: serde_like::Json>(list: &[T]) -> Value {
        match list {
            [one] => one.json(),
            several => Value::Array(several.iter().map(serde_like::Json::json).collect()),
        }
    }
    let value = match found {
        Values::Char(bytes) => text(bytes),
        Values::Byte(list) => one_or_list(list),
        Values::UByte(list) => one_or_list(list),
        Values::Short(list) => one_or_list(list),
        Values::UShort(list) => one_or_list(list),
        Values::Int(list) => one_or_list(list),
        Values::UInt(list) => one_or_list(list),
        Values::Int64(list) => one_or_list(list),
        Values::UInt64(list) => one_or_list(list),
        Values::Float(list) => one_or_list(list),
        Values::Double(list) => one_or_list(list),
        Values::String(list) => one_or_list(list),
    };
    if has_types {
        let found = match found.data_type() {
            DataType::Char => "text",
            other => name(other),
        };
        assert_eq!(found, told, "{at}");
        assert_eq!(value, expected["value"], "{at}");
        return;
    }
    let close = |one: &Value, other: &Value| match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-6,
        _ => one == other,
    };
    let all = match (&value, &expected["value"]) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| close(one, other))
        }
        (one, other) => close(one, other),
    };
    assert!(all, "{at}: {value} and {}", expected["value"]);
}

mod serde_like {
    use serde_json::Value;

    pub(super) trait Json {
        fn json(&self) -> Value;
    }

    macro_rules! all {
        ($($type:ty),*) => { $(impl Json for $type {
            fn json(&self) -> Value {
                Value::from(self.clone())
            }
        })* };
    }

    all!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, String);
}

/// The parts that do not depend on how elements are stored, as text: there, every NaN is every other.
fn bare(mut dataset: Dataset) -> String {
    let paths: Vec<String> = dataset.variables().into_iter().map(|it| it.0).collect();
    for path in paths {
        if let Some(variable) = dataset.variable_mut(&path) {
            variable.storage = Storage {
                endian: variable.storage.endian,
                ..Storage::default()
            };
        }
    }
    format!("{dataset:#?}")
}

#[test]
fn what_is_written_in_the_newest_generation_is_read_again() {
    for (case, opened) in datasets() {
        let documents = write(&opened.dataset, &opened.arrays).expect("writable");
        let documents = documents.into_iter().collect();
        let again = read(&documents, ReadOptions::default()).expect("readable");
        assert_eq!(again.generation, Generation::G3);
        assert_eq!(bare(again.dataset), bare(opened.dataset), "{}", case.name);
        assert_eq!(again.arrays, opened.arrays, "{}", case.name);
    }
}

/// The document of an array as an import makes it, as far as the model looks at it.
fn array(variable: &Variable, dataset: &Dataset, dtype: &str) -> Value {
    let length = |length: usize| json!({ "name": "null_terminated_bytes", "configuration": { "length_bytes": length } });
    let fill = variable.fill_value();
    let (data_type, fill) = match (variable.data_type, fill) {
        (DataType::Char, _) => (length(1), json!("")),
        (DataType::String, _) => {
            let bytes = dtype.trim_start_matches("|S").parse().expect("a length");
            (length(bytes), json!(""))
        }
        (other, None) => (name(other).into(), json!(0)),
        (other, Some(fill)) => {
            let fill = match fill {
                Values::Byte(it) => json!(it[0]),
                Values::UByte(it) => json!(it[0]),
                Values::Short(it) => json!(it[0]),
                Values::UShort(it) => json!(it[0]),
                Values::Int(it) => json!(it[0]),
                Values::UInt(it) => json!(it[0]),
                Values::Int64(it) => json!(it[0]),
                Values::UInt64(it) => json!(it[0]),
                Values::Float(it) if it[0].is_nan() => json!("NaN"),
                Values::Double(it) if it[0].is_nan() => json!("NaN"),
                Values::Float(it) => json!(it[0]),
                Values::Double(it) => json!(it[0]),
                Values::Char(_) | Values::String(_) => panic!("texts come before"),
            };
            (name(other).into(), fill)
        }
    };
    let endian = match variable.storage.endian {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    json!({
        "node_type": "array",
        "shape": dataset.shape(variable).expect("defined"),
        "data_type": data_type,
        "fill_value": fill,
        "codecs": [{ "name": "bytes", "configuration": { "endian": endian } }],
    })
}

/// Datasets through Zarr v3 documents and back.
fn through_zarr3(opened: &Opened) -> (Dataset, BTreeMap<String, Value>) {
    let dtype = |document: &Value| document["dtype"].as_str().expect("a text").to_owned();
    let dtypes: BTreeMap<_, _> = opened
        .arrays
        .iter()
        .map(|(path, document)| (path.clone(), dtype(document)))
        .collect();
    let nodes = write_zarr3(&opened.dataset, &dtypes).expect("defined");
    let mut documents = BTreeMap::new();
    for (path, node) in nodes {
        let mut document = match opened.dataset.variable(&path) {
            Some(variable) => array(variable, &opened.dataset, &dtypes[&path]),
            None => json!({ "node_type": "group" }),
        };
        document["attributes"] = node.attributes.into();
        if !node.dimension_names.is_empty() {
            document["dimension_names"] = json!(node.dimension_names);
        }
        documents.insert(path, document);
    }
    (read_zarr3(&documents).expect("readable"), documents)
}

#[test]
fn what_is_written_as_zarr_v3_is_read_again() {
    for (case, opened) in datasets() {
        let (again, _) = through_zarr3(&opened);
        assert_eq!(bare(again), bare(opened.dataset), "{}", case.name);
    }
}

#[test]
fn datasets_that_need_no_record_have_none() {
    let has_none = |name: &str| {
        let case = datasets().into_iter().find(|(case, _)| case.name == name);
        let (_, opened) = case.unwrap_or_else(|| panic!("no {name}"));
        let (_, documents) = through_zarr3(&opened);
        let has = |document: &Value| document["attributes"].get("_netcdf").is_some();
        !documents.values().any(has)
    };
    assert!(has_none("netcdf-c-4.10.1-nczarr/zlib"));
    assert!(has_none("netcdf-c-4.10.1-nczarr/char"));
    // A group's variables use the root's dimensions.
    assert!(!has_none("netcdf-c-4.10.1-nczarr/groups"));
    assert!(!has_none("netcdf-c-4.10.1-nczarr/unlim"));
}

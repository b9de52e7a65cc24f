//! Arrays of numbers in trees and in repositories, as readers see them.

use icefield_core::{BranchName, ByteRange, Repository};
use serde_json::{Value, json};

use super::{Tree, array, group, path};

/// The bytes of numbers of a type, little-endian.
pub(crate) fn bytes(data_type: &str, values: &[f64]) -> Vec<u8> {
    let of = |value: &f64| -> Vec<u8> {
        match data_type {
            "int8" => (*value as i8).to_le_bytes().to_vec(),
            "uint8" => (*value as u8).to_le_bytes().to_vec(),
            "int16" => (*value as i16).to_le_bytes().to_vec(),
            "int32" => (*value as i32).to_le_bytes().to_vec(),
            "int64" => (*value as i64).to_le_bytes().to_vec(),
            "float32" => (*value as f32).to_le_bytes().to_vec(),
            "float64" => value.to_le_bytes().to_vec(),
            other => panic!("{other}"),
        }
    };
    values.iter().flat_map(of).collect()
}

fn numbers(data_type: &str, bytes: &[u8]) -> Vec<f64> {
    fn each<const N: usize>(bytes: &[u8], of: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|it| of(*it)).collect()
    }
    match data_type {
        "int8" => each(bytes, |it| i8::from_le_bytes(it).into()),
        "uint8" => each(bytes, |it: [u8; 1]| it[0].into()),
        "int16" => each(bytes, |it| i16::from_le_bytes(it).into()),
        "int32" => each(bytes, |it| i32::from_le_bytes(it).into()),
        "int64" => each(bytes, |it| i64::from_le_bytes(it) as f64),
        "float32" => each(bytes, |it| f32::from_le_bytes(it).into()),
        "float64" => each(bytes, f64::from_le_bytes),
        other => panic!("{other}"),
    }
}

/// The document of an array along `t` in chunks of two.
pub(crate) fn along_t(data_type: &str, length: usize, attributes: Value) -> Value {
    let mut document = array(&[length as u64], &[2], &["t"]);
    document["data_type"] = json!(data_type);
    document["codecs"] = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
    document["attributes"] = attributes;
    document
}

/// A tree of a group.
pub(crate) fn tree() -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})));
    tree
}

/// Writes an array along one dimension, uncompressed and little-endian, in the chunks that its document says.
pub(crate) fn write(tree: &Tree, name: &str, document: &Value, values: &[f64]) {
    tree.json(&format!("{name}/zarr.json"), document);
    let chunk = document["chunk_grid"]["configuration"]["chunk_shape"][0]
        .as_u64()
        .unwrap() as usize;
    for (index, part) in values.chunks(chunk).enumerate() {
        let mut part = part.to_vec();
        part.resize(chunk, 0.0);
        let data_type = document["data_type"].as_str().unwrap();
        tree.file(&format!("{name}/c/{index}"), bytes(data_type, &part));
    }
}

/// The document and the stored numbers of an array of one dimension at the tip of main; absent chunks as the fill value.
pub(crate) async fn stored(repository: &Repository, name: &str) -> (Value, Vec<f64>) {
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let at = path(name);
    let document: Value = serde_json::from_slice(&session.metadata(&at).unwrap().unwrap()).unwrap();
    let array = session.array(&at).unwrap();
    let data_type = document["data_type"].as_str().unwrap();
    let fill = match &document["fill_value"] {
        Value::String(text) if text == "NaN" => f64::NAN,
        value => value.as_f64().unwrap(),
    };
    let mut found = Vec::new();
    for index in 0..array.chunk_counts[0] {
        let chunk = session.chunk(&at, &[index], ByteRange::All).await.unwrap();
        found.extend(match chunk {
            Some(bytes) => numbers(data_type, &bytes),
            None => vec![fill; array.chunk_shape[0] as usize],
        });
    }
    found.truncate(array.shape[0] as usize);
    (document, found)
}

/// How many chunks an array has at the tip of main.
pub(crate) async fn chunks(repository: &Repository, name: &str) -> usize {
    use futures::TryStreamExt;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let chunks = session.chunks(&path(name)).unwrap();
    chunks
        .try_fold(0, |count, _| async move { Ok(count + 1) })
        .await
        .unwrap()
}

/// Numbers as texts, so that NaN is equal to itself.
pub(crate) fn texts(values: &[f64]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

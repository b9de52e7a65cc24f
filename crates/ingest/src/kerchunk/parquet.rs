//! References in Parquet files.
//!
//! ```text
//! .zmetadata              all documents, and record_size, the rows of a file
//! air/refs.0.parq         a row per chunk of /air, in the order of the elements: path, offset, size, raw
//! air/refs.1.parq         the next record_size chunks
//! ```
//!
//! A row without a path and without raw bytes is a chunk that does not exist; one with a path alone is a whole file.

use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use bytes::Bytes;
use futures::TryStreamExt;
use icefield_storage::{ListOptions, ObjectMeta, Prefix, Storage, StorageExt};
use serde_json::Value;

use super::nodes::nodes_of;
use super::targets::Targets;
use crate::archive::{Archive, ArchiveFile, KeyedNodes, OpenUrl, explained};
use crate::names::CONSOLIDATED;
use crate::{SourceError, lossy};

/// Longest file that is read, in bytes: it is in memory while its rows are looked at.
const MAX_FILE: u64 = 1 << 30;
/// Rows of a file at most: a few bytes could stand for any number of equal ones.
const MOST_ROWS: u64 = 1 << 24;

/// Reads references from a directory of Parquet files. `url` is what messages call it; relative URLs begin in it.
///
/// # Errors
/// As [`read_kerchunk`](crate::read_kerchunk).
pub async fn read_kerchunk_parquet(
    storage: Arc<dyn Storage>,
    prefix: &Prefix,
    url: &str,
    files: &dyn OpenUrl,
) -> Result<Archive, SourceError> {
    let url = url.trim_end_matches('/');
    let root = format!("{url}/{}", CONSOLIDATED);
    let mut found = Vec::new();
    let mut list = storage.list_strict(ListOptions::prefix(prefix.clone()));
    let mut documents = None;
    while let Some(object) = list
        .try_next()
        .await
        .map_err(|error| explained(url, error))?
    {
        let Some(key) = object.key.below(prefix) else {
            continue;
        };
        if key == CONSOLIDATED {
            documents = Some(object);
        } else if let Some((directory, number)) = part(key) {
            found.push((directory.to_owned(), number, object));
        }
    }
    let documents = documents.ok_or_else(|| SourceError::NotFound { name: root.clone() })?;
    let (mut nodes, rows_of_a_file) = read_documents(&storage, documents, &root).await?;
    let mut targets = Targets::new(&root);
    for (directory, number, object) in found {
        let called = format!("{url}/{directory}/refs.{number}.parq");
        let Some(array) = nodes.array_at(&directory) else {
            nodes.ignore(called);
            continue;
        };
        let bytes = read(&storage, object, &called).await?;
        let name = called.clone();
        // The decoder of the format panics on some damage; on a thread of its own that ends this file alone.
        let decoded = tokio::task::spawn_blocking(move || rows(bytes, rows_of_a_file, &name)).await;
        let decoded = decoded.map_err(|_| SourceError::damaged(&called, "it cannot be decoded"))?;
        let (decoded, count) = decoded?;
        let first = number.saturating_mul(rows_of_a_file);
        let expected = nodes.chunks_of(array).saturating_sub(first);
        if count < expected.min(rows_of_a_file) {
            let expected = expected.min(rows_of_a_file);
            let problem = format!("it has {count} rows, and stands for {expected} chunks");
            return Err(SourceError::damaged(&called, problem));
        }
        for row in decoded {
            let number = first.saturating_add(row.number);
            let Some(place) = nodes.place_of(array, number) else {
                let problem = format!("row {} is beyond the last chunk of its array", row.number);
                return Err(SourceError::damaged(&called, problem));
            };
            match row.reference {
                Reference::Raw(bytes) => nodes.add_made(place, bytes),
                Reference::InFile { path, range } => {
                    let file = targets.number(&path, |url| Ok(url.to_owned()))?;
                    targets.add(&mut nodes, place, file, range);
                }
            }
        }
    }
    let opened = targets.open(files, &mut nodes).await?;
    nodes.check(&opened, url)?;
    Ok(nodes.into_archive(opened))
}

/// The array's directory and the number of `a/b/refs.7.parq`.
fn part(key: &str) -> Option<(&str, u64)> {
    let (directory, name) = key.rsplit_once('/').unwrap_or(("", key));
    let number = name.strip_prefix("refs.")?.strip_suffix(".parq")?;
    Some((directory, number.parse().ok()?))
}

async fn read(
    storage: &Arc<dyn Storage>,
    object: ObjectMeta,
    name: &str,
) -> Result<Bytes, SourceError> {
    if object.size > MAX_FILE {
        return Err(SourceError::damaged(
            name,
            "it is longer than 1 GiB, the most that is read",
        ));
    }
    let size = object.size;
    ArchiveFile::of_object(Arc::clone(storage), object, name)
        .read(0..size)
        .await
}

async fn read_documents(
    storage: &Arc<dyn Storage>,
    object: ObjectMeta,
    name: &str,
) -> Result<(KeyedNodes, u64), SourceError> {
    let damaged = |problem: String| SourceError::damaged(name, problem);
    let bytes = read(storage, object, name).await?;
    let (mut document, found) = lossy::parse(CONSOLIDATED, &bytes)
        .map_err(|error| damaged(format!("it is not JSON: {error}")))?;
    let rows = document
        .get("record_size")
        .and_then(Value::as_u64)
        .filter(|rows| *rows > 0);
    let rows = rows
        .ok_or_else(|| damaged("it has no \"record_size\" that is a number of rows".to_owned()))?;
    let Some(Value::Object(documents)) = document.get_mut("metadata").map(Value::take) else {
        return Err(damaged("it has no object \"metadata\"".to_owned()));
    };
    // It holds the documents themselves.
    let said = lossy::warnings(found, documents.keys());
    let mut nodes = nodes_of(documents.into_iter().collect(), Vec::new(), name, |_| true)?;
    nodes.check_unsupported(false)?;
    said.into_iter().for_each(|warning| nodes.warn(warning));
    Ok((nodes, rows))
}

/// A row that says something.
struct Found {
    number: u64,
    reference: Reference,
}

enum Reference {
    Raw(Bytes),
    InFile {
        path: String,
        range: Option<(u64, u64)>,
    },
}

/// The columns without which nothing can be said of a row.
const COLUMNS: [&str; 3] = ["path", "offset", "size"];

/// Decodes a file of `most` rows at most: those that say something, and how many there are.
fn rows(bytes: Bytes, most: u64, name: &str) -> Result<(Vec<Found>, u64), SourceError> {
    let damaged = |problem: String| SourceError::damaged(name, problem);
    let foreign = |error: ParquetError| damaged(format!("it is no such Parquet file: {error}"));
    let reader = SerializedFileReader::new(bytes).map_err(foreign)?;
    let schema = reader.metadata().file_metadata().schema();
    if !schema
        .get_fields()
        .iter()
        .all(|column| column.is_primitive())
    {
        return Err(damaged("it has columns within columns".to_owned()));
    }
    let has = |name: &&str| schema.get_fields().iter().any(|it| it.name() == *name);
    if let Some(column) = COLUMNS.iter().find(|name| !has(name)) {
        return Err(damaged(format!("it has no column {column:?}")));
    }
    let most = most.min(MOST_ROWS);
    let (mut found, mut count) = (Vec::new(), 0);
    for (number, row) in (0_u64..).zip(reader.get_row_iter(None).map_err(foreign)?) {
        if number >= most {
            return Err(damaged(format!("it has more than {most} rows")));
        }
        let row = row.map_err(foreign)?;
        let reference = reference(&row).map_err(|column| match column {
            "" => damaged(format!("row {number} has raw bytes, and none of them")),
            column => damaged(format!("row {number} has a {column} that is none")),
        })?;
        found.extend(reference.map(|reference| Found { number, reference }));
        count = number + 1;
    }
    Ok((found, count))
}

/// The contents of a row, or the name of the column that is wrong.
fn reference(row: &Row) -> Result<Option<Reference>, &'static str> {
    let column = |name: &str| {
        let mut columns = row.get_column_iter();
        columns
            .find(|(column, _)| *column == name)
            .map(|(_, field)| field)
    };
    if let Some(raw) = bytes_of(column("raw")).map_err(|()| "raw")? {
        return match raw.is_empty() {
            true => Err(""),
            false => Ok(Some(Reference::Raw(Bytes::copy_from_slice(raw)))),
        };
    }
    let Some(path) = bytes_of(column("path")).map_err(|()| "path")? else {
        return Ok(None);
    };
    let path = std::str::from_utf8(path).map_err(|_| "path")?.to_owned();
    let offset = whole_number(column("offset")).ok_or("offset")?;
    let size = whole_number(column("size")).ok_or("size")?;
    let range = Some((offset, size)).filter(|range| *range != (0, 0));
    Ok(Some(Reference::InFile { path, range }))
}

/// The bytes or the text of a column. Programs that have nothing else for it write `NaN` where there is nothing.
fn bytes_of(field: Option<&Field>) -> Result<Option<&[u8]>, ()> {
    match field {
        None | Some(Field::Null) => Ok(None),
        Some(Field::Double(value)) if value.is_nan() => Ok(None),
        Some(Field::Str(text)) => Ok(Some(text.as_bytes())),
        Some(Field::Bytes(bytes)) => Ok(Some(bytes.data())),
        Some(_) => Err(()),
    }
}

/// A number that is not negative; nothing is zero.
fn whole_number(field: Option<&Field>) -> Option<u64> {
    match field {
        None | Some(Field::Null) => Some(0),
        Some(Field::Long(number)) => u64::try_from(*number).ok(),
        Some(Field::Int(number)) => u64::try_from(*number).ok(),
        Some(Field::ULong(number)) => Some(*number),
        Some(Field::UInt(number)) => Some(u64::from(*number)),
        Some(_) => None,
    }
}

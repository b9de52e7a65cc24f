//! Reads file headers, and formats times, for JSON.

use icefield::Repository;
use icefield::format::{Compression, FormatFile, HEADER_LEN, Header};
use icefield::storage::{GetOptions, GetRange, Key, StorageError};
use serde_json::{Value, json};

use crate::errors::Failure;

/// Reads the header of a file alone, as JSON.
///
/// # Errors
/// If the file does not exist, cannot be read, or has another header.
pub(super) async fn header(
    repository: &Repository,
    key: &str,
    file: FormatFile,
) -> Result<Value, Failure> {
    let key = Key::parse(key).map_err(StorageError::from)?;
    let range = GetRange::Bounded(0..HEADER_LEN as u64);
    let object = repository
        .storage()
        .get(&key, GetOptions::range(range))
        .await?;
    let header = Header::decode(&object.bytes().await?, file)?;
    let writer = header.implementation();
    let (name, version) = program(&writer);
    Ok(json!({
        "written_by": writer,
        "app_name": name,
        "app_version": version,
        "spec_version": format!("{}.0", header.spec_version),
        "file_type": header.kind.metadata_name(),
        "compression": match header.compression {
            Compression::None => "none",
            Compression::Zstd => "zstd",
        },
    }))
}

/// Splits `name-version`, where the name may contain dashes.
fn program(writer: &str) -> (&str, Option<&str>) {
    let is_version = |at: &usize| writer[at + 1..].starts_with(|it: char| it.is_ascii_digit());
    let mut dashes = writer.match_indices('-').map(|(at, _)| at);
    match dashes.find(is_version) {
        Some(at) => (&writer[..at], Some(&writer[at + 1..])),
        None => (writer, None),
    }
}

/// Returns a time, given in microseconds since 1970, as RFC 3339.
///
/// # Errors
/// If the calendar has no such time.
pub(super) fn time(micros: u64) -> Result<String, Failure> {
    let time = i64::try_from(micros)
        .ok()
        .and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok());
    let time = time.ok_or_else(|| {
        let message = format!("{micros} microseconds since 1970 lie beyond the calendar");
        Failure::new("deserialization", message)
    })?;
    // The reference implementation writes seconds, milliseconds or microseconds, whichever are exact.
    let digits = match micros {
        it if it.is_multiple_of(1_000_000) => 0,
        it if it.is_multiple_of(1_000) => 3,
        _ => 6,
    };
    Ok(format!("{time:.digits$}"))
}

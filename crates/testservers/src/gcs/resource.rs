//! The metadata of an object, as JSON, as headers and as a message.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use googleapis_tonic_google_storage_v2::google::storage::v2;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::world::{Attributes, StoredObject};

/// Returns a checksum in base 64, as in JSON and headers.
pub(super) fn crc32c(sum: u32) -> String {
    STANDARD.encode(sum.to_be_bytes())
}

/// Returns the resource of the JSON interface.
pub(super) fn json(bucket: &str, key: &str, object: &StoredObject) -> Value {
    let time = rfc3339(object.last_modified);
    let attributes = &object.attributes;
    let mut value = json!({
        "kind": "storage#object",
        "id": format!("{bucket}/{key}/{}", object.generation),
        "bucket": bucket,
        "name": key,
        "generation": object.generation.to_string(),
        "metageneration": object.metageneration.to_string(),
        "size": object.bytes.len().to_string(),
        "storageClass": class(attributes),
        "crc32c": crc32c(object.sums().crc32c),
        "md5Hash": STANDARD.encode(object.sums().md5),
        "etag": etag(object),
        "timeCreated": time,
        "updated": time,
        "timeFinalized": time,
        "timeStorageClassUpdated": time,
        "metadata": attributes.metadata,
    });
    if let Some(content_type) = &attributes.content_type {
        value["contentType"] = json!(content_type);
    }
    if let Some(encoding) = &attributes.content_encoding {
        value["contentEncoding"] = json!(encoding);
    }
    value
}

/// Reads what an upload says about its object.
pub(super) fn attributes(value: &Value) -> Attributes {
    let text = |name: &str| {
        let text = value[name].as_str().filter(|text| !text.is_empty());
        text.map(ToOwned::to_owned)
    };
    let metadata = value["metadata"].as_object().into_iter().flatten();
    Attributes {
        content_type: text("contentType"),
        content_encoding: text("contentEncoding"),
        storage_class: text("storageClass"),
        metadata: metadata
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
        ..Attributes::default()
    }
}

/// Returns the headers that come with an object's bytes.
pub(super) fn headers(object: &StoredObject) -> HeaderMap {
    let attributes = &object.attributes;
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let name = name.parse::<HeaderName>();
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    };
    let stored = attributes.content_encoding.as_deref();
    add("x-goog-generation", &object.generation.to_string());
    add("x-goog-metageneration", &object.metageneration.to_string());
    add(
        "x-goog-stored-content-length",
        &object.bytes.len().to_string(),
    );
    add(
        "x-goog-stored-content-encoding",
        stored.unwrap_or("identity"),
    );
    add("x-goog-storage-class", class(attributes));
    let hash = STANDARD.encode(object.sums().md5);
    add(
        "x-goog-hash",
        &format!("crc32c={},md5={hash}", crc32c(object.sums().crc32c)),
    );
    add("etag", &etag(object));
    add(
        "last-modified",
        &httpdate::fmt_http_date(object.last_modified),
    );
    let content_type = attributes.content_type.as_deref();
    add(
        "content-type",
        content_type.unwrap_or("application/octet-stream"),
    );
    for (key, value) in &attributes.metadata {
        add(&format!("x-goog-meta-{key}"), value);
    }
    headers
}

/// Returns the message of the gRPC interface.
pub(super) fn message(bucket: &str, key: &str, object: &StoredObject) -> v2::Object {
    let since = object.last_modified.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let time = Some(prost_types::Timestamp {
        seconds: since.as_secs() as i64,
        nanos: since.subsec_nanos() as i32,
    });
    let attributes = &object.attributes;
    v2::Object {
        name: key.to_owned(),
        bucket: format!("projects/_/buckets/{bucket}"),
        etag: etag(object),
        generation: object.generation as i64,
        metageneration: object.metageneration as i64,
        storage_class: class(attributes).to_owned(),
        size: object.bytes.len() as i64,
        content_type: attributes.content_type.clone().unwrap_or_default(),
        content_encoding: attributes.content_encoding.clone().unwrap_or_default(),
        create_time: time,
        finalize_time: time,
        update_time: time,
        checksums: Some(v2::ObjectChecksums {
            crc32c: Some(object.sums().crc32c),
            md5_hash: object.sums().md5.to_vec(),
        }),
        metadata: attributes.metadata.clone().into_iter().collect(),
        ..v2::Object::default()
    }
}

/// The tags of GCS say nothing of the bytes.
fn etag(object: &StoredObject) -> String {
    let mut both = object.generation.to_be_bytes().to_vec();
    both.extend_from_slice(&object.metageneration.to_be_bytes());
    STANDARD.encode(both)
}

fn class(attributes: &Attributes) -> &str {
    attributes.storage_class.as_deref().unwrap_or("STANDARD")
}

/// Writes a time as JSON has it, to the millisecond.
fn rfc3339(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Returns the date so many days after the first of January 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_as_json_has_them() {
        let time = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        assert_eq!(rfc3339(time(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(time(951_782_399_999)), "2000-02-28T23:59:59.999Z");
        assert_eq!(rfc3339(time(951_782_400_000)), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(time(1_700_000_000_123)), "2023-11-14T22:13:20.123Z");
    }
}

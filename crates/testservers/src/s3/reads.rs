//! Reading one object.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::stream;
use s3s::dto::*;
use s3s::{S3Result, s3_error};

use super::context::Context;
use super::errors::refusal;
use crate::world::{Condition, StoredObject};

pub(super) async fn get(on: Context, input: GetObjectInput) -> S3Result<GetObjectOutput> {
    let object = find(&on, &input.bucket, &input.key)?;
    let (bytes, content_range) = match input.range {
        None => (object.bytes.clone(), None),
        Some(range) => {
            let length = object.bytes.len() as u64;
            // No suffix of nothing can be served.
            if length == 0 {
                return Err(s3_error!(InvalidRange));
            }
            let range = range.check(length)?;
            let shown = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            let bytes = object.bytes.slice(range.start as usize..range.end as usize);
            (bytes, Some(shown))
        }
    };
    let attributes = &object.attributes;
    let tags = attributes.tags.len() as i32;
    // Of whole objects only, to clients that ask.
    let asked = input.checksum_mode.as_ref().map(ChecksumMode::as_str) == Some("ENABLED");
    let sum = (asked && content_range.is_none()).then(|| crc32c::crc32c(&bytes).to_be_bytes());
    Ok(GetObjectOutput {
        accept_ranges: Some("bytes".to_owned()),
        checksum_crc32c: sum.map(|sum| STANDARD.encode(sum)),
        checksum_type: sum.map(|_| ChecksumType::from_static(ChecksumType::FULL_OBJECT)),
        content_length: Some(bytes.len() as i64),
        content_range,
        content_type: attributes.content_type.clone(),
        content_encoding: attributes.content_encoding.clone(),
        e_tag: tag(&object),
        last_modified: Some(object.last_modified.into()),
        metadata: Some(attributes.metadata.clone().into_iter().collect()),
        storage_class: attributes.storage_class.clone().map(StorageClass::from),
        tag_count: (tags > 0).then_some(tags),
        body: Some(StreamingBlob::wrap(stream::iter([
            Ok::<_, std::io::Error>(bytes),
        ]))),
        ..GetObjectOutput::default()
    })
}

pub(super) async fn head(on: Context, input: HeadObjectInput) -> S3Result<HeadObjectOutput> {
    let object = find(&on, &input.bucket, &input.key)?;
    let attributes = &object.attributes;
    Ok(HeadObjectOutput {
        accept_ranges: Some("bytes".to_owned()),
        content_length: Some(object.bytes.len() as i64),
        content_type: attributes.content_type.clone(),
        content_encoding: attributes.content_encoding.clone(),
        e_tag: tag(&object),
        last_modified: Some(object.last_modified.into()),
        metadata: Some(attributes.metadata.clone().into_iter().collect()),
        storage_class: attributes.storage_class.clone().map(StorageClass::from),
        ..HeadObjectOutput::default()
    })
}

fn find(on: &Context, bucket: &str, key: &str) -> S3Result<Arc<StoredObject>> {
    let refuse = |why| refusal(why, &on.behaviour);
    let object = on.world.read(bucket, key, on.orders.read_back);
    let object = object.map_err(refuse)?;
    Condition::of_headers(&on.headers)
        .check_read(&object)
        .map_err(refuse)?;
    Ok(object)
}

/// Returns the tag of an object as `s3s` wants it.
pub(super) fn tag(object: &StoredObject) -> Option<ETag> {
    object.etag.parse().ok()
}

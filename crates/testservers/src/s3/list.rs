//! Listing objects and open uploads.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::*;
use s3s::{S3Result, s3_error};

use super::context::Context;
use super::errors::refusal;
use super::reads::tag;
use crate::world::{Cursor, ListQuery, Refusal};

/// The characters that `encoding-type=url` leaves as they are.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

pub(super) async fn objects(
    on: Context,
    input: ListObjectsV2Input,
) -> S3Result<ListObjectsV2Output> {
    let start = match &input.continuation_token {
        Some(token) => Some(Cursor::from_token(token).ok_or_else(|| {
            s3_error!(
                InvalidArgument,
                "The continuation token provided is incorrect"
            )
        })?),
        None => input.start_after.clone().map(Cursor::After),
    };
    let asked = usize::try_from(input.max_keys.unwrap_or(1000)).unwrap_or_default();
    let query = ListQuery {
        prefix: input.prefix.clone().unwrap_or_default(),
        delimiter: input.delimiter.clone(),
        start,
        end: None,
        limit: asked.min(on.behaviour.page_size),
    };
    let listing = on.world.list(&input.bucket, &query, on.orders.list_back);
    let mut listing = listing.map_err(|why| refusal(why, &on.behaviour))?;
    if let Some(keep) = on.orders.short_list {
        listing.objects.truncate(keep);
        listing.prefixes.truncate(keep - listing.objects.len());
        listing.next = None;
    }
    let url = input
        .encoding_type
        .as_ref()
        .is_some_and(|encoding| encoding.as_str() == EncodingType::URL);
    let encode = |text: &str| {
        if url {
            utf8_percent_encode(text, KEPT).to_string()
        } else {
            text.to_owned()
        }
    };
    let count = listing.objects.len() + listing.prefixes.len();
    let contents = listing.objects.iter().map(|(key, object)| {
        let class = object.attributes.storage_class.clone();
        Object {
            key: Some(encode(key)),
            e_tag: tag(object),
            last_modified: Some(object.last_modified.into()),
            size: Some(object.bytes.len() as i64),
            storage_class: Some(class.unwrap_or_else(|| "STANDARD".to_owned()).into()),
            ..Object::default()
        }
    });
    let prefixes = listing.prefixes.iter().map(|prefix| CommonPrefix {
        prefix: Some(encode(prefix)),
    });
    Ok(ListObjectsV2Output {
        contents: Some(contents.collect()),
        common_prefixes: Some(prefixes.collect()),
        name: Some(input.bucket),
        prefix: input.prefix.as_deref().map(encode),
        delimiter: input.delimiter.as_deref().map(encode),
        start_after: input.start_after.as_deref().map(encode),
        continuation_token: input.continuation_token,
        encoding_type: input.encoding_type,
        max_keys: Some(input.max_keys.unwrap_or(1000)),
        key_count: Some(count as i32),
        is_truncated: Some(listing.next.is_some()),
        next_continuation_token: listing.next.as_ref().map(Cursor::token),
        ..ListObjectsV2Output::default()
    })
}

pub(super) async fn uploads(
    on: Context,
    input: ListMultipartUploadsInput,
) -> S3Result<ListMultipartUploadsOutput> {
    if !on.world.has_bucket(&input.bucket) {
        return Err(refusal(Refusal::NoBucket, &on.behaviour));
    }
    let prefix = input.prefix.clone().unwrap_or_default();
    let uploads = on.world.uploads().into_iter();
    let mut uploads: Vec<MultipartUpload> = uploads
        .filter(|(_, upload)| upload.bucket == input.bucket && upload.key.starts_with(&prefix))
        .map(|(id, upload)| MultipartUpload {
            key: Some(upload.key),
            upload_id: Some(id),
            initiated: Some(upload.initiated.into()),
            ..MultipartUpload::default()
        })
        .collect();
    uploads.sort_by(|one, next| one.key.cmp(&next.key));
    Ok(ListMultipartUploadsOutput {
        bucket: Some(input.bucket),
        prefix: input.prefix,
        is_truncated: Some(false),
        uploads: Some(uploads),
        ..ListMultipartUploadsOutput::default()
    })
}

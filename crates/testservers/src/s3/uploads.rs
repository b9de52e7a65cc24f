//! Uploads in parts.

use s3s::S3Result;
use s3s::dto::*;

use super::context::Context;
use super::errors::{refusal, write_refusal};
use super::objects::{read, tags_of_header};
use super::reads::tag;
use crate::world::{Attributes, Condition};

pub(super) async fn begin(
    on: Context,
    input: CreateMultipartUploadInput,
) -> S3Result<CreateMultipartUploadOutput> {
    let attributes = Attributes {
        content_type: input.content_type,
        content_encoding: input.content_encoding,
        storage_class: input.storage_class.map(|class| class.as_str().to_owned()),
        metadata: input.metadata.unwrap_or_default().into_iter().collect(),
        tags: tags_of_header(input.tagging.as_deref()),
    };
    let id = on
        .world
        .begin_upload(&input.bucket, &input.key, attributes)
        .map_err(|why| refusal(why, &on.behaviour))?;
    Ok(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id),
        ..CreateMultipartUploadOutput::default()
    })
}

pub(super) async fn part(on: Context, input: UploadPartInput) -> S3Result<UploadPartOutput> {
    let bytes = read(input.body, input.content_md5.as_deref()).await?;
    let limits = on.behaviour.parts;
    let etag = on
        .world
        .put_part(&input.upload_id, input.part_number, bytes, limits)
        .map_err(|why| refusal(why, &on.behaviour))?;
    Ok(UploadPartOutput {
        e_tag: etag.parse().ok(),
        ..UploadPartOutput::default()
    })
}

pub(super) async fn complete(
    on: Context,
    input: CompleteMultipartUploadInput,
) -> S3Result<CompleteMultipartUploadOutput> {
    let parts = input.multipart_upload.and_then(|upload| upload.parts);
    let named: Vec<(i32, Option<String>)> = parts
        .unwrap_or_default()
        .into_iter()
        .map(|part| {
            let etag = part.e_tag.map(|etag| etag.value().to_owned());
            (part.part_number.unwrap_or_default(), etag)
        })
        .collect();
    let condition = Condition::of_headers(&on.headers);
    let (limits, rules) = (on.behaviour.parts, on.orders.rules);
    let object = on
        .world
        .complete_upload(&input.upload_id, &named, limits, &condition, rules)
        .await
        .map_err(|why| write_refusal(why, &on.behaviour))?;
    Ok(CompleteMultipartUploadOutput {
        location: Some(format!("/{}/{}", input.bucket, input.key)),
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag: tag(&object),
        ..CompleteMultipartUploadOutput::default()
    })
}

pub(super) async fn abort(
    on: Context,
    input: AbortMultipartUploadInput,
) -> S3Result<AbortMultipartUploadOutput> {
    on.world
        .abort_upload(&input.upload_id)
        .map_err(|why| refusal(why, &on.behaviour))?;
    Ok(AbortMultipartUploadOutput::default())
}

pub(super) async fn parts(on: Context, input: ListPartsInput) -> S3Result<ListPartsOutput> {
    let upload = on.world.upload(&input.upload_id);
    let upload = upload.map_err(|why| refusal(why, &on.behaviour))?;
    let marker = input.part_number_marker.unwrap_or_default();
    let limit = input.max_parts.unwrap_or(1000).clamp(1, 1000) as usize;
    let mut rest = upload.parts.range(marker.saturating_add(1)..);
    let parts: Vec<Part> = rest
        .by_ref()
        .take(limit)
        .map(|(number, part)| Part {
            part_number: Some(*number),
            e_tag: part.etag.parse().ok(),
            size: Some(part.bytes.len() as i64),
            last_modified: Some(part.last_modified.into()),
            ..Part::default()
        })
        .collect();
    Ok(ListPartsOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        is_truncated: Some(rest.next().is_some()),
        next_part_number_marker: parts.last().and_then(|part| part.part_number),
        parts: Some(parts),
        ..ListPartsOutput::default()
    })
}

//! Writing, copying, removing and tagging objects.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use s3s::dto::*;
use s3s::{S3Result, s3_error};

use super::context::Context;
use super::errors::{refusal, write_refusal};
use super::reads::tag;
use super::verb::pairs;
use crate::world::{Attributes, Condition, Draft, Refusal, md5};

pub(super) async fn put(on: Context, input: PutObjectInput) -> S3Result<PutObjectOutput> {
    let bytes = read(input.body, input.content_md5.as_deref()).await?;
    if bytes.len() > on.behaviour.parts.max_put {
        return Err(refusal(Refusal::TooMuch, &on.behaviour));
    }
    let attributes = Attributes {
        content_type: input.content_type,
        content_encoding: input.content_encoding,
        storage_class: input.storage_class.map(|class| class.as_str().to_owned()),
        metadata: input.metadata.unwrap_or_default().into_iter().collect(),
        tags: tags_of_header(input.tagging.as_deref()),
    };
    let draft = Draft {
        bytes,
        attributes,
        etag: None,
    };
    let condition = Condition::of_headers(&on.headers);
    let written = on
        .world
        .write(
            &input.bucket,
            &input.key,
            draft,
            &condition,
            on.orders.rules,
        )
        .await;
    let object = written.map_err(|why| write_refusal(why, &on.behaviour))?;
    Ok(PutObjectOutput {
        e_tag: tag(&object),
        ..PutObjectOutput::default()
    })
}

pub(super) async fn copy(on: Context, input: CopyObjectInput) -> S3Result<CopyObjectOutput> {
    let CopySource::Bucket { bucket, key, .. } = &input.copy_source else {
        return Err(s3_error!(NotImplemented));
    };
    let text = |name: &str| {
        let value = on.headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let source = on.world.read(bucket, key, on.orders.read_back);
    let source = source.map_err(|why| refusal(why, &on.behaviour))?;
    let demanded = Condition {
        if_match: text("x-amz-copy-source-if-match"),
        if_none_match: text("x-amz-copy-source-if-none-match"),
        ..Condition::default()
    };
    // Unlike a read, a copy that is not needed is a failed condition.
    demanded
        .check_write(Some(&source))
        .map_err(|why| refusal(why, &on.behaviour))?;
    let mut attributes = source.attributes.clone();
    let replaces = |directive: Option<&str>| directive == Some("REPLACE");
    if replaces(
        input
            .metadata_directive
            .as_ref()
            .map(MetadataDirective::as_str),
    ) {
        attributes.metadata = input.metadata.unwrap_or_default().into_iter().collect();
        attributes.content_type = input.content_type;
        attributes.content_encoding = input.content_encoding;
    }
    if replaces(
        input
            .tagging_directive
            .as_ref()
            .map(TaggingDirective::as_str),
    ) {
        attributes.tags = tags_of_header(input.tagging.as_deref());
    }
    if let Some(class) = input.storage_class {
        attributes.storage_class = Some(class.as_str().to_owned());
    }
    let draft = Draft {
        bytes: source.bytes.clone(),
        attributes,
        etag: None,
    };
    // The conditions on the destination, which `s3s` does not know of, are in the headers.
    let condition = Condition::of_headers(&on.headers);
    let written = on
        .world
        .write(
            &input.bucket,
            &input.key,
            draft,
            &condition,
            on.orders.rules,
        )
        .await;
    let object = written.map_err(|why| write_refusal(why, &on.behaviour))?;
    Ok(CopyObjectOutput {
        copy_object_result: Some(CopyObjectResult {
            e_tag: tag(&object),
            last_modified: Some(object.last_modified.into()),
            ..CopyObjectResult::default()
        }),
        ..CopyObjectOutput::default()
    })
}

pub(super) async fn delete(on: Context, input: DeleteObjectInput) -> S3Result<DeleteObjectOutput> {
    let condition = Condition::of_headers(&on.headers);
    let removed = on
        .world
        .remove(&input.bucket, &input.key, &condition, on.orders.rules)
        .await;
    removed.map_err(|why| write_refusal(why, &on.behaviour))?;
    Ok(DeleteObjectOutput::default())
}

pub(super) async fn delete_many(
    on: Context,
    input: DeleteObjectsInput,
) -> S3Result<DeleteObjectsOutput> {
    if input.delete.objects.len() > 1000 {
        return Err(s3_error!(MalformedXML));
    }
    if !on.world.has_bucket(&input.bucket) {
        return Err(refusal(Refusal::NoBucket, &on.behaviour));
    }
    let quiet = input.delete.quiet.unwrap_or_default();
    let (mut deleted, mut errors) = (Vec::new(), Vec::new());
    for object in input.delete.objects {
        let failing = on.orders.failing.iter();
        let told = failing.clone().find(|(part, _)| object.key.contains(part));
        let condition = Condition {
            if_match: object.e_tag.map(|tag| format!("\"{}\"", tag.value())),
            ..Condition::default()
        };
        let code = match told {
            Some((_, answer)) => Some(answer.code.clone()),
            None => {
                let removed = on
                    .world
                    .remove(&input.bucket, &object.key, &condition, on.orders.rules)
                    .await;
                let error = removed.err().map(|why| write_refusal(why, &on.behaviour));
                error.map(|error| error.code().as_str().to_owned())
            }
        };
        if let Some(code) = code {
            errors.push(Error {
                message: Some(code.clone()),
                code: Some(code),
                key: Some(object.key),
                version_id: None,
            });
        } else if !quiet {
            deleted.push(DeletedObject {
                key: Some(object.key),
                ..DeletedObject::default()
            });
        }
    }
    Ok(DeleteObjectsOutput {
        deleted: Some(deleted),
        errors: Some(errors),
        ..DeleteObjectsOutput::default()
    })
}

pub(super) async fn get_tags(
    on: Context,
    input: GetObjectTaggingInput,
) -> S3Result<GetObjectTaggingOutput> {
    let object = on.world.read(&input.bucket, &input.key, 0);
    let object = object.map_err(|why| refusal(why, &on.behaviour))?;
    let tags = object.attributes.tags.iter().map(|(key, value)| Tag {
        key: Some(key.clone()),
        value: Some(value.clone()),
    });
    Ok(GetObjectTaggingOutput {
        tag_set: tags.collect(),
        version_id: None,
    })
}

pub(super) async fn put_tags(
    on: Context,
    input: PutObjectTaggingInput,
) -> S3Result<PutObjectTaggingOutput> {
    let tags = input.tagging.tag_set.into_iter();
    let tags = tags.map(|tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default()));
    let tags: BTreeMap<_, _> = tags.collect();
    on.world
        .amend(&input.bucket, &input.key, |it| it.tags = tags)
        .map_err(|why| refusal(why, &on.behaviour))?;
    Ok(PutObjectTaggingOutput::default())
}

/// Reads the whole body and checks it against its MD5, if one was sent.
pub(super) async fn read(body: Option<StreamingBlob>, digest: Option<&str>) -> S3Result<Bytes> {
    let mut bytes = BytesMut::new();
    if let Some(mut body) = body {
        while let Some(piece) = body
            .try_next()
            .await
            .map_err(|error| s3_error!(IncompleteBody, "{error}"))?
        {
            bytes.extend_from_slice(&piece);
        }
    }
    let bytes = bytes.freeze();
    if digest.is_some_and(|digest| digest != STANDARD.encode(md5(&bytes))) {
        return Err(s3_error!(BadDigest));
    }
    Ok(bytes)
}

/// Reads the tags of an `x-amz-tagging` header.
pub(super) fn tags_of_header(header: Option<&str>) -> BTreeMap<String, String> {
    pairs(header.unwrap_or_default()).into_iter().collect()
}

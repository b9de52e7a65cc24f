//! The life-cycle rules of a bucket: told, never carried out.

use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::context::Context;
use crate::switches::LifecycleRule as Rule;

pub(super) async fn get(
    on: Context,
    _: GetBucketLifecycleConfigurationInput,
) -> S3Result<GetBucketLifecycleConfigurationOutput> {
    if on.behaviour.lifecycle.is_empty() {
        return Err(S3Error::new(S3ErrorCode::NoSuchLifecycleConfiguration));
    }
    Ok(GetBucketLifecycleConfigurationOutput {
        rules: Some(on.behaviour.lifecycle.iter().map(described).collect()),
        ..Default::default()
    })
}

fn described(rule: &Rule) -> LifecycleRule {
    let tags = rule.tags.iter().map(|(name, value)| Tag {
        key: Some(name.clone()),
        value: Some(value.clone()),
    });
    let both = LifecycleRuleAndOperator {
        prefix: Some(rule.prefix.clone()),
        tags: Some(tags.collect()),
        ..Default::default()
    };
    LifecycleRule {
        abort_incomplete_multipart_upload: rule.end_uploads_after.map(|days| {
            AbortIncompleteMultipartUpload {
                days_after_initiation: Some(days),
            }
        }),
        expiration: rule.delete_after.map(|days| LifecycleExpiration {
            days: Some(days),
            ..Default::default()
        }),
        filter: Some(LifecycleRuleFilter {
            and: Some(both),
            ..Default::default()
        }),
        id: Some(rule.name.clone()),
        noncurrent_version_expiration: None,
        noncurrent_version_transitions: None,
        prefix: None,
        status: ExpirationStatus::from_static(ExpirationStatus::ENABLED),
        transitions: rule.archive_after.map(|days| {
            vec![Transition {
                days: Some(days),
                storage_class: Some(TransitionStorageClass::from_static(
                    TransitionStorageClass::GLACIER,
                )),
                ..Default::default()
            }]
        }),
    }
}

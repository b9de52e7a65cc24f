//! Writes of whole objects, and copies.

use std::time::SystemTime;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::MetadataDirective;
use bytes::Bytes;
use icefield_storage::remote::{Answer, Fault, Remote, WriteRequest};
use icefield_storage::{Key, PutMode, StorageError, Version, Written};

use crate::bucket::{AnswerDate, Bucket, WRITE_ID, time};
use crate::fault::answer_of;
use crate::version::{agree, as_header, etag, version};

/// Bytes of the longest key.
const LONGEST_KEY: usize = 1024;

impl Bucket {
    pub(crate) async fn write(
        &self,
        key: &Key,
        bytes: Bytes,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        self.check_name(key)?;
        if Self::can_never_hold(&write.mode) {
            return Ok(Answer::Refused);
        }
        let generation = self.generation();
        let labels = self.labels(write.class);
        let (if_match, if_none_match) = Self::conditions(&write.mode);
        let date = AnswerDate::default();
        let mut request = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(self.path(key))
            .set_if_match(if_match)
            .set_if_none_match(if_none_match)
            .set_content_type(write.content_type.map(str::to_owned))
            .set_storage_class(labels.storage_class())
            .set_tagging(labels.tagging())
            .set_request_payer(self.payer())
            .set_checksum_algorithm(self.checksum())
            .metadata(WRITE_ID, &write.write_id)
            .body(ByteStream::from(bytes));
        for (name, value) in &write.user_metadata {
            request = request.metadata(name, value);
        }
        let sent = request
            .customize()
            .interceptor(date.clone())
            .mutate_request(self.stamp())
            .send()
            .await;
        match sent {
            Ok(output) => Ok(Self::written(output.e_tag(), write, date.get())),
            Err(error) => match answer_of(&error) {
                Some(answer) if Self::is_refusal(&write.mode, answer.status, &answer.code) => {
                    Ok(Answer::Refused)
                }
                _ => Err(self.fault("write", Some(key), generation, error)),
            },
        }
    }

    pub(crate) async fn copy_on_server(
        &self,
        from: &Key,
        to: &Key,
        source_version: Option<&Version>,
        write: &WriteRequest,
    ) -> Option<Result<Answer, Fault>> {
        // Few servers decide conditions on the target of a copy.
        if write.mode != PutMode::Overwrite {
            return None;
        }
        if let Some(version) = source_version {
            match self.describe(from).await {
                Ok(stored) if agree(version, &stored.meta.version) => {}
                Ok(_) => return Some(Ok(Answer::Refused)),
                Err(fault) => return Some(Err(fault)),
            }
        }
        let generation = self.generation();
        let sent = self
            .client
            .copy_object()
            .bucket(&self.bucket)
            .key(self.path(to))
            .copy_source(self.copy_source(from))
            .set_copy_source_if_match(source_version.map(|it| etag(it).to_owned()))
            .metadata_directive(MetadataDirective::Copy)
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = match sent {
            Ok(output) => output,
            Err(error) => {
                return match answer_of(&error) {
                    Some(answer) if answer.status == 412 && source_version.is_some() => {
                        Some(Ok(Answer::Refused))
                    }
                    // Too large for one request.
                    Some(answer) if answer.status == 400 => None,
                    _ => Some(Err(self.fault("copy", Some(from), generation, error))),
                };
            }
        };
        let copied = output.copy_object_result();
        let tag = copied.and_then(|it| it.e_tag()).unwrap_or_default();
        // Some servers leave the quotation marks away, here only.
        let tag = match tag.ends_with('"') {
            true => tag.to_owned(),
            false => format!("\"{tag}\""),
        };
        let mut written = Written {
            version: version(&tag, None),
            store_time: copied.map(|it| time(it.last_modified())),
        };
        // The copy has the id of the write that made its source. Whatever comes of looking, it is copied.
        if let Ok(stored) = self.describe(to).await
            && etag(&stored.meta.version) == etag(&written.version)
        {
            written.version = stored.meta.version;
        }
        Some(Ok(Answer::Done(written)))
    }

    /// The `Written` of a write with this answer.
    pub(crate) fn written(
        etag: Option<&str>,
        write: &WriteRequest,
        date: Option<SystemTime>,
    ) -> Answer {
        Answer::Done(Written {
            version: version(etag.unwrap_or_default(), Some(&write.write_id)),
            store_time: date,
        })
    }

    /// The conditions of a write as headers: If-Match, If-None-Match.
    pub(crate) fn conditions(mode: &PutMode) -> (Option<String>, Option<String>) {
        match mode {
            PutMode::Overwrite => (None, None),
            PutMode::Create => (None, Some("*".to_owned())),
            PutMode::Update(version) => (Some(etag(version).to_owned()), None),
        }
    }

    /// Refuses keys that the SDK takes for no key at all, and those that no store takes.
    pub(crate) fn check_name(&self, key: &Key) -> Result<(), StorageError> {
        let path = self.path(key);
        if path.trim().is_empty() {
            return Err(self.cannot("keys of nothing but blanks"));
        }
        match path.len() {
            ..=LONGEST_KEY => Ok(()),
            // A key alone is never too long.
            length => Err(StorageError::Misconfigured {
                target: self.name.clone(),
                setting: "prefix",
                problem: format!(
                    "it is too long: with it, the key {key:?} has {length} bytes, and the store takes {LONGEST_KEY}"
                ),
            }),
        }
    }

    /// Whether the condition names a state that no object of any store is in.
    pub(crate) fn can_never_hold(mode: &PutMode) -> bool {
        matches!(mode, PutMode::Update(version) if as_header(etag(version)).is_none())
    }

    /// Whether an answer to a conditional write says that the condition did not hold.
    pub(crate) fn is_refusal(mode: &PutMode, status: u16, code: &str) -> bool {
        match mode {
            PutMode::Overwrite => false,
            PutMode::Create => status == 412,
            PutMode::Update(_) => {
                status == 412 || (status == 404 && code != "NoSuchBucket" && code != "NoSuchUpload")
            }
        }
    }
}

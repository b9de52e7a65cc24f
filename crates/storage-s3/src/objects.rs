//! The requests of the contract, each sent once.

use std::time::SystemTime;

use async_trait::async_trait;
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::{ChecksumMode, Delete, EncodingType, MetadataDirective, ObjectIdentifier};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::remote::{
    Answer, Deleted, Fault, Limits, Page, Part, Remote, Stored, Upload, WriteRequest,
};
use icefield_storage::{
    Advice, Body, Capabilities, Condition, DeleteOutcome, Deletion, GetOptions, GetRange, Key,
    KeyForm, ListOptions, Object, ObjectMeta, PutMode, StorageError, Version, Written,
};

use crate::bucket::{AnswerDate, Bucket, WRITE_ID, time};
use crate::fault::said;
use crate::version::{agree, as_header, etag, split, version};

/// Objects of one put: Amazon's limit.
const PUT_BYTES: u64 = 5 << 30;
/// Bytes of the smallest part, and parts of one object: Amazon's limits.
const PART_BYTES: u64 = 5 << 20;
const PARTS: u32 = 10_000;
const DELETE_KEYS: usize = 1000;

/// Bytes of the longest key.
const LONGEST_KEY: usize = 1024;

impl Bucket {
    /// The meaning of a condition as a header has it.
    fn etag_of(condition: &Condition) -> &str {
        match condition {
            Condition::Version(version) => etag(version),
            Condition::ETag(text) => text,
        }
    }

    /// What the store itself cannot compare: write ids, and times to the second.
    fn check_closely(meta: &ObjectMeta, options: &GetOptions) -> Result<(), StorageError> {
        let key = || meta.key.clone();
        if let Some(Condition::Version(wanted)) = &options.if_match
            && !agree(wanted, &meta.version)
        {
            return Err(StorageError::PreconditionFailed { key: key() });
        }
        if let Some(limit) = options.if_unmodified_since
            && meta.last_modified.is_none_or(|written| written > limit)
        {
            return Err(StorageError::PreconditionFailed { key: key() });
        }
        Ok(())
    }

    async fn send_get(
        &self,
        key: &Key,
        options: &GetOptions,
        range: Option<String>,
    ) -> Result<Object, GetFault> {
        let generation = self.generation();
        let unless = options.if_none_match.as_ref();
        // The store compares digests: bytes that were written again are news all the same.
        let unless_known = unless.filter(|it| match it {
            Condition::Version(version) => split(version).1.is_none(),
            Condition::ETag(_) => true,
        });
        let unless_known = unless_known.and_then(|it| as_header(Self::etag_of(it)));
        let wanted = options.if_match.as_ref().map(Self::etag_of);
        if let Some(wanted) = wanted
            && as_header(wanted).is_none()
        {
            // No object is in this state; there may be none at all.
            self.head(key).await.map_err(GetFault::Fault)?;
            let error = StorageError::PreconditionFailed { key: key.clone() };
            return Err(GetFault::Fault(error.into()));
        }
        let sent = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(self.path(key))
            .set_range(range)
            .set_if_match(wanted.map(str::to_owned))
            .set_if_none_match(unless_known.map(str::to_owned))
            .set_if_unmodified_since(options.if_unmodified_since.map(DateTime::from))
            .set_request_payer(self.payer())
            .set_checksum_mode(self.checksum.map(|_| ChecksumMode::Enabled))
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = match sent {
            Ok(output) => output,
            Err(error) => {
                let key = key.clone();
                return Err(match said(&error).map(|said| said.status) {
                    Some(412) => GetFault::Fault(StorageError::PreconditionFailed { key }.into()),
                    Some(304) => GetFault::Fault(StorageError::NotModified { key }.into()),
                    Some(416) => GetFault::NoSuchRange,
                    _ => GetFault::Fault(self.fault("read", Some(&key), generation, error)),
                });
            }
        };
        let length = u64::try_from(output.content_length().unwrap_or(0)).unwrap_or(0);
        let (range, size) = match output.content_range().map(parse_content_range) {
            Some(Some(parsed)) => parsed,
            Some(None) => {
                return Err(GetFault::Fault(
                    StorageError::from_io(
                        "read",
                        key,
                        std::io::Error::other(
                            "the store answered with a Content-Range that cannot be read",
                        ),
                    )
                    .into(),
                ));
            }
            None => (0..length, length),
        };
        let write_id = output.metadata().and_then(|it| it.get(WRITE_ID));
        let meta = ObjectMeta {
            key: key.clone(),
            size,
            version: version(
                output.e_tag().unwrap_or_default(),
                write_id.map(String::as_str),
            ),
            last_modified: Some(time(output.last_modified())),
        };
        Self::check_closely(&meta, options).map_err(|error| GetFault::Fault(error.into()))?;
        if let Some(Condition::Version(known)) = unless
            && *known == meta.version
        {
            let key = key.clone();
            return Err(GetFault::Fault(StorageError::NotModified { key }.into()));
        }
        let target = key.to_string();
        let parts = stream::unfold(output.body, |mut body| async move {
            body.next().await.map(|part| (part, body))
        });
        let parts = parts.map(move |part| {
            part.map_err(|error| StorageError::Unavailable {
                action: "read",
                target: target.clone(),
                source: error.into(),
            })
        });
        Ok(Object {
            meta,
            range,
            body: Body::Stream(parts.boxed()),
        })
    }

    /// What `Written` says of a write with this answer.
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

/// Why a get gave nothing.
enum GetFault {
    /// There are no such bytes: 416.
    NoSuchRange,
    Fault(Fault),
}

/// Reads `bytes 0-9/100`.
fn parse_content_range(text: &str) -> Option<(std::ops::Range<u64>, u64)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let size = size.parse().ok()?;
    (first <= last && last < size).then_some((first..last + 1, size))
}

fn range_header(range: &GetRange, at_most: Option<u64>) -> Option<String> {
    let most = at_most.unwrap_or(u64::MAX);
    match range {
        GetRange::All => at_most.map(|most| format!("bytes=0-{}", most.max(1) - 1)),
        GetRange::Bounded(range) => {
            let end = range.end.min(range.start.saturating_add(most));
            let end = end.min(i64::MAX as u64);
            Some(format!("bytes={}-{}", range.start, end.saturating_sub(1)))
        }
        GetRange::From(start) => Some(match at_most {
            Some(most) => {
                let end = start.saturating_add(most).min(i64::MAX as u64);
                format!("bytes={start}-{}", end - 1)
            }
            None => format!("bytes={start}-"),
        }),
        GetRange::Suffix(length) => Some(format!("bytes=-{length}")),
    }
}

#[async_trait]
impl Remote for Bucket {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::Raw);
        capabilities.exact_versions = false;
        capabilities
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn limits(&self) -> Limits {
        Limits::whole(PUT_BYTES)
            .with_parts(PART_BYTES, PARTS)
            .with_delete_keys(DELETE_KEYS)
    }

    fn is_known_to_honour_conditions(&self) -> bool {
        self.is_amazon
    }

    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        // Servers read the numbers of a range as signed ones.
        let beyond = |start: u64| start > i64::MAX as u64;
        if match &options.range {
            GetRange::All => false,
            GetRange::Bounded(range) => beyond(range.start),
            GetRange::From(start) => beyond(*start),
            GetRange::Suffix(length) => *length == 0 || beyond(*length),
        } {
            return self.empty(key, options).await;
        }
        // Stores keep checksums of whole objects: who wants them compared reads whole objects in one go.
        let at_most = at_most.filter(|_| self.checksum.is_none() || options.range != GetRange::All);
        match self
            .send_get(key, options, range_header(&options.range, at_most))
            .await
        {
            Ok(object) => Ok(object),
            Err(GetFault::Fault(fault)) => Err(fault),
            Err(GetFault::NoSuchRange) => self.empty(key, options).await,
        }
    }

    fn agree(&self, wanted: &Version, found: &Version) -> bool {
        agree(wanted, found)
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        let generation = self.generation();
        let sent = self
            .client
            .head_object()
            .bucket(&self.bucket)
            .key(self.path(key))
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = sent.map_err(|error| self.fault("read", Some(key), generation, error))?;
        let write_id = output.metadata().and_then(|it| it.get(WRITE_ID)).cloned();
        let etag = output.e_tag().unwrap_or_default();
        Ok(Stored {
            meta: ObjectMeta {
                key: key.clone(),
                size: u64::try_from(output.content_length().unwrap_or(0)).unwrap_or(0),
                version: version(etag, write_id.as_deref()),
                last_modified: Some(time(output.last_modified())),
            },
            write_id,
            etag: Some(etag.to_owned()),
        })
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
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
            Err(error) => match said(&error) {
                Some(said) if Self::is_refusal(&write.mode, said.status, &said.code) => {
                    Ok(Answer::Refused)
                }
                _ => Err(self.fault("write", Some(key), generation, error)),
            },
        }
    }

    async fn copy(
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
            match self.head(from).await {
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
        if let Err(error) = sent {
            return match said(&error) {
                Some(said) if said.status == 412 && source_version.is_some() => {
                    Some(Ok(Answer::Refused))
                }
                // Too large for one request.
                Some(said) if said.status == 400 => None,
                _ => Some(Err(self.fault("copy", Some(from), generation, error))),
            };
        }
        Some(self.head(to).await.map(|stored| {
            Answer::Done(Written {
                version: stored.meta.version,
                store_time: stored.meta.last_modified,
            })
        }))
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        let generation = self.generation();
        let key = &deletion.key;
        if let Some(wanted) = &deletion.version {
            if as_header(etag(wanted)).is_none() {
                return Ok(DeleteOutcome::Refused);
            }
            // Some servers delete whatever is there: what is seen to be another state is not even asked for.
            match self.head(key).await {
                Ok(stored) if agree(wanted, &stored.meta.version) => {}
                Ok(_) => return Ok(DeleteOutcome::Refused),
                Err(fault) if fault.error.is_not_found() => return Ok(DeleteOutcome::Refused),
                Err(fault) => return Err(fault),
            }
        }
        let sent = self
            .client
            .delete_object()
            .bucket(&self.bucket)
            .key(self.path(key))
            .set_if_match(deletion.version.as_ref().map(|it| etag(it).to_owned()))
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        match sent {
            Ok(_) => Ok(DeleteOutcome::Deleted),
            Err(error) => match (said(&error), &deletion.version) {
                (Some(said), Some(_)) if matches!(said.status, 404 | 412) => {
                    Ok(DeleteOutcome::Refused)
                }
                (Some(said), None) if said.status == 404 && said.code != "NoSuchBucket" => {
                    Ok(DeleteOutcome::Deleted)
                }
                _ => Err(self.fault("delete", Some(key), generation, error)),
            },
        }
    }

    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        let generation = self.generation();
        let objects = keys.iter().map(|key| {
            let object = ObjectIdentifier::builder().key(self.path(key)).build();
            object.map_err(|error| self.cannot(&error.to_string()))
        });
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let delete = Delete::builder()
            .set_objects(Some(objects))
            .quiet(true)
            .build();
        let delete = delete.map_err(|error| self.cannot(&error.to_string()))?;
        let sent = self
            .client
            .delete_objects()
            .bucket(&self.bucket)
            .delete(delete)
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = sent.map_err(|error| self.fault("delete", None, generation, error))?;
        Ok(keys
            .iter()
            .map(|key| {
                let path = self.path(key);
                let error = output.errors().iter().find(|it| it.key() == Some(&path));
                match error.map(|it| it.code().unwrap_or_default()) {
                    None | Some("NoSuchKey") => Ok(DeleteOutcome::Deleted),
                    Some(code) => Err(self.refused_delete(key, code)),
                }
            })
            .collect())
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        let generation = self.generation();
        let below = match options.prefix.is_all() {
            true => self.prefix.to_string(),
            false => self
                .prefix
                .join(&options.prefix)
                .map_err(StorageError::from)?
                .to_string(),
        };
        let prefix = match below.is_empty() {
            true => below,
            false => format!("{below}/"),
        };
        let start_after = options.start_after.as_ref().map(|key| self.path(key));
        let sent = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .set_prefix((!prefix.is_empty()).then_some(prefix))
            // XML cannot carry every character of a key.
            .encoding_type(EncodingType::Url)
            .set_start_after(start_after.filter(|_| token.is_none()))
            .set_continuation_token(token.map(str::to_owned))
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = sent.map_err(|error| self.fault("list", None, generation, error))?;
        let is_encoded = output.encoding_type() == Some(&EncodingType::Url);
        let objects = output.contents().iter().filter_map(|object| {
            let path = object.key()?;
            let path = match is_encoded {
                true => decoded(path)?,
                false => path.to_owned(),
            };
            let rest = match self.prefix.is_all() {
                true => &path[..],
                false => path.strip_prefix(self.prefix.as_str())?.strip_prefix('/')?,
            };
            Some(ObjectMeta {
                key: Key::parse(rest).ok()?,
                size: u64::try_from(object.size().unwrap_or(0)).unwrap_or(0),
                version: version(object.e_tag().unwrap_or_default(), None),
                last_modified: Some(time(object.last_modified())),
            })
        });
        Ok(Page {
            objects: objects.collect(),
            next: output
                .next_continuation_token()
                .filter(|_| output.is_truncated() == Some(true))
                .map(str::to_owned),
        })
    }

    async fn begin_upload(&self, key: &Key, write: &WriteRequest) -> Result<Upload, Fault> {
        self.send_begin(key, write).await
    }

    async fn put_part(
        &self,
        key: &Key,
        upload: &Upload,
        number: u32,
        bytes: Bytes,
    ) -> Result<Part, Fault> {
        self.send_part(key, upload, number, bytes).await
    }

    async fn complete_upload(
        &self,
        key: &Key,
        upload: &Upload,
        parts: &[Part],
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        self.send_complete(key, upload, parts, write).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, Fault> {
        self.read_advice().await
    }

    async fn abort_upload(&self, key: &Key, upload: &Upload) -> Result<(), Fault> {
        self.send_abort(key, upload).await
    }
}

impl Bucket {
    /// An object, or a range, without bytes: what is known of it decides.
    async fn empty(&self, key: &Key, options: &GetOptions) -> Result<Object, Fault> {
        let stored = self.head(key).await?;
        stored.without_body(options, agree)
    }
}

/// Decodes `%41` and `+`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, tail) = rest.split_at_checked(2)?;
                rest = tail;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

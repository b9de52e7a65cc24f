//! Reads: a range, or what is known of an object.

use aws_sdk_s3::primitives::DateTime;
use aws_sdk_s3::types::ChecksumMode;
use futures::stream::{self, StreamExt};
use icefield_storage::remote::{Fault, Stored};
use icefield_storage::{
    Body, Condition, GetOptions, GetRange, Key, Object, ObjectMeta, StorageError,
};

use crate::bucket::{Bucket, WRITE_ID, time};
use crate::fault::answer_of;
use crate::version::{agree, as_header, etag, split, version};

impl Bucket {
    pub(crate) async fn read(
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
        // Stores keep checksums of whole objects: a caller that wants them compared reads whole objects in one go.
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

    pub(crate) async fn describe(&self, key: &Key) -> Result<Stored, Fault> {
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
        let output = match sent {
            Ok(output) => output,
            Err(error) => {
                let mute = answer_of(&error)
                    .is_some_and(|it| matches!(it.status, 400 | 401 | 403) && it.code.is_empty());
                let fault = self.fault("read", Some(key), generation, error);
                return Err(match mute {
                    true => self.reason(key, fault).await,
                    false => fault,
                });
            }
        };
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

    /// Asks for a byte, where the answer to a HEAD, which has no body, has said no without a reason.
    async fn reason(&self, key: &Key, fault: Fault) -> Fault {
        let generation = self.generation();
        let sent = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(self.path(key))
            .range("bytes=0-0")
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        match sent {
            Err(error) if answer_of(&error).is_some_and(|it| !it.code.is_empty()) => {
                self.fault("read", Some(key), generation, error)
            }
            _ => fault,
        }
    }

    /// An object, or a range, without bytes: what is known of it decides.
    async fn empty(&self, key: &Key, options: &GetOptions) -> Result<Object, Fault> {
        let stored = self.describe(key).await?;
        stored.without_body(options, agree)
    }

    /// The meaning of a condition as a header has it.
    fn etag_of(condition: &Condition) -> &str {
        match condition {
            Condition::Version(version) => etag(version),
            Condition::ETag(text) => text,
        }
    }

    /// Compares what the store itself cannot: write ids, and times to the second.
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
            self.describe(key).await.map_err(GetFault::Fault)?;
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
                return Err(match answer_of(&error).map(|answer| answer.status) {
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

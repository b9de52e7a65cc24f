//! A bucket: where requests go, and what goes with each of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aws_sdk_s3::config::http::{HttpRequest, HttpResponse};
use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use aws_sdk_s3::types::{ChecksumAlgorithm, RequestPayer, StorageClass};
use icefield_storage::remote::{Cause, Fault, FaultKind, Renewed, Target};
use icefield_storage::{Key, ObjectClass, Prefix};

use crate::credentials::Credentials;
use crate::fault::{answer_of, fault};

/// Under this name an object keeps the id of the write that made it.
pub(crate) const WRITE_ID: &str = "icefield-write-id";

/// How objects of one kind are stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    pub(crate) storage_class: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
}

impl Labels {
    pub(crate) fn storage_class(&self) -> Option<StorageClass> {
        self.storage_class.as_deref().map(StorageClass::from)
    }

    /// The tags as a header has them.
    pub(crate) fn tagging(&self) -> Option<String> {
        let pairs = self.tags.iter();
        let pairs = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let pairs: Vec<String> = pairs.collect();
        (!pairs.is_empty()).then(|| pairs.join("&"))
    }
}

/// Percent-encodes all but letters, digits and `-_.~`; slashes, too.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The state that every request needs.
pub(crate) struct Bucket {
    pub(crate) client: aws_sdk_s3::Client,
    pub(crate) name: String,
    pub(crate) place: String,
    pub(crate) is_amazon: bool,
    pub(crate) bucket: String,
    pub(crate) prefix: Prefix,
    /// Those that may become others.
    pub(crate) credentials: Option<Arc<Renewed<Credentials>>>,
    pub(crate) requester_pays: bool,
    pub(crate) metadata: Labels,
    pub(crate) chunks: Labels,
    pub(crate) checksum: Option<Checksum>,
    pub(crate) read_headers: BTreeMap<String, String>,
    pub(crate) write_headers: BTreeMap<String, String>,
}

impl Bucket {
    /// The key as the store knows it.
    pub(crate) fn path(&self, key: &Key) -> String {
        match self.prefix.is_all() {
            true => key.to_string(),
            false => format!("{}/{key}", self.prefix),
        }
    }

    /// The source of a copy, as a header has it.
    pub(crate) fn copy_source(&self, key: &Key) -> String {
        let path = self.path(key);
        let segments: Vec<String> = path.split('/').map(encoded).collect();
        format!("{}/{}", self.bucket, segments.join("/"))
    }

    pub(crate) fn labels(&self, class: ObjectClass) -> &Labels {
        match class {
            ObjectClass::Metadata => &self.metadata,
            ObjectClass::Chunk => &self.chunks,
        }
    }

    pub(crate) fn payer(&self) -> Option<RequestPayer> {
        self.requester_pays.then_some(RequestPayer::Requester)
    }

    pub(crate) fn checksum(&self) -> Option<ChecksumAlgorithm> {
        self.checksum.map(|checksum| match checksum {
            Checksum::Crc32 => ChecksumAlgorithm::Crc32,
            Checksum::Crc32c => ChecksumAlgorithm::Crc32C,
            Checksum::Crc64Nvme => ChecksumAlgorithm::Crc64Nvme,
            Checksum::Sha256 => ChecksumAlgorithm::Sha256,
        })
    }

    /// Puts the user's headers into a request.
    pub(crate) fn stamp(&self) -> impl Fn(&mut HttpRequest) + Send + Sync + use<> {
        let (read, write) = (self.read_headers.clone(), self.write_headers.clone());
        move |request| {
            let headers = match request.method() {
                "GET" | "HEAD" => &read,
                _ => &write,
            };
            for (name, value) in headers {
                request.headers_mut().insert(name.clone(), value.clone());
            }
        }
    }

    /// Names the credentials that a request will be signed with.
    pub(crate) fn generation(&self) -> u64 {
        self.credentials.as_ref().map_or(0, |it| it.generation())
    }

    /// Sorts an error. Credentials that the store does not take any more are fetched again.
    pub(crate) fn fault<E>(
        &self,
        action: &'static str,
        key: Option<&Key>,
        generation: u64,
        error: SdkError<E, HttpResponse>,
    ) -> Fault
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let expired = answer_of(&error).is_some_and(|answer| {
            let expired = [
                "ExpiredToken",
                "ExpiredTokenException",
                "TokenRefreshRequired",
            ];
            expired.contains(&answer.code.as_str())
        });
        let target = Target {
            action,
            store: &self.name,
            key,
        };
        let mut fault = fault(target, error);
        if expired {
            match &self.credentials {
                Some(credentials) => credentials.refused(generation),
                None => fault.kind = FaultKind::Final,
            }
        }
        fault
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("name", &self.name)
            .field("place", &self.place)
            .field("read_headers", &self.read_headers.keys())
            .field("write_headers", &self.write_headers.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Keeps the date of an answer, which the SDK does not hand out.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerDate(Arc<Mutex<Option<SystemTime>>>);

impl AnswerDate {
    pub(crate) fn get(&self) -> Option<SystemTime> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intercept for AnswerDate {
    fn name(&self) -> &'static str {
        "AnswerDate"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), aws_sdk_s3::error::BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|text| DateTime::from_str(text, DateTimeFormat::HttpDate).ok());
        let date = date.and_then(|date| SystemTime::try_from(date).ok());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date;
        Ok(())
    }
}

/// A time of the SDK; long ago, where it has none.
pub(crate) fn time(date: Option<&DateTime>) -> SystemTime {
    date.and_then(|date| SystemTime::try_from(*date).ok())
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A digest that the store checks the bytes of an upload with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksum {
    /// CRC-32.
    Crc32,
    /// CRC-32C.
    Crc32c,
    /// CRC-64/NVME.
    Crc64Nvme,
    /// SHA-256.
    Sha256,
}

impl Bucket {
    /// The fault of one key of a delete request of many.
    pub(crate) fn refused_delete(&self, key: &Key, code: &str) -> Fault {
        let target = Target {
            action: "delete",
            store: &self.name,
            key: Some(key),
        };
        let source = Cause::boxed(&format!("the store said {code}"));
        match code {
            "AccessDenied" => target.denied(source).into(),
            "SlowDown" => target.of_kind(FaultKind::Throttled, source),
            "InternalError" | "ServiceUnavailable" => target.of_kind(FaultKind::InDoubt, source),
            _ => target.of_kind(FaultKind::Final, source),
        }
    }
}

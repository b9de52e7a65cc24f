//! Writes: small objects in one request, large ones in an upload that the client cuts up.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use google_cloud_gax::error::Error;
use google_cloud_storage::builder::storage::WriteObject;
use google_cloud_storage::model::Object;
use google_cloud_storage::streaming_source::{SizeHint, StreamingSource};
use icefield_storage::remote::{Answer, Fault, WriteRequest};
use icefield_storage::{Key, PutMode, StorageError, Written};

use crate::bucket::Bucket;
use crate::fault::{ErrorAnswer, answer_of, fault, says_no_bucket};
use crate::object::{WRITE_ID, generation, version, written_at};

/// Bytes from which an object is uploaded in a session of its own.
const SESSION: usize = 16 << 20;

impl Bucket {
    pub(crate) async fn write(
        &self,
        key: &Key,
        bytes: Bytes,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let name = self.new_object_name(key)?;
        let large = bytes.len() >= SESSION;
        let request = self.data.write_object(&self.resource, name, bytes);
        let Some(request) = self.described(request, write) else {
            return Ok(Answer::Refused);
        };
        let target = self.target("write", Some(key));
        let answer = match large {
            // Two requests, the second with all bytes.
            true => self.send(target, request.send_unbuffered()).await?,
            false => self.send(target, request.send_buffered()).await?,
        };
        self.answer(key, write, answer)
    }

    pub(crate) async fn write_stream(
        &self,
        key: &Key,
        size: Option<u64>,
        parts: BoxStream<'static, Result<Bytes, StorageError>>,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let name = self.new_object_name(key)?;
        let broken = Arc::new(Mutex::new(None));
        let source = Source {
            parts: Mutex::new(parts),
            size,
            broken: Arc::clone(&broken),
        };
        let request = self.data.write_object(&self.resource, name, source);
        let Some(request) = self.described(request, write) else {
            return Ok(Answer::Refused);
        };
        // The client holds one buffer, sends it, and asks for more.
        let request = request.with_resumable_upload_buffer_size(self.buffer);
        let target = self.target("write", Some(key));
        let answer = self.send(target, request.send_buffered()).await?;
        let broken = broken.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = broken {
            // The upload was never finished, so there is no object of it.
            return Err(error.into());
        }
        self.answer(key, write, answer)
    }

    /// Adds what must hold and what is said about the object; `None` if what must hold cannot.
    fn described<T>(
        &self,
        mut request: WriteObject<T>,
        write: &WriteRequest,
    ) -> Option<WriteObject<T>> {
        request = match &write.mode {
            PutMode::Overwrite => request,
            PutMode::Create => request.set_if_generation_match(0),
            PutMode::Update(version) => request.set_if_generation_match(generation(version)?),
        };
        let id = (WRITE_ID.to_owned(), write.write_id.clone());
        let metadata = write.user_metadata.iter().cloned().chain([id]);
        request = request
            .set_metadata(metadata)
            .with_resumable_upload_threshold(SESSION);
        if let Some(content_type) = write.content_type {
            request = request.set_content_type(content_type);
        }
        if let Some(class) = self.storage_class(write.class) {
            request = request.set_storage_class(class);
        }
        Some(match &self.user_project {
            Some(project) => request.with_quota_project(project),
            None => request,
        })
    }

    /// Reads the answer to a write.
    pub(crate) fn answer(
        &self,
        key: &Key,
        write: &WriteRequest,
        answer: Result<Object, Error>,
    ) -> Result<Answer, Fault> {
        let target = self.target("write", Some(key));
        let error = match answer {
            Ok(object) => {
                return Ok(Answer::Done(Written {
                    version: version(object.generation),
                    store_time: Some(written_at(&object)),
                }));
            }
            Err(error) => error,
        };
        match (answer_of(&error), &write.mode) {
            (
                Some(ErrorAnswer::Precondition | ErrorAnswer::NotModified),
                PutMode::Create | PutMode::Update(_),
            ) => Ok(Answer::Refused),
            (Some(ErrorAnswer::Missing), PutMode::Update(_)) if !says_no_bucket(&error) => {
                Ok(Answer::Refused)
            }
            // Where nothing has to be there, it is the bucket that is missing.
            (Some(ErrorAnswer::Missing), _) => Err(target.no_bucket("bucket")),
            _ => Err(fault(target, &error)),
        }
    }
}

/// The bytes of a payload, for the client. What breaks is kept aside: the client has no room for it.
struct Source {
    /// A lock that no task waits for: the client wants to share what it never shares.
    parts: Mutex<BoxStream<'static, Result<Bytes, StorageError>>>,
    size: Option<u64>,
    broken: Arc<Mutex<Option<StorageError>>>,
}

impl StreamingSource for Source {
    type Error = Broken;

    async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        let parts = self.parts.get_mut().unwrap_or_else(PoisonError::into_inner);
        match parts.next().await? {
            Ok(part) => Some(Ok(part)),
            Err(error) => {
                *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Some(Err(Broken))
            }
        }
    }

    async fn size_hint(&self) -> Result<SizeHint, Broken> {
        Ok(self.size.map_or_else(SizeHint::new, SizeHint::with_exact))
    }
}

/// The payload broke.
#[derive(Debug)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes to write could not be read")
    }
}

impl std::error::Error for Broken {}

//! Writes: one put where there is a condition, parts where there is none and the object is large.

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_storage::remote::{Answer, Fault, FaultKind, WriteRequest};
use icefield_storage::{Key, PutMode, StorageError, Version, Written};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, MultipartUpload, PutMultipartOptions, PutOptions, PutResult,
};

use crate::adapter::Adapter;
use crate::fault::says_it_is_there;
use crate::state;

/// The user metadata that names a write. Azure takes only names that are identifiers.
pub(crate) const WRITE_ID: &str = "icefield_write_id";

/// Bytes of a stream that are collected in memory, where a write with a condition has to be one request.
const COLLECTED: u64 = 256 << 20;

type Parts = BoxStream<'static, Result<Bytes, StorageError>>;

impl Adapter {
    pub(crate) async fn write(
        &self,
        key: &Key,
        bytes: Bytes,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        if bytes.len() as u64 > self.options.put_bytes {
            let parts = stream::once(async move { Ok(bytes) }).boxed();
            return match write.mode {
                PutMode::Overwrite => self.write_parts(key, parts, write).await,
                _ => Err(self.too_large()),
            };
        }
        let path = self.path(key.as_str())?;
        let Some(mode) = state::mode(&self.options, &write.mode) else {
            return Ok(Answer::Refused);
        };
        let options = PutOptions {
            mode,
            attributes: self.attributes(write),
            ..PutOptions::default()
        };
        let put = self.store.put_opts(&path, bytes.into(), options).await;
        self.answer(key, write, put).await
    }

    pub(crate) async fn write_stream(
        &self,
        key: &Key,
        size: Option<u64>,
        mut parts: Parts,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        if write.mode == PutMode::Overwrite {
            return self.write_parts(key, parts, write).await;
        }
        let limit = self.options.put_bytes.min(COLLECTED);
        let too_large = || {
            let store = self.name.clone();
            let what = format!(
                "streams of more than {limit} bytes that are written with a condition: they are collected in memory"
            );
            Fault::from(StorageError::Unsupported { store, what })
        };
        if size.is_some_and(|size| size > limit) {
            return Err(too_large());
        }
        let mut all = BytesMut::new();
        while let Some(part) = parts.try_next().await? {
            if all.len() as u64 + part.len() as u64 > limit {
                return Err(too_large());
            }
            all.extend_from_slice(&part);
        }
        self.write(key, all.freeze(), write).await
    }

    fn too_large(&self) -> Fault {
        let (store, limit) = (self.name.clone(), self.options.put_bytes);
        let what = format!("conditional writes of more than {limit} bytes");
        StorageError::Unsupported { store, what }.into()
    }

    /// Writes an object in parts, some of them in flight. The condition is none: `object_store` has no others here.
    async fn write_parts(
        &self,
        key: &Key,
        parts: Parts,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let path = self.path(key.as_str())?;
        let target = self.target("write", Some(key));
        let options = PutMultipartOptions {
            attributes: self.attributes(write),
            ..PutMultipartOptions::default()
        };
        let begun = self.store.put_multipart_opts(&path, options).await;
        let mut upload = Unfinished(Some(begun.map_err(|error| self.fault(target, error))?));
        let settings = &self.options.settings;
        let part_bytes = usize::try_from(settings.part_bytes).unwrap_or(usize::MAX);
        let sent = upload
            .send(parts, part_bytes, settings.parts_in_flight.max(1))
            .await;
        if let Err(failed) = sent {
            upload.abort(&path).await;
            return Err(match failed {
                Failed::Source(error) => error.into(),
                Failed::Store(error) => match self.fault(target, error) {
                    // No object was made of the parts, whatever became of them.
                    fault if fault.kind == FaultKind::InDoubt => {
                        Fault::new(FaultKind::NotDone, fault.error)
                    }
                    fault => fault,
                },
            });
        }
        let done = match upload.0.as_mut() {
            Some(upload) => upload.complete().await,
            None => unreachable!("BUG: the upload is still there"),
        };
        // Of an outcome in doubt nothing is cleaned up.
        upload.0 = None;
        self.answer(key, write, done).await
    }

    fn attributes(&self, write: &WriteRequest) -> Attributes {
        let mut attributes = Attributes::new();
        if self.options.attributes {
            for (name, value) in &write.user_metadata {
                let name = Attribute::Metadata(name.clone().into());
                attributes.insert(name, value.clone().into());
            }
            let id = Attribute::Metadata(WRITE_ID.into());
            attributes.insert(id, write.write_id.clone().into());
            if let Some(content_type) = write.content_type {
                attributes.insert(Attribute::ContentType, content_type.into());
            }
        }
        if let Some(class) = self.options.storage_class(write.class) {
            attributes.insert(Attribute::StorageClass, class.to_owned().into());
        }
        attributes
    }

    async fn answer(
        &self,
        key: &Key,
        write: &WriteRequest,
        put: object_store::Result<PutResult>,
    ) -> Result<Answer, Fault> {
        let target = self.target("write", Some(key));
        let error = match put {
            Ok(result) => return self.written(key, write, &result).await,
            Err(error) => error,
        };
        let conditional = write.mode != PutMode::Overwrite;
        match (&error, &write.mode) {
            (Error::AlreadyExists { .. }, PutMode::Create) if says_it_is_there(&error) => {
                return Ok(Answer::Refused);
            }
            (Error::Precondition { .. }, _) if conditional => return Ok(Answer::Refused),
            _ => {}
        }
        let fault = self.fault(target, error);
        match (&fault.error, &write.mode) {
            (StorageError::NotFound { .. }, PutMode::Update(_)) => Ok(Answer::Refused),
            // Where nothing has to be there, it is the container that is missing.
            (StorageError::NotFound { .. }, _) => Err(StorageError::Misconfigured {
                target: self.name.clone(),
                setting: "container",
                problem: "there is no such container or bucket".to_owned(),
            }
            .into()),
            _ => Err(fault),
        }
    }

    /// Names the state that a write has made.
    async fn written(
        &self,
        key: &Key,
        write: &WriteRequest,
        result: &PutResult,
    ) -> Result<Answer, Fault> {
        let (etag, id) = (result.e_tag.as_deref(), result.version.as_deref());
        if let Some(version) = state::of_parts(&self.options, etag, id) {
            return Ok(done(version));
        }
        // The store did not say. Another write may have followed: only our own id tells.
        let stored = self.describe(key).await;
        match stored {
            Ok(stored) if stored.write_id.as_deref() == Some(&write.write_id) => {
                Ok(done(stored.meta.version))
            }
            // It is written all the same; of the state no more is known than that it was this write's.
            _ => Ok(done(Version::new(format!("unknown:{}", write.write_id)))),
        }
    }
}

fn done(version: Version) -> Answer {
    Answer::Done(Written {
        version,
        store_time: None,
    })
}

/// Why no object was made of parts.
enum Failed {
    /// The bytes could not be had.
    Source(StorageError),
    Store(Error),
}

/// An upload that is thrown away if it is not finished.
struct Unfinished(Option<Box<dyn MultipartUpload>>);

impl Unfinished {
    /// Sends all parts of one size, the last one apart, `in_flight` at a time.
    async fn send(
        &mut self,
        mut source: Parts,
        part_bytes: usize,
        in_flight: usize,
    ) -> Result<(), Failed> {
        let Some(upload) = &mut self.0 else {
            unreachable!("BUG: the upload has just begun");
        };
        let mut held = BytesMut::new();
        let mut flying = stream::FuturesUnordered::new();
        loop {
            let more = source.try_next().await.map_err(Failed::Source)?;
            let ended = more.is_none();
            held.extend_from_slice(&more.unwrap_or_default());
            while held.len() >= part_bytes.max(1) || (ended && !held.is_empty()) {
                if flying.len() >= in_flight {
                    flying.next().await.transpose().map_err(Failed::Store)?;
                }
                let length = held.len().min(part_bytes.max(1));
                flying.push(upload.put_part(held.split_to(length).freeze().into()));
            }
            if ended {
                break;
            }
        }
        while let Some(sent) = flying.next().await {
            sent.map_err(Failed::Store)?;
        }
        Ok(())
    }

    async fn abort(&mut self, path: &Path) {
        if let Some(mut upload) = self.0.take()
            && let Err(error) = upload.abort().await
        {
            tracing::warn!(%path, %error, "parts of an upload are left behind");
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(mut upload) = self.0.take() else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = upload.abort().await {
                    tracing::warn!(%error, "parts of an upload are left behind");
                }
            });
        }
    }
}

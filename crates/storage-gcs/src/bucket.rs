//! The requests of a bucket.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use google_cloud_gax::error::Error;
use google_cloud_gax::options::RequestOptionsBuilder;
use google_cloud_storage::client::{Storage as Data, StorageControl};
use icefield_storage::remote::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Remote, Stored, Target, WriteRequest,
};
use icefield_storage::{
    Capabilities, DeleteOutcome, Deletion, GetOptions, Key, KeyForm, ListOptions, Object,
    ObjectClass, Prefix, StorageError, UnreadableName, Version,
};

use crate::credentials::Tokens;
use crate::fault::{ErrorAnswer, answer_of, fault, says_no_bucket};
use crate::object::{Description, generation, meta};

/// Entries of a page.
const PAGE: i32 = 1000;
/// Bytes of the largest object: 5 TiB.
const LARGEST: u64 = 5 << 40;

/// A bucket and how it is asked.
pub(crate) struct Bucket {
    /// Reads and writes bytes, over HTTP.
    pub(crate) data: Data,
    /// Everything else, over gRPC.
    pub(crate) control: StorageControl,
    /// How errors name it.
    pub(crate) name: String,
    pub(crate) place: String,
    /// `projects/_/buckets/…`
    pub(crate) resource: String,
    pub(crate) prefix: Prefix,
    pub(crate) is_google: bool,
    pub(crate) credentials: Option<Tokens>,
    pub(crate) user_project: Option<String>,
    pub(crate) metadata_class: Option<String>,
    pub(crate) chunk_class: Option<String>,
    /// Bytes that a stream holds in memory, whole multiples of what the store wants.
    pub(crate) buffer: usize,
}

impl Bucket {
    pub(crate) fn target<'a>(&'a self, action: &'static str, key: Option<&'a Key>) -> Target<'a> {
        Target {
            action,
            store: &self.name,
            key,
        }
    }

    /// Returns the name of the object of a key, or of a prefix.
    pub(crate) fn object_name(&self, key: &str) -> String {
        match (self.prefix.is_all(), key) {
            (true, _) => key.to_owned(),
            (false, "") => self.prefix.to_string(),
            (false, _) => format!("{}/{key}", self.prefix),
        }
    }

    /// Returns the name of an object that is written. Some names the store does not take.
    pub(crate) fn new_object_name(&self, key: &Key) -> Result<String, StorageError> {
        let name = self.object_name(key.as_str());
        let problem = match () {
            () if name.contains(['\r', '\n']) => "line ends",
            () if name.starts_with(".well-known/acme-challenge/") => "that beginning",
            () if name.len() > 1024 => "more than 1024 bytes",
            () => return Ok(name),
        };
        Err(StorageError::Unsupported {
            store: self.name.clone(),
            what: format!("names with {problem}: {key:?}"),
        })
    }

    /// Returns the part of an object's name below the prefix; `None` for another one.
    fn below<'a>(&self, name: &'a str) -> Option<&'a str> {
        match self.prefix.is_all() {
            true => Some(name),
            false => name.strip_prefix(self.prefix.as_str())?.strip_prefix('/'),
        }
    }

    pub(crate) fn storage_class(&self, class: ObjectClass) -> Option<&str> {
        match class {
            ObjectClass::Metadata => self.metadata_class.as_deref(),
            ObjectClass::Chunk => self.chunk_class.as_deref(),
        }
    }

    /// A request over gRPC, on account of the project that pays.
    pub(crate) fn paid<B: RequestOptionsBuilder>(&self, request: B) -> B {
        match &self.user_project {
            Some(project) => request.with_quota_project(project),
            None => request,
        }
    }

    /// Sends a request, and has the token renewed if the store does not take it.
    pub(crate) async fn send<T>(
        &self,
        target: Target<'_>,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, Fault> {
        let generation = self.credentials.as_ref().map_or(0, |it| it.generation());
        let answer = request.await;
        if let (Err(error), Some(credentials)) = (&answer, &self.credentials)
            && answer_of(error) == Some(ErrorAnswer::Unauthenticated)
        {
            credentials.refused(generation);
            return Err(Fault::new(FaultKind::NotDone, target.not_accepted()));
        }
        Ok(answer)
    }

    /// Describes an object.
    pub(crate) async fn describe(&self, key: &Key) -> Result<Description, Fault> {
        let object = self.object(key).await?;
        Ok(Description::of(key.clone(), &object))
    }

    pub(crate) async fn object(
        &self,
        key: &Key,
    ) -> Result<google_cloud_storage::model::Object, Fault> {
        let target = self.target("read", Some(key));
        let request = self.control.get_object().set_bucket(&self.resource);
        let request = self.paid(request.set_object(self.object_name(key.as_str())));
        let answer = self.send(target, request.send()).await?;
        answer.map_err(|error| fault(target, &error))
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("store", &self.name)
            .field("user_project", &self.user_project)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Remote for Bucket {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::ObjectStorePath);
        capabilities.remote = true;
        capabilities
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn limits(&self) -> Limits {
        Limits::whole(LARGEST)
    }

    fn is_known_to_honour_conditions(&self) -> bool {
        self.is_google
    }

    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        self.read(key, options, at_most).await
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        Ok(self.describe(key).await?.stored)
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        self.write(key, bytes, write).await
    }

    async fn put_stream(
        &self,
        key: &Key,
        size: Option<u64>,
        parts: BoxStream<'static, Result<Bytes, StorageError>>,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        self.write_stream(key, size, parts, write).await
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        source_version: Option<&Version>,
        write: &WriteRequest,
    ) -> Option<Result<Answer, Fault>> {
        Some(self.rewrite(from, to, source_version, write).await)
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        let key = &deletion.key;
        let target = self.target("delete", Some(key));
        let request = self.control.delete_object().set_bucket(&self.resource);
        let mut request = self.paid(request.set_object(self.object_name(key.as_str())));
        if let Some(version) = &deletion.version {
            let Some(generation) = generation(version) else {
                return Ok(DeleteOutcome::Refused);
            };
            request = request.set_if_generation_match(generation);
        }
        let Err(error) = self.send(target, request.send()).await? else {
            return Ok(DeleteOutcome::Deleted);
        };
        match answer_of(&error) {
            Some(ErrorAnswer::Missing) if !says_no_bucket(&error) => Ok(match deletion.version {
                None => DeleteOutcome::Deleted,
                Some(_) => DeleteOutcome::Refused,
            }),
            Some(ErrorAnswer::Precondition) if deletion.version.is_some() => {
                Ok(DeleteOutcome::Refused)
            }
            _ => Err(fault(target, &error)),
        }
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        let target = self.target("list", None);
        let mut below = self.object_name(options.prefix.as_str());
        if !below.is_empty() {
            below.push('/');
        }
        let request = self.control.list_objects().set_parent(&self.resource);
        let mut request = self.paid(request.set_prefix(below).set_page_size(PAGE));
        if let Some(after) = &options.start_after {
            // The key itself is included; it is left out below.
            request = request.set_lexicographic_start(self.object_name(after.as_str()));
        }
        if let Some(token) = token {
            request = request.set_page_token(token);
        }
        let answer = self.send(target, request.send()).await?;
        let answer = answer.map_err(|error| fault(target, &error))?;
        let mut entries = Vec::with_capacity(answer.objects.len());
        for object in &answer.objects {
            // An entry that is left out would be an object that is not there.
            let Some(name) = self.below(&object.name) else {
                let problem = format!(
                    "the store listed {:?}, which was not asked for",
                    object.name
                );
                return Err(target.of_kind(FaultKind::Final, problem.into()));
            };
            let after = options.start_after.as_ref();
            if after.is_none_or(|after| name > after.as_str()) {
                let size = u64::try_from(object.size).unwrap_or_default();
                let key = UnreadableName::parse(name.as_bytes(), size);
                entries.push(key.map(|key| meta(key, object)));
            }
        }
        let next = answer.next_page_token.clone();
        Ok(Page {
            entries,
            next: (!next.is_empty()).then_some(next),
        })
    }
}

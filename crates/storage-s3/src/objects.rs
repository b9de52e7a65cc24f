//! The requests of the contract, each sent once by the file about its kind.

use async_trait::async_trait;
use bytes::Bytes;
use icefield_storage::remote::{
    Answer, Deleted, Fault, Limits, Page, Part, Remote, Stored, Upload, WriteRequest,
};
use icefield_storage::{
    Advice, Capabilities, Deletion, GetOptions, Key, KeyForm, ListOptions, Object, Version,
};

use crate::bucket::Bucket;
use crate::version::agree;

/// Objects of one put: Amazon's limit.
const PUT_BYTES: u64 = 5 << 30;
/// Bytes of the smallest part, and parts of one object: Amazon's limits.
const PART_BYTES: u64 = 5 << 20;
const PARTS: u32 = 10_000;
const DELETE_KEYS: usize = 1000;

#[async_trait]
impl Remote for Bucket {
    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::Raw);
        capabilities.exact_versions = false;
        capabilities.hides_missing = true;
        capabilities.remote = true;
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
        self.read(key, options, at_most).await
    }

    fn agree(&self, wanted: &Version, found: &Version) -> bool {
        agree(wanted, found)
    }

    async fn head(&self, key: &Key) -> Result<Stored, Fault> {
        self.describe(key).await
    }

    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault> {
        self.write(key, bytes, write).await
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        source_version: Option<&Version>,
        write: &WriteRequest,
    ) -> Option<Result<Answer, Fault>> {
        self.copy_on_server(from, to, source_version, write).await
    }

    async fn delete(&self, deletion: &Deletion) -> Deleted {
        self.remove(deletion).await
    }

    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        self.remove_keys(keys).await
    }

    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault> {
        self.page(options, token).await
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

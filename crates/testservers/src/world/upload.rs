//! Uploads in parts, as S3 has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::object::{hex, md5};
use super::open_upload::{OpenUpload, PartLimits, UploadedPart};
use super::{Attributes, Condition, Draft, Refusal, StoredObject, World, WriteRules};

impl World {
    /// Begins an upload and returns its id.
    ///
    /// # Errors
    /// [`Refusal::NoBucket`].
    pub fn begin_upload(
        &self,
        bucket: &str,
        key: &str,
        attributes: Attributes,
    ) -> Result<String, Refusal> {
        let mut state = self.lock();
        state.bucket(bucket)?;
        state.uploads_begun += 1;
        let id = format!("upload-{:08}", state.uploads_begun);
        let upload = OpenUpload {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            attributes,
            initiated: self.now_in(&state),
            parts: BTreeMap::new(),
        };
        state.uploads.insert(id.clone(), upload);
        Ok(id)
    }

    /// Stores one part and returns its tag.
    ///
    /// # Errors
    /// [`Refusal::NoUpload`], and [`Refusal::TooMuch`] for a number or size beyond the limits.
    pub fn put_part(
        &self,
        id: &str,
        number: i32,
        bytes: Bytes,
        limits: PartLimits,
    ) -> Result<String, Refusal> {
        let mut state = self.lock();
        let last_modified = self.now_in(&state);
        let upload = state.uploads.get_mut(id).ok_or(Refusal::NoUpload)?;
        if !(1..=limits.max_parts).contains(&number) || bytes.len() > limits.max_put {
            return Err(Refusal::TooMuch);
        }
        let etag = format!("\"{}\"", hex(&md5(&bytes)));
        let part = UploadedPart {
            bytes,
            etag: etag.clone(),
            last_modified,
        };
        upload.parts.insert(number, part);
        Ok(etag)
    }

    /// Puts the named parts together as one object, and ends the upload.
    ///
    /// # Errors
    /// [`Refusal`]; the upload is still open then.
    pub async fn complete_upload(
        &self,
        id: &str,
        named: &[(i32, Option<String>)],
        limits: PartLimits,
        condition: &Condition,
        rules: WriteRules,
    ) -> Result<Arc<StoredObject>, Refusal> {
        let upload = self.upload(id)?;
        let draft = assemble(&upload, named, limits)?;
        self.pause_if_racy(&upload.bucket, &upload.key, condition, rules)
            .await?;
        let mut state = self.lock();
        // Another request may have completed it in the meantime.
        if !state.uploads.contains_key(id) {
            return Err(Refusal::NoUpload);
        }
        let now = self.now_in(&state);
        let object = state.write(&upload.bucket, &upload.key, draft, condition, rules, now)?;
        state.uploads.remove(id);
        Ok(object)
    }

    /// Forgets an upload and its parts.
    ///
    /// # Errors
    /// [`Refusal::NoUpload`].
    pub fn abort_upload(&self, id: &str) -> Result<(), Refusal> {
        let removed = self.lock().uploads.remove(id);
        removed.map(drop).ok_or(Refusal::NoUpload)
    }

    /// Returns an open upload.
    ///
    /// # Errors
    /// [`Refusal::NoUpload`].
    pub fn upload(&self, id: &str) -> Result<OpenUpload, Refusal> {
        let upload = self.lock().uploads.get(id).cloned();
        upload.ok_or(Refusal::NoUpload)
    }

    /// Returns the open uploads by id.
    pub fn uploads(&self) -> BTreeMap<String, OpenUpload> {
        self.lock().uploads.clone()
    }
}

fn assemble(
    upload: &OpenUpload,
    named: &[(i32, Option<String>)],
    limits: PartLimits,
) -> Result<Draft, Refusal> {
    if named.is_empty() {
        return Err(Refusal::BadPart);
    }
    if !named.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(Refusal::PartOrder);
    }
    let mut bytes = BytesMut::new();
    let mut digests = Vec::new();
    for (position, (number, etag)) in named.iter().enumerate() {
        let part = upload.parts.get(number).ok_or(Refusal::BadPart)?;
        let bare = |tag: &str| tag.trim_matches('"').to_owned();
        if etag
            .as_deref()
            .is_some_and(|etag| bare(etag) != bare(&part.etag))
        {
            return Err(Refusal::BadPart);
        }
        if position + 1 < named.len() && part.bytes.len() < limits.min_part {
            return Err(Refusal::PartTooSmall);
        }
        digests.extend_from_slice(&md5(&part.bytes));
        bytes.extend_from_slice(&part.bytes);
    }
    Ok(Draft {
        bytes: bytes.freeze(),
        attributes: upload.attributes.clone(),
        etag: Some(format!("{}-{}", hex(&md5(&digests)), named.len())),
    })
}

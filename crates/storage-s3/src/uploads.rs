//! Uploads in parts, each request sent once.

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use bytes::Bytes;
use icefield_storage::remote::{Answer, Fault, FaultKind, Part, Upload, WriteRequest};
use icefield_storage::{Key, StorageError};

use crate::bucket::{AnswerDate, Bucket, WRITE_ID};
use crate::fault::answer_of;

impl Bucket {
    pub(crate) async fn send_begin(
        &self,
        key: &Key,
        write: &WriteRequest,
    ) -> Result<Upload, Fault> {
        self.check_name(key)?;
        let generation = self.generation();
        let labels = self.labels(write.class);
        let mut request = self
            .client
            .create_multipart_upload()
            .bucket(&self.bucket)
            .key(self.path(key))
            .set_content_type(write.content_type.map(str::to_owned))
            .set_storage_class(labels.storage_class())
            .set_tagging(labels.tagging())
            .set_request_payer(self.payer())
            .set_checksum_algorithm(self.checksum())
            .metadata(WRITE_ID, &write.write_id);
        for (name, value) in &write.user_metadata {
            request = request.metadata(name, value);
        }
        let sent = request
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = sent.map_err(|error| self.fault("write", Some(key), generation, error))?;
        match output.upload_id() {
            Some(id) => Ok(Upload { id: id.to_owned() }),
            None => Err(self.unreadable(key, "the store began an upload without a name")),
        }
    }

    pub(crate) async fn send_part(
        &self,
        key: &Key,
        upload: &Upload,
        number: u32,
        bytes: Bytes,
    ) -> Result<Part, Fault> {
        let generation = self.generation();
        let sent = self
            .client
            .upload_part()
            .bucket(&self.bucket)
            .key(self.path(key))
            .upload_id(&upload.id)
            .part_number(i32::try_from(number).unwrap_or(i32::MAX))
            .set_checksum_algorithm(self.checksum())
            .set_request_payer(self.payer())
            .body(ByteStream::from(bytes))
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = sent.map_err(|error| self.fault("write", Some(key), generation, error))?;
        match output.e_tag() {
            Some(tag) => Ok(Part {
                number,
                tag: tag.to_owned(),
            }),
            None => Err(self.unreadable(key, "the store took a part without naming it")),
        }
    }

    pub(crate) async fn send_complete(
        &self,
        key: &Key,
        upload: &Upload,
        parts: &[Part],
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let generation = self.generation();
        if Self::can_never_hold(&write.mode) {
            return Ok(Answer::Refused);
        }
        let (if_match, if_none_match) = Self::conditions(&write.mode);
        let date = AnswerDate::default();
        let parts = parts.iter().map(|part| {
            CompletedPart::builder()
                .part_number(i32::try_from(part.number).unwrap_or(i32::MAX))
                .e_tag(&part.tag)
                .build()
        });
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts.collect()));
        let sent = self
            .client
            .complete_multipart_upload()
            .bucket(&self.bucket)
            .key(self.path(key))
            .upload_id(&upload.id)
            .set_if_match(if_match)
            .set_if_none_match(if_none_match)
            .multipart_upload(parts.build())
            .set_request_payer(self.payer())
            .customize()
            .interceptor(date.clone())
            .mutate_request(self.stamp())
            .send()
            .await;
        let error = match sent {
            Ok(output) => return Ok(Self::written(output.e_tag(), write, date.get())),
            Err(error) => error,
        };
        match answer_of(&error) {
            Some(answer) if Self::is_refusal(&write.mode, answer.status, &answer.code) => {
                Ok(Answer::Refused)
            }
            // A collision: the upload has to begin again.
            Some(answer) if answer.status == 409 => {
                let fault = self.fault("write", Some(key), generation, error);
                Err(Fault::new(FaultKind::Vanished, fault.error))
            }
            _ => Err(self.fault("write", Some(key), generation, error)),
        }
    }

    pub(crate) async fn send_abort(&self, key: &Key, upload: &Upload) -> Result<(), Fault> {
        let generation = self.generation();
        let sent = self
            .client
            .abort_multipart_upload()
            .bucket(&self.bucket)
            .key(self.path(key))
            .upload_id(&upload.id)
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        match sent {
            Ok(_) => Ok(()),
            Err(error) if answer_of(&error).is_some_and(|answer| answer.status == 404) => Ok(()),
            Err(error) => Err(self.fault("abort", Some(key), generation, error)),
        }
    }

    fn unreadable(&self, key: &Key, problem: &str) -> Fault {
        StorageError::Failed {
            action: "write",
            target: key.to_string(),
            source: problem.to_owned().into(),
        }
        .into()
    }
}

//! Copies on the server.

use google_cloud_storage::model::Object;
use icefield_storage::remote::{Answer, Fault, WriteRequest};
use icefield_storage::{Key, PutMode, StorageError, Version};

use crate::bucket::Bucket;
use crate::fault::{ErrorAnswer, answer_of, fault, says_no_bucket};
use crate::object::{WRITE_ID, generation, version};

impl Bucket {
    /// Copies an object. Its description is read before, because the copy gets a description of its own, with the
    /// id of this write in it.
    pub(crate) async fn rewrite(
        &self,
        from: &Key,
        to: &Key,
        source_version: Option<&Version>,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let destination = self.new_object_name(to)?;
        let source = self.object(from).await?;
        if source_version.is_some_and(|wanted| *wanted != version(source.generation)) {
            return Ok(Answer::Refused);
        }
        let condition = match &write.mode {
            PutMode::Overwrite => None,
            PutMode::Create => Some(0),
            PutMode::Update(version) => match generation(version) {
                Some(generation) => Some(generation),
                None => return Ok(Answer::Refused),
            },
        };
        let target = self.target("copy", Some(from));
        let request = self
            .control
            .rewrite_object()
            .set_source_bucket(&self.resource);
        let mut request = self
            .paid(request)
            .set_source_object(self.object_name(from.as_str()))
            .set_destination_bucket(&self.resource)
            .set_destination_name(destination)
            .set_destination(self.description(&source, write))
            .set_or_clear_if_generation_match(condition);
        if source_version.is_some() {
            request = request.set_if_source_generation_match(source.generation);
        }
        loop {
            let sent = request.clone().send();
            match self.send(target, sent).await? {
                Ok(answer) if answer.done => {
                    let Some(object) = answer.resource else {
                        let nothing = "the store did not say what it made";
                        let kind = icefield_storage::remote::FaultKind::InDoubt;
                        return Err(target.of_kind(kind, nothing.into()));
                    };
                    return self.answer(to, write, Ok(object));
                }
                // A large object that moves between classes is copied bit by bit.
                Ok(answer) => request = request.set_rewrite_token(answer.rewrite_token),
                Err(error) => {
                    return match answer_of(&error) {
                        Some(ErrorAnswer::Missing) if !says_no_bucket(&error) => {
                            Err(StorageError::NotFound { key: from.clone() }.into())
                        }
                        Some(ErrorAnswer::Precondition)
                            if condition.is_some() || source_version.is_some() =>
                        {
                            Ok(Answer::Refused)
                        }
                        _ => Err(fault(target, &error)),
                    };
                }
            }
        }
    }

    /// The metadata of the copy: those of the source, by another write.
    fn description(&self, source: &Object, write: &WriteRequest) -> Object {
        let mut metadata = source.metadata.clone();
        metadata.insert(WRITE_ID.to_owned(), write.write_id.clone());
        let class = self
            .storage_class(write.class)
            .unwrap_or(&source.storage_class);
        Object::new()
            .set_metadata(metadata)
            .set_content_type(&source.content_type)
            .set_content_encoding(&source.content_encoding)
            .set_content_disposition(&source.content_disposition)
            .set_content_language(&source.content_language)
            .set_cache_control(&source.cache_control)
            .set_storage_class(class)
    }
}

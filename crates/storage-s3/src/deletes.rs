//! Deletes, one object or many to a request.

use std::collections::{HashMap, HashSet};

use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use icefield_storage::remote::{Deleted, Fault, Remote};
use icefield_storage::{DeleteOutcome, Deletion, Key};

use crate::bucket::Bucket;
use crate::fault::answer_of;
use crate::version::{agree, as_header, etag};

impl Bucket {
    pub(crate) async fn remove(&self, deletion: &Deletion) -> Deleted {
        let generation = self.generation();
        let key = &deletion.key;
        if let Some(wanted) = &deletion.version {
            if as_header(etag(wanted)).is_none() {
                return Ok(DeleteOutcome::Refused);
            }
            // Some servers delete whatever is there: what is seen to be another state is not even asked for.
            match self.describe(key).await {
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
            Err(error) => match (answer_of(&error), &deletion.version) {
                (Some(answer), Some(_)) if matches!(answer.status, 404 | 412) => {
                    Ok(DeleteOutcome::Refused)
                }
                (Some(answer), None) if answer.status == 404 && answer.code != "NoSuchBucket" => {
                    Ok(DeleteOutcome::Deleted)
                }
                _ => Err(self.fault("delete", Some(key), generation, error)),
            },
        }
    }

    pub(crate) async fn remove_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        let generation = self.generation();
        let objects = keys.iter().map(|key| {
            let object = ObjectIdentifier::builder().key(self.path(key)).build();
            object.map_err(|error| self.cannot(&error.to_string()))
        });
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let delete = Delete::builder()
            .set_objects(Some(objects))
            .quiet(false)
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
        let failed: HashMap<&str, &str> = output
            .errors()
            .iter()
            .filter_map(|it| Some((it.key()?, it.code().unwrap_or_default())))
            .collect();
        let deleted: HashSet<&str> = output.deleted().iter().filter_map(|it| it.key()).collect();
        Ok(keys
            .iter()
            .map(|key| {
                let path = self.path(key);
                match (failed.get(&*path), deleted.contains(&*path)) {
                    (Some(&"NoSuchKey"), _) | (None, true) => Ok(DeleteOutcome::Deleted),
                    (Some(code), _) => Err(self.refused_delete(key, code)),
                    // Its name may have been garbled on the way: the outcome is unknown.
                    (None, false) => Err(self.refused_delete(key, "InternalError")),
                }
            })
            .collect())
    }
}

//! Lists, a page at a time.

use aws_sdk_s3::types::EncodingType;
use icefield_storage::remote::{Fault, Page};
use icefield_storage::{Key, ListOptions, ObjectMeta, StorageError};

use crate::bucket::{Bucket, time};
use crate::version::version;

impl Bucket {
    pub(crate) async fn page(
        &self,
        options: &ListOptions,
        token: Option<&str>,
    ) -> Result<Page, Fault> {
        let generation = self.generation();
        let below = match options.prefix.is_all() {
            true => self.prefix.to_string(),
            false => self
                .prefix
                .join(&options.prefix)
                .map_err(StorageError::from)?
                .to_string(),
        };
        let prefix = match below.is_empty() {
            true => below,
            false => format!("{below}/"),
        };
        let start_after = options.start_after.as_ref().map(|key| self.path(key));
        let sent = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .set_prefix((!prefix.is_empty()).then_some(prefix))
            // XML cannot carry every character of a key.
            .encoding_type(EncodingType::Url)
            .set_start_after(start_after.filter(|_| token.is_none()))
            .set_continuation_token(token.map(str::to_owned))
            .set_request_payer(self.payer())
            .customize()
            .mutate_request(self.stamp())
            .send()
            .await;
        let output = sent.map_err(|error| self.fault("list", None, generation, error))?;
        let is_encoded = output.encoding_type() == Some(&EncodingType::Url);
        let objects = output.contents().iter().filter_map(|object| {
            let path = object.key()?;
            let path = match is_encoded {
                true => decoded(path)?,
                false => path.to_owned(),
            };
            let rest = match self.prefix.is_all() {
                true => &path[..],
                false => path.strip_prefix(self.prefix.as_str())?.strip_prefix('/')?,
            };
            Some(ObjectMeta {
                key: Key::parse(rest).ok()?,
                size: u64::try_from(object.size().unwrap_or(0)).unwrap_or(0),
                version: version(object.e_tag().unwrap_or_default(), None),
                last_modified: Some(time(object.last_modified())),
            })
        });
        let next = output.next_continuation_token().map(str::to_owned);
        if next.is_none() && output.is_truncated() == Some(true) {
            return Err(StorageError::Failed {
                action: "list",
                target: self.name.clone(),
                source: "the store says that there is more, and not where".into(),
            }
            .into());
        }
        let objects = objects.collect();
        Ok(Page { objects, next })
    }
}

/// Decodes `%41` and `+`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, tail) = rest.split_at_checked(2)?;
                rest = tail;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

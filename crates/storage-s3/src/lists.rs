//! Lists, a page at a time.

use aws_sdk_s3::types::EncodingType;
use icefield_storage::remote::{Fault, Page};
use icefield_storage::{ListOptions, ObjectMeta, StorageError, UnreadableName};

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
        let failed = |problem: String| StorageError::Failed {
            action: "list",
            target: self.name.clone(),
            source: problem.into(),
        };
        let mut entries = Vec::with_capacity(output.contents().len());
        for object in output.contents() {
            let listed = object.key().unwrap_or_default();
            let path = match is_encoded {
                true => decoded(listed),
                false => Some(listed.as_bytes().to_vec()),
            };
            // An entry that is left out would be an object that is not there.
            let name = path
                .as_deref()
                .and_then(|path| name_below(path, self.prefix.as_str()));
            let name = name.ok_or_else(|| {
                failed(format!(
                    "the store listed {listed:?}, which was not asked for, or is not encoded as it says"
                ))
            })?;
            let size = u64::try_from(object.size().unwrap_or(0)).unwrap_or(0);
            entries.push(UnreadableName::parse(name, size).map(|key| ObjectMeta {
                key,
                size,
                version: version(object.e_tag().unwrap_or_default(), None),
                last_modified: Some(time(object.last_modified())),
            }));
        }
        let next = output.next_continuation_token().map(str::to_owned);
        if next.is_none() && output.is_truncated() == Some(true) {
            let problem = "the store says that there is more, and not where".to_owned();
            return Err(failed(problem).into());
        }
        Ok(Page { entries, next })
    }
}

/// Returns what follows `prefix/`; all of it without a prefix.
fn name_below<'a>(path: &'a [u8], prefix: &str) -> Option<&'a [u8]> {
    match prefix {
        "" => Some(path),
        _ => path.strip_prefix(prefix.as_bytes())?.strip_prefix(b"/"),
    }
}

/// Decodes `%41` and `+`.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (digits, tail) = rest.split_at_checked(2)?;
                rest = tail;
                hex_byte(digits)?
            }
            byte => *byte,
        });
    }
    Some(bytes)
}

/// Returns the byte that two hexadecimal digits say; a number in Rust may have a sign, too.
fn hex_byte(digits: &[u8]) -> Option<u8> {
    let mut digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
    let value = digits.try_fold(0, |value, digit| Some(value * 16 + digit?));
    u8::try_from(value?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_names_are_bytes() {
        assert_eq!(decoded("a%2Fb+c").as_deref(), Some(&b"a/b c"[..]));
        assert_eq!(decoded("a/%FF%00").as_deref(), Some(&b"a/\xff\0"[..]));
        for broken in ["%", "a%2", "%zz", "%+1"] {
            assert_eq!(decoded(broken), None, "{broken}");
        }
    }

    #[test]
    fn names_are_those_below_the_prefix() {
        assert_eq!(name_below(b"r/a/", "r"), Some(&b"a/"[..]));
        assert_eq!(name_below(b"r/", "r"), Some(&b""[..]));
        assert_eq!(name_below(b"/a", ""), Some(&b"/a"[..]));
        assert_eq!(name_below(b"ra", "r"), None);
    }
}

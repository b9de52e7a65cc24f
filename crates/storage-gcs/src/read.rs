//! Reads: bytes over HTTP; and over gRPC, at the same time, what a condition needs to know besides.

use std::ops::Range;

use bytes::Bytes;
use futures::future::join;
use futures::stream::{self, StreamExt};
use google_cloud_storage::builder::storage::ReadObject;
use google_cloud_storage::model_ext::ReadRange;
use google_cloud_storage::read_object::ReadObjectResponse;
use icefield_storage::remote::{Fault, FaultKind, Stored, Target};
use icefield_storage::{Body, Condition, GetOptions, GetRange, Key, Object, StorageError};

use crate::bucket::Bucket;
use crate::fault::{ErrorAnswer, answer_of, cause, fault};
use crate::object::{Description, generation, version};

impl Bucket {
    /// Reads a range of an object, or its beginning.
    pub(crate) async fn read(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        let Some(range) = range_of(&options.range, at_most) else {
            return empty(options, self.describe(key).await?.stored, None);
        };
        let target = self.target("read", Some(key));
        let request = self.request(key, options).set_read_range(range);
        let sent = self.send(target, request.send());
        let (answer, described) = match hangs_on_more(options) {
            false => (sent.await?, None),
            true => {
                let (answer, described) = join(sent, self.describe(key)).await;
                (answer?, Some(described))
            }
        };
        let response = match answer {
            Ok(response) => response,
            Err(error) => match answer_of(&error) {
                // Why, and of how large an object, only its description tells.
                Some(ErrorAnswer::NotModified | ErrorAnswer::Precondition | ErrorAnswer::Range) => {
                    // The metadata that were known may be of a state that has passed.
                    let stored = self.describe(key).await?.stored;
                    return empty(options, stored, Some(target));
                }
                _ => return Err(fault(target, &error)),
            },
        };
        let read = response.object();
        let Description { stored, crc32c } = match described {
            Some(described) => described?,
            None => match Description::of_read(key.clone(), &read) {
                Some(description) => description,
                None => self.describe(key).await?,
            },
        };
        if stored.meta.version != version(read.generation) {
            return Err(changed(target));
        }
        let wanted = options.check(&stored.meta, stored.etag.as_deref())?;
        let end = match (at_most, &options.range) {
            (Some(most), range) if !matches!(range, GetRange::Suffix(_)) => {
                wanted.end.min(wanted.start.saturating_add(most.max(1)))
            }
            _ => wanted.end,
        };
        // Of a part there is nothing to compare with.
        let whole = wanted.start == 0 && end == stored.meta.size;
        let body = Checked {
            response,
            left: end - wanted.start,
            sum: 0,
            wanted: crc32c.filter(|_| whole),
        };
        Ok(Object {
            meta: stored.meta,
            range: wanted.start..end,
            body: self.body(key, body),
        })
    }

    fn request(&self, key: &Key, options: &GetOptions) -> ReadObject {
        let name = self.object_name(key.as_str());
        let mut request = self.data.read_object(&self.resource, name);
        // Others than these are decided by the description.
        if let Some(Condition::Version(version)) = &options.if_match
            && let Some(generation) = generation(version)
        {
            request = request.set_if_generation_match(generation);
        }
        if let Some(Condition::Version(version)) = &options.if_none_match
            && let Some(generation) = generation(version)
        {
            request = request.set_if_generation_not_match(generation);
        }
        match &self.user_project {
            Some(project) => request.with_quota_project(project),
            None => request,
        }
    }

    fn body(&self, key: &Key, body: Checked) -> Body {
        let (name, key) = (self.name.clone(), key.clone());
        let parts = stream::unfold(Some(body), move |body| {
            let (name, key) = (name.clone(), key.clone());
            async move {
                let mut body = body?;
                let target = Target {
                    action: "read",
                    store: &name,
                    key: Some(&key),
                };
                match body.next(target).await? {
                    Ok(part) => Some((Ok(part), Some(body))),
                    Err(error) => Some((Err(error), None)),
                }
            }
        });
        Body::Stream(parts.boxed())
    }
}

/// Whether a condition hangs on what the answer to a read does not tell.
fn hangs_on_more(options: &GetOptions) -> bool {
    let tag = |condition: &Option<Condition>| matches!(condition, Some(Condition::ETag(_)));
    options.if_unmodified_since.is_some() || tag(&options.if_match) || tag(&options.if_none_match)
}

/// A body whose bytes must add up to what was stored, if all of them were asked for. The client checks that only
/// where no range was named, and the layer above names one for all but the smallest objects.
struct Checked {
    response: ReadObjectResponse,
    /// Bytes that are still to come.
    left: u64,
    sum: u32,
    wanted: Option<u32>,
}

impl Checked {
    /// Returns the next bytes; the last ones only if all are right.
    async fn next(&mut self, target: Target<'_>) -> Option<Result<Bytes, StorageError>> {
        let part = match self.response.next().await? {
            Ok(part) => part,
            Err(error) => {
                // A body that breaks off can be taken up again, whatever the reason; one whose bytes are not those
                // that were stored cannot: they are handed out already.
                let kind = match error.is_deserialization() {
                    true => FaultKind::Final,
                    false => FaultKind::InDoubt,
                };
                return Some(Err(target.of_kind(kind, cause(&error)).error));
            }
        };
        self.left = self.left.saturating_sub(part.len() as u64);
        if let Some(wanted) = self.wanted {
            self.sum = crc32c::crc32c_append(self.sum, &part);
            if self.left == 0 && self.sum != wanted {
                let problem = "the bytes are not those that were stored: their checksum differs";
                return Some(Err(target.of_kind(FaultKind::Final, problem.into()).error));
            }
        }
        Some(Ok(part))
    }
}

/// Answers with no bytes, if that is what the description says: the conditions are decided by it. `refused`: the
/// store has refused the request, so that a range with bytes in it can only be one of another state.
fn empty(
    options: &GetOptions,
    stored: Stored,
    refused: Option<Target<'_>>,
) -> Result<Object, Fault> {
    let wanted = options.check(&stored.meta, stored.etag.as_deref())?;
    if let (Some(target), false) = (refused, wanted.is_empty()) {
        return Err(changed(target));
    }
    Ok(Object {
        meta: stored.meta,
        range: wanted.start..wanted.start,
        body: Body::Bytes(Bytes::new()),
    })
}

fn changed(target: Target<'_>) -> Fault {
    let source = "the object was replaced between its bytes and its description";
    target.of_kind(FaultKind::NotDone, source.into())
}

/// Returns the range in the words of the client; `None` if there cannot be a byte in it.
fn range_of(range: &GetRange, at_most: Option<u64>) -> Option<ReadRange> {
    const LAST: u64 = i64::MAX as u64;
    let segment = |Range { start, end }: Range<u64>| {
        let most = at_most.unwrap_or(u64::MAX).max(1);
        let length = end
            .saturating_sub(start)
            .min(most)
            .min(LAST.saturating_sub(start));
        (length > 0).then(|| ReadRange::segment(start, length))
    };
    match range {
        GetRange::All => match at_most {
            Some(most) => Some(ReadRange::head(most.clamp(1, LAST))),
            None => Some(ReadRange::all()),
        },
        GetRange::Bounded(range) => segment(range.clone()),
        GetRange::From(start) => match at_most {
            Some(_) => segment(*start..u64::MAX),
            None if *start >= LAST => None,
            None => Some(ReadRange::offset(*start)),
        },
        GetRange::Suffix(0) => None,
        GetRange::Suffix(length) => Some(ReadRange::tail((*length).min(LAST))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_to_the_limit() {
        let range = range_of;
        assert_eq!(range(&GetRange::All, None), Some(ReadRange::all()));
        assert_eq!(range(&GetRange::All, Some(5)), Some(ReadRange::head(5)));
        let bounded = GetRange::Bounded(3..9);
        assert_eq!(range(&bounded, None), Some(ReadRange::segment(3, 6)));
        assert_eq!(range(&bounded, Some(4)), Some(ReadRange::segment(3, 4)));
        assert_eq!(range(&GetRange::From(3), None), Some(ReadRange::offset(3)));
        assert_eq!(
            range(&GetRange::From(3), Some(4)),
            Some(ReadRange::segment(3, 4))
        );
        assert_eq!(
            range(&GetRange::Suffix(3), Some(1)),
            Some(ReadRange::tail(3))
        );
    }

    #[test]
    fn what_holds_no_byte_is_not_asked_for() {
        assert_eq!(range_of(&GetRange::Suffix(0), None), None);
        assert_eq!(range_of(&GetRange::From(u64::MAX), None), None);
        let far = GetRange::Bounded(u64::MAX - 1..u64::MAX);
        assert_eq!(range_of(&far, None), None);
    }
}

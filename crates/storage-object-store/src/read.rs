//! Reads: exact ranges of stores that cut them, and conditions that are looked at twice.

use bytes::Bytes;
use futures::stream::StreamExt;
use icefield_storage::remote::{Fault, FaultKind, Stored, Target};
use icefield_storage::{
    Body, Condition, GetOptions, GetRange, Key, Object, ObjectMeta, StorageError,
};
use object_store::{Attribute, GetResult};

use crate::adapter::Adapter;
use crate::fault::{does_not_say_the_size, fault, ignored_the_range, may_be_about_the_range};
use crate::state;
use crate::write::WRITE_ID;

impl Adapter {
    /// Describes an object.
    pub(crate) async fn describe(&self, key: &Key) -> Result<Stored, Fault> {
        let asked = object_store::GetOptions::new().with_head(true);
        let found = match self.ask(key, asked).await? {
            // Some web servers keep the size of a file to themselves until they send it.
            Err(error) if does_not_say_the_size(&error) => {
                self.ask(key, object_store::GetOptions::new()).await?
            }
            found => found,
        };
        let found = found.map_err(|error| self.fault(self.target("read", Some(key)), error))?;
        let write_id = found.attributes.get(&Attribute::Metadata(WRITE_ID.into()));
        Ok(Stored {
            meta: self.meta(key.clone(), &found.meta),
            write_id: write_id.map(|id| id.as_ref().to_owned()),
            etag: self.etag(&found.meta),
        })
    }

    fn etag(&self, meta: &object_store::ObjectMeta) -> Option<String> {
        let etag = meta.e_tag.as_deref()?;
        Some(state::etag_text(&self.options, etag))
    }

    /// Sends one request. A key that cannot be a path is not there.
    async fn ask(
        &self,
        key: &Key,
        options: object_store::GetOptions,
    ) -> Result<object_store::Result<GetResult>, Fault> {
        let path = self
            .path(key.as_str())
            .map_err(|_| StorageError::NotFound { key: key.clone() })?;
        Ok(self.store.get_opts(&path, options).await)
    }

    /// Reads a range of an object, or its beginning.
    pub(crate) async fn read(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault> {
        let options = self.with_etags_as_versions_have_them(options);
        let conditions = self.conditions(&options);
        let range = range_of(&options.range, at_most);
        if matches!(options.range, GetRange::Suffix(0)) {
            return self.read_nothing(key, &options).await;
        }
        let ranged = range.is_some();
        let found = match self.ask(key, conditions.clone().with_range(range)).await? {
            // Azure has no suffix ranges.
            Err(object_store::Error::NotSupported { .. })
                if matches!(options.range, GetRange::Suffix(_)) =>
            {
                return self.read_suffix(key, &options, conditions).await;
            }
            Err(error) if ranged && ignored_the_range(&error) => match options.range {
                GetRange::All => self.ask(key, conditions).await?,
                _ => Err(error),
            },
            Err(error) if ranged && may_be_about_the_range(&error) => {
                let stored = self.describe(key).await?;
                let wanted = options.check(&stored.meta, stored.etag.as_deref())?;
                if wanted.is_empty() {
                    return Ok(empty(stored.meta, wanted.start));
                }
                // The object is longer by now than it was, or the error had another reason.
                Err(error)
            }
            // Of an object that is not there, some stores say that it is not in the state asked for.
            Err(error @ object_store::Error::Precondition { .. }) => {
                let stored = self.describe(key).await?;
                options.check(&stored.meta, stored.etag.as_deref())?;
                Err(error)
            }
            found => found,
        };
        let found = found.map_err(|error| self.fault(self.target("read", Some(key)), error))?;
        self.object(key, &options, found)
    }

    /// Compares the conditions with the state that was read, whatever the store made of them.
    fn object(&self, key: &Key, options: &GetOptions, found: GetResult) -> Result<Object, Fault> {
        let meta = self.meta(key.clone(), &found.meta);
        options.check(&meta, self.etag(&found.meta).as_deref())?;
        let range = found.range.clone();
        let (name, at, address) = (self.name.clone(), key.clone(), self.options.address);
        let body = found.into_stream().map(move |part| {
            part.map_err(|error| {
                let target = Target {
                    action: "read",
                    store: &name,
                    key: Some(&at),
                };
                fault(target, address, error).error
            })
        });
        Ok(Object {
            meta,
            range,
            body: Body::Stream(body.boxed()),
        })
    }

    async fn read_nothing(&self, key: &Key, options: &GetOptions) -> Result<Object, Fault> {
        let stored = self.describe(key).await?;
        let wanted = options.check(&stored.meta, stored.etag.as_deref())?;
        Ok(empty(stored.meta, wanted.start))
    }

    /// Reads the end of an object by its size.
    async fn read_suffix(
        &self,
        key: &Key,
        options: &GetOptions,
        conditions: object_store::GetOptions,
    ) -> Result<Object, Fault> {
        let stored = self.describe(key).await?;
        let wanted = options.check(&stored.meta, stored.etag.as_deref())?;
        if wanted.is_empty() {
            return Ok(empty(stored.meta, wanted.start));
        }
        let asked = conditions.with_range(Some(object_store::GetRange::Bounded(wanted)));
        let found = self.ask(key, asked).await?;
        let found = found.map_err(|error| self.fault(self.target("read", Some(key)), error))?;
        let read = self.object(key, options, found)?;
        match read.meta.version == stored.meta.version {
            true => Ok(read),
            false => Err(self.target("read", Some(key)).of_kind(
                FaultKind::NotDone,
                "the object changed while its end was looked for".into(),
            )),
        }
    }

    /// The conditions that the store is asked to decide, to spare bytes. Its decision is checked.
    fn conditions(&self, options: &GetOptions) -> object_store::GetOptions {
        let etag = |condition: &Option<Condition>| match condition {
            Some(Condition::Version(version)) => state::etag_for_read(&self.options, version),
            _ => None,
        };
        object_store::GetOptions::new()
            .with_if_match(etag(&options.if_match))
            .with_if_none_match(etag(&options.if_none_match))
    }

    fn with_etags_as_versions_have_them(&self, options: &GetOptions) -> GetOptions {
        let mut options = options.clone();
        for condition in [&mut options.if_match, &mut options.if_none_match] {
            if let Some(Condition::ETag(text)) = condition {
                *text = state::etag_text(&self.options, text);
            }
        }
        options
    }
}

fn empty(meta: ObjectMeta, at: u64) -> Object {
    Object {
        meta,
        range: at..at,
        body: Body::Bytes(Bytes::new()),
    }
}

fn range_of(range: &GetRange, at_most: Option<u64>) -> Option<object_store::GetRange> {
    use object_store::GetRange::{Bounded, Offset, Suffix};
    let limit = at_most.unwrap_or(u64::MAX).max(1);
    Some(match *range {
        GetRange::All => Bounded(0..at_most?.max(1)),
        GetRange::Bounded(ref range) => {
            Bounded(range.start..range.end.min(range.start.saturating_add(limit)))
        }
        GetRange::From(start) => match at_most {
            Some(_) => Bounded(start..start.saturating_add(limit)),
            None => Offset(start),
        },
        GetRange::Suffix(length) => Suffix(length),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_to_the_limit() {
        use object_store::GetRange::{Bounded, Offset, Suffix};
        assert_eq!(range_of(&GetRange::All, None), None);
        assert_eq!(range_of(&GetRange::All, Some(5)), Some(Bounded(0..5)));
        let bounded = GetRange::Bounded(3..9);
        assert_eq!(range_of(&bounded, Some(4)), Some(Bounded(3..7)));
        assert_eq!(range_of(&bounded, None), Some(Bounded(3..9)));
        assert_eq!(range_of(&GetRange::From(3), None), Some(Offset(3)));
        assert_eq!(range_of(&GetRange::From(3), Some(4)), Some(Bounded(3..7)));
        assert_eq!(range_of(&GetRange::Suffix(3), Some(1)), Some(Suffix(3)));
    }
}

//! The environment of a case, and the few words in which the cases speak.

use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;

use super::effort::Effort;
use super::subject::Subject;
use crate::{
    GetOptions, Key, ListOptions, ObjectMeta, Payload, Prefix, PutMode, PutOptions, PutOutcome,
    Storage, StorageError, StorageExt, Version,
};

/// An empty store, to be tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The store.
    pub store: Arc<dyn Storage>,
    /// How much to do.
    pub effort: Effort,
    subject: Subject,
}

/// Returns the key of this text.
pub(super) fn key(text: &str) -> Key {
    Key::parse(text).expect("BUG: the case uses a valid key")
}

/// Returns the prefix of this text.
pub(super) fn prefix(text: &str) -> Prefix {
    Prefix::parse(text).expect("BUG: the case uses a valid prefix")
}

/// Returns the version that a write made.
#[track_caller]
pub(super) fn written(outcome: PutOutcome) -> Version {
    match outcome {
        PutOutcome::Written(written) => written.version,
        other => panic!("the write must be done, is {other:?}"),
    }
}

/// Asserts that a write was refused.
#[track_caller]
pub(super) fn refused(outcome: &PutOutcome) {
    assert!(
        matches!(outcome, PutOutcome::Refused),
        "the write must be refused, is {outcome:?}"
    );
}

/// Returns bytes that differ at every place and for every seed.
pub(super) fn pattern(seed: u8, length: usize) -> Bytes {
    (0..length)
        .map(|i| {
            (i as u8)
                .wrapping_mul(31)
                .wrapping_add((i >> 8) as u8)
                // Parts of a round size differ, too.
                .wrapping_add(((i >> 16) as u8).wrapping_mul(101))
                .wrapping_add(seed)
        })
        .collect()
}

impl Trial {
    pub(super) fn new(subject: Subject, effort: Effort) -> Self {
        Self {
            store: Arc::clone(&subject.store),
            effort,
            subject,
        }
    }

    /// Plants something that a list has to yield as unreadable; returns whether the store can hold it.
    pub(super) async fn plant(&self, name: &[u8]) -> bool {
        match &self.subject.plant {
            Some(plant) => plant(name.to_vec()).await,
            None => false,
        }
    }

    /// Puts and returns the outcome, which must not be an error.
    #[track_caller]
    pub(super) fn put(
        &self,
        at: &str,
        payload: impl Into<Payload>,
        mode: PutMode,
    ) -> impl Future<Output = PutOutcome> {
        let (store, at, payload) = (Arc::clone(&self.store), key(at), payload.into());
        async move {
            let put = store.put(&at, payload, PutOptions::mode(mode)).await;
            put.unwrap_or_else(|error| panic!("put of {at:?} must not fail: {error:?}"))
        }
    }

    /// Stores an object unconditionally and returns its version.
    pub(super) async fn store(&self, at: &str, bytes: impl Into<Bytes>) -> Version {
        written(self.put(at, bytes.into(), PutMode::Overwrite).await)
    }

    /// Reads a whole object, `None` if there is none.
    pub(super) async fn read(&self, at: &str) -> Option<Bytes> {
        let read = self.store.try_read(&key(at)).await;
        read.unwrap_or_else(|error| panic!("read of {at:?} must not fail: {error:?}"))
            .map(|(bytes, _)| bytes)
    }

    /// Asserts what an object holds, as `get` and `head` see it.
    pub(super) async fn expect(&self, at: &str, bytes: &[u8]) {
        let found = self.read(at).await;
        assert!(
            found.as_deref() == Some(bytes),
            "{at:?} must hold other bytes than {found:?}"
        );
        let head = self.head(at).await;
        assert_eq!(head.size, bytes.len() as u64, "size of {at:?}");
    }

    /// Asserts that there is no object, as `get`, `head` and `list` see it.
    pub(super) async fn expect_absent(&self, at: &str) {
        let found = self.read(at).await;
        assert!(found.is_none(), "{at:?} must not exist, holds {found:?}");
        let head = self.store.head(&key(at)).await;
        assert!(
            matches!(&head, Err(error) if error.is_not_found()),
            "{head:?}"
        );
        assert!(
            !self.keys("").await.iter().any(|listed| listed == at),
            "{at:?} is listed"
        );
    }

    /// Describes an object that exists.
    pub(super) async fn head(&self, at: &str) -> ObjectMeta {
        let head = self.store.head(&key(at)).await;
        head.unwrap_or_else(|error| panic!("head of {at:?} must not fail: {error:?}"))
    }

    /// Asserts that what a list says of an object agrees with what `head` says.
    pub(super) async fn agrees(&self, listed: &ObjectMeta, head: &ObjectMeta) {
        if self.store.capabilities().exact_versions {
            assert_eq!(listed, head);
            return;
        }
        // Coarser, and true all the same.
        let seconds = |meta: &ObjectMeta| {
            let time = meta.last_modified.expect("heads and lists tell the time");
            let since = time.duration_since(std::time::UNIX_EPOCH);
            since.expect("after 1970").as_secs()
        };
        assert_eq!((&listed.key, listed.size), (&head.key, head.size));
        assert_eq!(seconds(listed), seconds(head), "{listed:?}, {head:?}");
        let options = GetOptions::default().with_if_match(listed.version.clone());
        let read = self.store.get(&head.key, options).await;
        is_of(&read.expect("the version listed is the one").meta, head);
    }

    /// Reads with options and returns the bytes.
    pub(super) async fn get(
        &self,
        at: &str,
        options: impl Into<GetOptions>,
    ) -> Result<Bytes, StorageError> {
        self.store
            .get(&key(at), options.into())
            .await?
            .bytes()
            .await
    }

    /// Lists the keys below a prefix, in the order in which they come.
    pub(super) async fn keys(&self, below: &str) -> Vec<String> {
        self.list(ListOptions::prefix(prefix(below))).await
    }

    /// Lists keys, in the order in which they come.
    pub(super) async fn list(&self, options: ListOptions) -> Vec<String> {
        let list: Result<Vec<ObjectMeta>, _> = self.store.list(options).try_collect().await;
        let list = list.unwrap_or_else(|error| panic!("list must not fail: {error:?}"));
        list.into_iter().map(|meta| meta.key.to_string()).collect()
    }

    /// Returns whether the store honours `mode`. If not, asserts that it says so when asked.
    pub(super) async fn honours(&self, mode: PutMode) -> bool {
        let capabilities = self.store.capabilities();
        let honoured = match mode {
            PutMode::Overwrite => true,
            PutMode::Create => capabilities.conditional_create,
            PutMode::Update(_) => capabilities.conditional_update,
        };
        if !honoured {
            let put = self.store.put(&key("probe"), "x".into(), mode.into()).await;
            assert!(
                matches!(put, Err(StorageError::Unsupported { .. })),
                "a condition that is not honoured must be an error, is {put:?}"
            );
        }
        honoured
    }

    /// Returns whether the store honours [`PutMode::Create`].
    pub(super) async fn creates(&self) -> bool {
        self.honours(PutMode::Create).await
    }

    /// Returns whether the store honours [`PutMode::Update`].
    pub(super) async fn updates(&self) -> bool {
        self.honours(PutMode::Update(Version::new("0"))).await
    }
}

/// Asserts that what is told of an object that was read agrees with what `head` says.
pub(super) fn is_of(read: &ObjectMeta, head: &ObjectMeta) {
    assert!(head.last_modified.is_some(), "{head:?}");
    let mut known = head.clone();
    // To read one need not know the time.
    known.last_modified = read.last_modified.and(known.last_modified);
    assert_eq!(*read, known);
}

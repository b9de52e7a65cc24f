//! The files outside the repository that a reader permits it to refer to.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_format::config::{UnknownKeys, VirtualChunkContainer, VirtualStore};
use icefield_format::{LocationRule, VirtualLocation};
use icefield_storage::{BoxError, Key, Storage};
use tokio::sync::OnceCell;

use super::VirtualChunkError;

/// Opens the store of foreign objects that a reader has granted access to. An implementation holds the credentials, if
/// there are any, and decides where they may be sent.
#[async_trait]
pub trait OpenContainer: fmt::Debug + Send + Sync + 'static {
    /// Opens the store whose keys are the paths below the prefix of the grant.
    ///
    /// `container` is the entry of the place in the repository's configuration. Any writer of the repository may have
    /// written it, so it must not lead credentials elsewhere.
    ///
    /// # Errors
    /// The store cannot be opened, or the container asks for a setting that the reader did not grant.
    async fn open(&self, container: &VirtualChunkContainer) -> Result<Arc<dyn Storage>, BoxError>;
}

/// The places outside a repository that a reader permits it to refer to. There are none unless they are granted here,
/// because any writer of a repository can make it refer to any location.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::VirtualAccess;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # fn main() -> Result<(), icefield_core::LocationRule> {
/// let archive = Arc::new(MemoryStorage::new());
/// let access = VirtualAccess::none().grant_storage("s3://archive/2015", archive)?;
/// assert_eq!(access.prefixes().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct VirtualAccess {
    grants: Vec<Grant>,
}

#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) prefix: VirtualLocation,
    pub(super) opener: Arc<dyn OpenContainer>,
    /// The store that it opens where no repository has a word.
    alone: Arc<OnceCell<Arc<dyn Storage>>>,
}

impl VirtualAccess {
    /// Returns an access that grants nothing: virtual chunks cannot be read.
    pub fn none() -> Self {
        Self::default()
    }

    /// Grants access to all objects below a prefix, such as `s3://archive/2015` or `file:///data`. A former grant of
    /// the same prefix is replaced; of several prefixes that cover a location, the longest applies.
    ///
    /// # Errors
    /// The rule of locations that the prefix breaks.
    pub fn grant(
        mut self,
        prefix: &str,
        opener: Arc<dyn OpenContainer>,
    ) -> Result<Self, LocationRule> {
        let prefix = VirtualLocation::parse_prefix(prefix)?;
        self.grants.retain(|grant| grant.prefix != prefix);
        self.grants.push(Grant {
            prefix,
            opener,
            alone: Arc::default(),
        });
        Ok(self)
    }

    /// Grants access to an open store, whose keys are the paths below the prefix.
    ///
    /// # Errors
    /// The rule of locations that the prefix breaks.
    pub fn grant_storage(
        self,
        prefix: &str,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, LocationRule> {
        self.grant(prefix, Arc::new(Opened(storage)))
    }

    /// Opens the store of an object to which access was granted, and returns the object's key in it. Stores are opened
    /// once per grant.
    ///
    /// # Errors
    /// [`VirtualChunkError::NoGrant`], [`VirtualChunkError::Key`], [`VirtualChunkError::Open`].
    pub async fn open(
        &self,
        location: &VirtualLocation,
    ) -> Result<(Arc<dyn Storage>, Key), VirtualChunkError> {
        let Some((_, grant, path)) = self.find(location) else {
            return Err(VirtualChunkError::NoGrant);
        };
        let key = Key::parse(&path).map_err(VirtualChunkError::Key)?;
        // No repository says anything of the place.
        let container = VirtualChunkContainer {
            name: None,
            url_prefix: grant.prefix.to_string(),
            store: VirtualStore::InMemory,
            unknown: UnknownKeys::default(),
        };
        let opened = grant
            .alone
            .get_or_try_init(|| grant.opener.open(&container));
        let storage = opened.await.map_err(|source| VirtualChunkError::Open {
            container: container.url_prefix.clone(),
            source,
        })?;
        Ok((Arc::clone(storage), key))
    }

    /// Adds all grants of another access. Its grants replace those of the same prefix.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for grant in other.grants {
            self.grants.retain(|it| it.prefix != grant.prefix);
            self.grants.push(grant);
        }
        self
    }

    /// Returns the granted prefixes.
    pub fn prefixes(&self) -> impl ExactSizeIterator<Item = &VirtualLocation> {
        self.grants.iter().map(|grant| &grant.prefix)
    }

    /// Finds the longest grant that covers a location, its position, and the path of the location below it.
    pub(super) fn find(&self, location: &VirtualLocation) -> Option<(usize, &Grant, String)> {
        let covering = self.grants.iter().enumerate().filter_map(|(at, grant)| {
            let path = location.below(&grant.prefix)?;
            Some((at, grant, path))
        });
        covering.max_by_key(|(_, grant, _)| grant.prefix.depth())
    }
}

/// A store that is open already.
#[derive(Debug)]
struct Opened(Arc<dyn Storage>);

#[async_trait]
impl OpenContainer for Opened {
    async fn open(&self, _: &VirtualChunkContainer) -> Result<Arc<dyn Storage>, BoxError> {
        Ok(Arc::clone(&self.0))
    }
}

//! NCZarr's layer of keys and values on any tree: absolute paths, a search of one level, and netCDF's error numbers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::TryStreamExt;
use icefield_storage::GetRange;

use crate::{KeyError, ReadTree, TreeError, TreeKey, TreePrefix, WriteTree};

/// Why an operation on a [`ZMap`] failed. [`ZMapError::number`] is what netCDF calls it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZMapError {
    /// A text that is no key.
    #[error("{key:?} is no key of NCZarr: {rule}")]
    Malformed {
        /// The text.
        key: String,
        /// The rule that it breaks.
        rule: MalformedKey,
    },
    /// A key without content: others lie below it, or nothing is there.
    #[error("{key} in {store} has no content{}: {}", .below.as_ref().map(|_| " of its own").unwrap_or_default(),
        .below.as_ref().map_or_else(|| "nothing is there".to_owned(), |below| format!("it is a directory that holds {below}")))]
    Empty {
        /// The store.
        store: String,
        /// The key.
        key: String,
        /// A key below it, if there is one.
        below: Option<String>,
    },
    /// A dataset that must exist does not.
    #[error(
        "there is no dataset in {store}: it holds no key at all; create it, or look for it elsewhere"
    )]
    NoObject {
        /// The store.
        store: String,
    },
    /// Something exists that must not.
    #[error("cannot create {key} in {store}: {existing} is there; {}", match .key.as_str() {
        "/" => "truncate it first, or write elsewhere",
        _ => "no key can lie below one that has content, so choose another name",
    })]
    Exists {
        /// The store.
        store: String,
        /// The key that was to be created; `/` for the whole dataset.
        key: String,
        /// The key that is in the way.
        existing: String,
    },
    /// There are keys, but none of Zarr.
    #[error("{store} is no Zarr dataset of format 2: no name in it begins with `.z` or `.ncz`")]
    NotRecognised {
        /// The store.
        store: String,
    },
    /// The value has no such bytes.
    #[error("{count} bytes from {start} of {key} in {store} do not exist: it has {size}")]
    Range {
        /// The store.
        store: String,
        /// The key.
        key: String,
        /// Where they were to begin.
        start: u64,
        /// How many were asked for.
        count: u64,
        /// Bytes of the value.
        size: u64,
    },
    /// The map was opened for reading.
    #[error("{store} was opened for reading: open it for writing")]
    ReadOnly {
        /// The store.
        store: String,
    },
    /// The tree failed.
    #[error(transparent)]
    Tree(TreeError),
}

/// A rule for keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedKey {
    /// It does not begin with a slash.
    #[error("write a slash before it")]
    Relative,
    /// It ends in a slash.
    #[error("remove the slash at its end")]
    TrailingSlash,
    /// A control character.
    #[error("it has the control character {0:?}")]
    Control(char),
    /// The root, which is never an object.
    #[error("the root has no content of its own")]
    Root,
    /// A rule of all trees.
    #[error(transparent)]
    Tree(#[from] KeyError),
}

impl ZMapError {
    /// Returns netCDF's number: -139 for a key without content, -140 for what exists and must not, -141 for what must exist
    /// and does not, -137 for what is malformed, -51 for what is not recognised; -57 for bytes that do not exist, -37 for a
    /// write that is not allowed, -68 for all else.
    pub fn number(&self) -> i32 {
        match self {
            Self::Malformed { .. } => -137,
            Self::Empty { .. } => -139,
            Self::Exists { .. } => -140,
            Self::NoObject { .. } => -141,
            Self::NotRecognised { .. } => -51,
            Self::Range { .. } => -57,
            Self::ReadOnly { .. } | Self::Tree(TreeError::ReadOnly { .. }) => -37,
            Self::Tree(_) => -68,
        }
    }
}

/// The keys and values of one NCZarr dataset. Clones share the tree.
///
/// A key is an absolute path such as `/g/v/0.0`. Only keys with content are there; those above them are directories,
/// whatever the tree has for them. A key with content never lies above another one. Values are written whole.
#[derive(Clone)]
pub struct ZMap {
    tree: Arc<dyn ReadTree>,
    writable: Option<Arc<dyn WriteTree>>,
}

impl ZMap {
    /// Opens the dataset of a tree for reading. Walks over keys until one is recognised.
    ///
    /// # Errors
    /// [`ZMapError::NoObject`], [`ZMapError::NotRecognised`].
    pub async fn open(tree: Arc<dyn ReadTree>) -> Result<Self, ZMapError> {
        let map = Self {
            tree,
            writable: None,
        };
        map.recognise().await.map(|()| map)
    }

    /// Opens the dataset of a tree for reading and writing.
    ///
    /// # Errors
    /// As [`ZMap::open`].
    pub async fn open_for_writing(tree: Arc<dyn WriteTree>) -> Result<Self, ZMapError> {
        let map = Self::of(tree);
        map.recognise().await.map(|()| map)
    }

    /// Begins a dataset in a tree that holds nothing.
    ///
    /// # Errors
    /// [`ZMapError::Exists`].
    pub async fn create(tree: Arc<dyn WriteTree>) -> Result<Self, ZMapError> {
        let map = Self::of(tree);
        match map.first(&TreePrefix::all()).await? {
            None => Ok(map),
            Some(existing) => Err(map.exists_already("/", &existing)),
        }
    }

    /// Begins a dataset in a tree, and erases all that it holds.
    ///
    /// # Errors
    /// [`ZMapError::Tree`]; some keys may be gone.
    pub async fn create_anew(tree: Arc<dyn WriteTree>) -> Result<Self, ZMapError> {
        let map = Self::of(tree);
        map.truncate().await.map(|()| map)
    }

    fn of(tree: Arc<dyn WriteTree>) -> Self {
        Self {
            tree: Arc::<dyn WriteTree>::clone(&tree),
            writable: Some(tree),
        }
    }

    /// Returns whether a key has content. A directory has none, nor has the root.
    ///
    /// # Errors
    /// [`ZMapError::Malformed`], [`ZMapError::Tree`].
    pub async fn exists(&self, key: &str) -> Result<bool, ZMapError> {
        match parse(key)? {
            None => Ok(false),
            Some(key) => Ok(self.size(&key).await?.is_some()),
        }
    }

    /// Returns the bytes of a value.
    ///
    /// # Errors
    /// [`ZMapError::Empty`] if the key has no content.
    pub async fn len(&self, key: &str) -> Result<u64, ZMapError> {
        if let Some(parsed) = parse(key)?
            && let Some(size) = self.size(&parsed).await?
        {
            return Ok(size);
        }
        Err(self.empty(key).await)
    }

    /// Reads `count` bytes of a value, from the byte `start` on.
    ///
    /// # Errors
    /// [`ZMapError::Empty`] if the key has no content; [`ZMapError::Range`] if the value is shorter.
    pub async fn read(&self, key: &str, start: u64, count: u64) -> Result<Bytes, ZMapError> {
        let size = self.len(key).await?;
        let end = start.checked_add(count).filter(|end| *end <= size);
        let (Some(end), Some(parsed)) = (end, parse(key)?) else {
            return Err(ZMapError::Range {
                store: self.to_string(),
                key: key.to_owned(),
                start,
                count,
                size,
            });
        };
        if count == 0 {
            return Ok(Bytes::new());
        }
        let range = GetRange::Bounded(start..end);
        match self.tree.get(&parsed, range).await {
            Ok(Some(value)) => Ok(value),
            // It was there a moment ago.
            Ok(None) => Err(self.empty(key).await),
            Err(TreeError::Range { size, .. }) => Err(ZMapError::Range {
                store: self.to_string(),
                key: key.to_owned(),
                start,
                count,
                size,
            }),
            Err(error) => Err(ZMapError::Tree(error)),
        }
    }

    /// Reads a whole value.
    ///
    /// # Errors
    /// [`ZMapError::Empty`] if the key has no content.
    pub async fn read_all(&self, key: &str) -> Result<Bytes, ZMapError> {
        if let Some(parsed) = parse(key)? {
            let value = self.tree.get(&parsed, GetRange::All).await;
            if let Some(value) = value.map_err(ZMapError::Tree)? {
                return Ok(value);
            }
        }
        Err(self.empty(key).await)
    }

    /// Writes a whole value, in place of the one that is there.
    ///
    /// Where others write at the same time, the rule that no key with content lies above another one may not hold after it.
    ///
    /// # Errors
    /// [`ZMapError::Exists`] if a key above or below has content, [`ZMapError::Malformed`] also for the root,
    /// [`ZMapError::ReadOnly`].
    pub async fn write(&self, key: &str, value: Bytes) -> Result<(), ZMapError> {
        let tree = self.writable()?;
        let parsed = parse(key)?.ok_or_else(|| malformed(key, MalformedKey::Root))?;
        for (at, _) in parsed.as_str().match_indices('/') {
            let above = TreeKey::parse(&parsed.as_str()[..at]);
            let above = above.map_err(|rule| malformed(key, rule.into()))?;
            if self.size(&above).await?.is_some() {
                return Err(self.exists_already(key, &above));
            }
        }
        if let Some(below) = self.first(&below(key)?).await? {
            return Err(self.exists_already(key, &below));
        }
        match tree.set(&parsed, value).await {
            Ok(()) => Ok(()),
            // Another writer was faster.
            Err(TreeError::BelowAValue { parent: other, .. })
            | Err(TreeError::AboveKeys { below: other, .. }) => Err(ZMapError::Exists {
                store: self.to_string(),
                key: key.to_owned(),
                existing: format!("/{other}"),
            }),
            Err(error) => Err(ZMapError::Tree(error)),
        }
    }

    /// Returns the next segments of all keys below a path, each once, in byte order; none for a value, and for what is not
    /// there. `/` is the path of the root.
    ///
    /// # Errors
    /// [`ZMapError::Malformed`], [`ZMapError::Tree`].
    pub async fn search(&self, path: &str) -> Result<Vec<String>, ZMapError> {
        let below = below(path)?;
        let children = self.tree.children(&below).await;
        let children = children.map_err(ZMapError::Tree)?;
        let keys = children.keys.iter().map(TreeKey::as_str);
        let prefixes = children.prefixes.iter().map(TreePrefix::as_str);
        let names = keys.chain(prefixes).filter_map(|name| {
            let rest = name.strip_prefix(below.as_str())?;
            rest.split('/').next().map(str::to_owned)
        });
        // A bucket can have both a value and values below it.
        Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// Erases all keys.
    ///
    /// # Errors
    /// [`ZMapError::ReadOnly`], [`ZMapError::Tree`]; some keys may be gone.
    pub async fn truncate(&self) -> Result<(), ZMapError> {
        let erased = self.writable()?.erase_prefix(&TreePrefix::all()).await;
        erased.map_err(ZMapError::Tree)
    }

    /// Ends the use of this map; with `delete`, erases all keys.
    ///
    /// # Errors
    /// As [`ZMap::truncate`], with `delete`.
    pub async fn close(self, delete: bool) -> Result<(), ZMapError> {
        match delete {
            true => self.truncate().await,
            false => Ok(()),
        }
    }

    async fn recognise(&self) -> Result<(), ZMapError> {
        let mut keys = self.tree.list(&TreePrefix::all());
        let mut is_empty = true;
        while let Some(entry) = keys.try_next().await.map_err(ZMapError::Tree)? {
            is_empty = false;
            let is_mark = |name: &str| name.starts_with(".z") || name.starts_with(".ncz");
            if entry.key.segments().any(is_mark) {
                return Ok(());
            }
        }
        let store = self.to_string();
        Err(match is_empty {
            true => ZMapError::NoObject { store },
            false => ZMapError::NotRecognised { store },
        })
    }

    fn writable(&self) -> Result<&dyn WriteTree, ZMapError> {
        self.writable.as_deref().ok_or_else(|| ZMapError::ReadOnly {
            store: self.to_string(),
        })
    }

    async fn size(&self, key: &TreeKey) -> Result<Option<u64>, ZMapError> {
        self.tree.size(key).await.map_err(ZMapError::Tree)
    }

    /// The first key below a prefix.
    async fn first(&self, below: &TreePrefix) -> Result<Option<TreeKey>, ZMapError> {
        let first = self.tree.list(below).try_next().await;
        Ok(first.map_err(ZMapError::Tree)?.map(|entry| entry.key))
    }

    /// Says why a key has no content, or why that cannot be known.
    async fn empty(&self, key: &str) -> ZMapError {
        let below = match below(key) {
            Ok(below) => self.first(&below).await,
            Err(error) => Err(error),
        };
        match below {
            Ok(below) => ZMapError::Empty {
                store: self.to_string(),
                key: key.to_owned(),
                below: below.map(|below| format!("/{below}")),
            },
            Err(error) => error,
        }
    }

    fn exists_already(&self, key: &str, existing: &TreeKey) -> ZMapError {
        ZMapError::Exists {
            store: self.to_string(),
            key: key.to_owned(),
            existing: format!("/{existing}"),
        }
    }
}

impl fmt::Display for ZMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tree)
    }
}

impl fmt::Debug for ZMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZMap")
            .field("tree", &self.tree)
            .field("is_writable", &self.writable.is_some())
            .finish()
    }
}

/// Reads a key; `None` for the root.
fn parse(key: &str) -> Result<Option<TreeKey>, ZMapError> {
    let rule = match key.strip_prefix('/') {
        None => MalformedKey::Relative,
        Some("") => return Ok(None),
        Some(_) if key.ends_with('/') => MalformedKey::TrailingSlash,
        Some(rest) => match rest.chars().find(|c| c.is_control()) {
            Some(control) => MalformedKey::Control(control),
            None => match TreeKey::parse(rest) {
                Ok(key) => return Ok(Some(key)),
                Err(rule) => rule.into(),
            },
        },
    };
    Err(malformed(key, rule))
}

/// The prefix below a key.
fn below(key: &str) -> Result<TreePrefix, ZMapError> {
    match parse(key)? {
        None => Ok(TreePrefix::all()),
        Some(parsed) => {
            TreePrefix::parse(&format!("{parsed}/")).map_err(|rule| malformed(key, rule.into()))
        }
    }
}

fn malformed(key: &str, rule: MalformedKey) -> ZMapError {
    ZMapError::Malformed {
        key: key.to_owned(),
        rule,
    }
}

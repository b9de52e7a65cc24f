//! Where a repository lies.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use icefield_storage::remote::RemoteSettings;
use icefield_storage::wrap::LatencyStorage;
use icefield_storage::{Prefix, Storage};
use icefield_storage_local::{Fsync, LocalStorage};
use icefield_storage_memory::MemoryStorage;
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::{S3Options, S3Server};

/// How far the S3 server is away, beside what it takes.
pub(crate) const AWAY: Duration = Duration::from_millis(5);

/// The kinds of places, by name.
pub(crate) const KINDS: [&str; 3] = ["memory", "local", "s3"];

/// A place that another process can be told of, unless it is memory.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Memory(Arc<MemoryStorage>),
    Local(PathBuf),
    S3 { endpoint: String, prefix: String },
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::new(MemoryStorage::new()))
    }

    /// Returns the words that tell another process of it; none of memory.
    pub(crate) fn words(&self) -> Option<[String; 3]> {
        match self {
            Self::Memory(_) => None,
            Self::Local(folder) => {
                let folder = folder.to_str()?.to_owned();
                Some(["local".to_owned(), folder, String::new()])
            }
            Self::S3 { endpoint, prefix } => {
                Some(["s3".to_owned(), endpoint.clone(), prefix.clone()])
            }
        }
    }

    pub(crate) fn parse(kind: &str, at: &str, prefix: &str) -> Self {
        match kind {
            "local" => Self::Local(at.into()),
            "s3" => Self::S3 {
                endpoint: at.to_owned(),
                prefix: prefix.to_owned(),
            },
            _ => Self::memory(),
        }
    }

    /// Opens it. On a local disk nothing is flushed: what is measured is work, not the disk.
    pub(crate) fn open(&self) -> Arc<dyn Storage> {
        match self {
            Self::Memory(storage) => Arc::<MemoryStorage>::clone(storage),
            Self::Local(folder) => {
                let storage = LocalStorage::builder(folder).fsync(Fsync::None);
                Arc::new(storage.open().expect("opened"))
            }
            Self::S3 { endpoint, prefix } => {
                let keys = S3Options::default();
                let storage = S3Builder::new(keys.bucket)
                    .endpoint(endpoint)
                    .prefix(Prefix::parse(prefix).expect("a prefix"))
                    .credentials(Credentials::new(keys.access_key, keys.secret_key))
                    .settings(RemoteSettings::default().trusting_conditions());
                let storage = Arc::new(storage.open().expect("opened"));
                Arc::new(LatencyStorage::new(storage, AWAY))
            }
        }
    }
}

/// Makes places of each kind.
pub(crate) struct Places<'a> {
    folder: &'a std::path::Path,
    server: S3Server,
}

impl<'a> Places<'a> {
    pub(crate) fn new(folder: &'a std::path::Path) -> Self {
        let server = S3Server::start(S3Options::default());
        Self { folder, server }
    }

    /// Returns a new place under a name.
    pub(crate) fn make(&self, kind: &str, name: &str) -> Place {
        match kind {
            "local" => Place::Local(self.folder.join(name)),
            "s3" => Place::S3 {
                endpoint: self.server.endpoint(),
                prefix: name.to_owned(),
            },
            _ => Place::memory(),
        }
    }
}

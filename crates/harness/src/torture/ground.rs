//! Where the repository of a campaign is: a directory, or a bucket of a server whose connections break.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use futures::TryStreamExt;
use icefield::{ConnectGcs, ConnectS3, Location, Schemes};
use icefield_storage::{ListOptions, Prefix, Storage, StorageExt};
use icefield_storage_s3::Credentials;
use icefield_testservers::{
    Answer, FaultProxy, GcsOptions, GcsServer, ProxyFault, ProxyRule, S3Options, S3Server,
};

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// A directory on the local disk.
    Local,
    /// An S3 server behind a proxy that loses, repeats and breaks requests and answers.
    S3,
    /// A GCS server behind the same proxy.
    Gcs,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::S3 => "s3",
            Self::Gcs => "gcs",
        })
    }
}

/// A server that lives as long as its repository. Held, it runs.
#[derive(Debug)]
enum Server {
    None,
    S3(S3Server),
    Gcs(#[expect(dead_code, reason = "held so that it runs")] GcsServer),
}

/// The place of one repository.
#[derive(Debug)]
pub struct Ground {
    server: Server,
    proxy: Option<FaultProxy>,
    location: String,
    /// The location that leads past the proxy.
    direct: String,
}

/// Shares of the requests that a fault meets, of those that no fault before it met.
const SHARE: f64 = 0.01;

impl Ground {
    /// Starts the server, if there is one. `folder` is the repository's folder.
    ///
    /// # Errors
    /// If the folder cannot be named in a location.
    pub fn new(backend: Backend, folder: &Path, seed: u64) -> anyhow::Result<Self> {
        let proxied = |endpoint: &str| {
            let proxy = FaultProxy::start(endpoint);
            proxy.seed(seed);
            for fault in [
                ProxyFault::ResetBefore,
                ProxyFault::DropAnswer,
                ProxyFault::Twice,
                ProxyFault::HalfBody,
                ProxyFault::Refuse(Answer::slow_down()),
                ProxyFault::Refuse(Answer::internal_error()),
            ] {
                proxy.inject(ProxyRule::new(fault).share(SHARE));
            }
            proxy
        };
        Ok(match backend {
            Backend::Local => {
                let location = folder.join("repo").display().to_string();
                Self {
                    server: Server::None,
                    proxy: None,
                    direct: location.clone(),
                    location,
                }
            }
            Backend::S3 => {
                let server = S3Server::start(S3Options::default());
                let proxy = proxied(&server.endpoint());
                let at = |endpoint: String| {
                    let bucket = server.bucket();
                    format!("s3://{bucket}/ocean?region=us-east-1&endpoint={endpoint}")
                };
                Self {
                    location: at(proxy.endpoint()),
                    direct: at(server.endpoint()),
                    server: Server::S3(server),
                    proxy: Some(proxy),
                }
            }
            Backend::Gcs => {
                let server = GcsServer::start(GcsOptions::default());
                let proxy = proxied(&server.endpoint());
                let at = |endpoint: String| {
                    let bucket = server.bucket();
                    format!("gs://{bucket}/ocean?anonymous=true&endpoint={endpoint}")
                };
                Self {
                    location: at(proxy.endpoint()),
                    direct: at(server.endpoint()),
                    server: Server::Gcs(server),
                    proxy: Some(proxy),
                }
            }
        })
    }

    /// Returns the location that processes are given.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns the variables that processes need to get in.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, &str)> {
        match &self.server {
            Server::S3(server) => vec![
                ("AWS_ACCESS_KEY_ID", server.access_key()),
                ("AWS_SECRET_ACCESS_KEY", server.secret_key()),
                // Nothing of the environment of the campaign.
                ("AWS_SESSION_TOKEN", ""),
                ("AWS_CONFIG_FILE", "no such file"),
                ("AWS_SHARED_CREDENTIALS_FILE", "no such file"),
            ],
            Server::None | Server::Gcs(_) => Vec::new(),
        }
    }

    /// Returns whether the store may fail, so that processes must go on after an error.
    #[must_use]
    pub fn may_fail(&self) -> bool {
        self.proxy.is_some()
    }

    /// Returns how many requests met a fault.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.proxy.as_ref().map_or(0, |proxy| {
            let requests = proxy.requests();
            requests.iter().filter(|it| it.fault.is_some()).count() as u64
        })
    }

    /// Opens the store, past the proxy.
    ///
    /// # Errors
    /// Errors of the backend.
    pub async fn storage(&self) -> anyhow::Result<Arc<dyn Storage>> {
        let schemes = match &self.server {
            Server::None => Schemes::standard(),
            Server::S3(server) => {
                let key = Credentials::new(server.access_key(), server.secret_key());
                Schemes::none().with("s3", Arc::new(ConnectS3::with_credentials(key)))
            }
            Server::Gcs(_) => Schemes::none().with("gs", Arc::new(ConnectGcs::anonymous())),
        };
        Ok(schemes.storage(&Location::parse(&self.direct)?).await?)
    }

    /// Writes each object of a bucket to a file, so that others find the repository at `to`; a directory is there already.
    ///
    /// # Errors
    /// Errors of the backend, or of the disk.
    pub async fn copy_to(&self, storage: &dyn Storage, to: &Path) -> anyhow::Result<()> {
        if let Server::None = self.server {
            return Ok(());
        }
        let options = ListOptions::prefix(Prefix::all());
        let objects: Vec<_> = storage.list_objects(options).try_collect().await?;
        for object in objects {
            let file = to.join(object.key.as_str());
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let (bytes, _) = storage.read(&object.key).await?;
            std::fs::write(file, bytes)?;
        }
        Ok(())
    }
}

//! Opening and creating repositories, and reads that need no open repository.

use icefield::format::SpecVersion;
use icefield::{RepositoryBuilder, RepositoryError};

use crate::errors::Failure;
use crate::storage::{Storage, StorageHandle};
use crate::{document, grants};

/// A prefix, credentials (JSON), and a function that returns new credentials.
pub(crate) type Grant = (String, String, Option<pyo3::Py<pyo3::PyAny>>);

/// The arguments for opening or creating a repository, checked before its store is connected.
#[derive(Clone)]
pub(crate) struct Opening {
    place: StorageHandle,
    cache: Option<icefield::CacheSpec>,
    config: icefield::RepositoryConfig,
    access: icefield::VirtualAccess,
    /// The version of the format of a new repository.
    spec_version: SpecVersion,
}

impl Opening {
    /// `cache`: `PATH` or `PATH,SIZE`; without it, the environment may name one.
    pub(crate) fn new(
        storage: &Storage,
        config: Option<&str>,
        grants: Vec<Grant>,
        cache: Option<&str>,
    ) -> Result<Self, Failure> {
        let cache = cache.map(str::parse).transpose();
        Ok(Self {
            place: storage.storage_handle()?,
            cache: cache.map_err(icefield::Error::from)?,
            config: match config {
                Some(config) => document::config_from_json(config)?,
                None => icefield::RepositoryConfig::default(),
            },
            access: grants::access(grants)?,
            spec_version: SpecVersion::V1,
        })
    }

    /// Sets the version of the format of a new repository.
    ///
    /// # Errors
    /// `unsupported-spec-version`, for other versions than 1 and 2.
    pub(crate) fn of_version(self, number: u8) -> Result<Self, Failure> {
        let spec_version = match number {
            1 => SpecVersion::V1,
            2 => SpecVersion::V2,
            other => {
                let message = format!("the format has no version {other}: use 1 or 2");
                return Err(Failure::new("unsupported-spec-version", message));
            }
        };
        Ok(Self {
            spec_version,
            ..self
        })
    }

    async fn builder(self) -> Result<RepositoryBuilder, Failure> {
        let storage = self.place.open().await?;
        let storage = match &self.cache {
            Some(cache) => cache.over(storage),
            None => icefield::CacheSpec::of_environment_over(storage),
        };
        let storage = storage.map_err(icefield::Error::from)?;
        let builder = icefield::Repository::builder(storage);
        let builder = builder.spec_version(self.spec_version);
        Ok(builder.config(self.config).virtual_access(self.access))
    }

    /// Opens the repository. Opens it a second time if its stored configuration has settings for the store.
    pub(crate) async fn open(self) -> Result<icefield::Repository, Failure> {
        let opened = self.clone().builder().await?.open().await?;
        self.configured(opened).await
    }

    pub(crate) async fn open_or_create(
        self,
        among_other_objects: bool,
    ) -> Result<icefield::Repository, Failure> {
        let creation = self.clone().creation(among_other_objects).await?;
        let opened = creation.open_or_create().await?;
        self.configured(opened).await
    }

    async fn configured(
        mut self,
        opened: icefield::Repository,
    ) -> Result<icefield::Repository, Failure> {
        match self.place.as_configured(&opened.config()) {
            Some(place) => {
                self.place = place;
                Ok(self.builder().await?.open().await?)
            }
            None => Ok(opened),
        }
    }

    /// The same as [`Opening::builder`], for a new repository.
    pub(crate) async fn creation(
        self,
        among_other_objects: bool,
    ) -> Result<RepositoryBuilder, Failure> {
        let builder = self.builder().await?;
        Ok(match among_other_objects {
            true => builder.among_other_objects(),
            false => builder,
        })
    }
}

pub(crate) async fn fetch_spec_version(place: StorageHandle) -> Result<Option<u8>, Failure> {
    match icefield::Repository::open(place.open().await?).await {
        Ok(repository) => Ok(Some(repository.spec_version() as u8)),
        Err(RepositoryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn fetch_config(place: StorageHandle) -> Result<Option<String>, Failure> {
    let repository = icefield::Repository::open(place.open().await?).await?;
    match repository.has_stored_config() {
        true => document::config_to_json(&repository.stored_config()).map(Some),
        false => Ok(None),
    }
}

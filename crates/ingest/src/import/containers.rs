//! The containers of the files that are referred to: one for the folder of each, in the repository's configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_core::{EditOutcome, Repository, VirtualLocation};
use icefield_format::config::{
    S3Options, UnknownKeys, VirtualChunkContainer, VirtualChunkContainers, VirtualStore,
};

use crate::{ImportError, Source};

/// Adds to the configuration what it lacks of containers, if anything.
pub(super) async fn add_missing(
    repository: &Repository,
    sources: &[Arc<dyn Source>],
) -> Result<(), ImportError> {
    let mut config = repository.config();
    let covering: Vec<VirtualLocation> = config
        .containers()
        .filter_map(|it| VirtualLocation::parse_prefix(&it.url_prefix).ok())
        .collect();
    let mut missing = BTreeMap::new();
    for url in sources.iter().flat_map(|source| source.urls()) {
        let wrong = |problem: String| ImportError::Container {
            url: url.clone(),
            problem,
        };
        let location = VirtualLocation::parse_new(&url).map_err(|it| wrong(it.to_string()))?;
        if covering.iter().any(|it| location.below(it).is_some()) {
            continue;
        }
        let folder = match location.as_str().rsplit_once('/') {
            Some((folder, _)) if folder != "file://" => folder.to_owned(),
            _ => return Err(wrong("a file must lie in a folder".to_owned())),
        };
        missing.insert(format!("{folder}/"), location);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let mut containers = config.virtual_chunk_containers.take().unwrap_or_default();
    for (url_prefix, location) in missing {
        containers.insert(VirtualChunkContainer {
            name: None,
            store: store_of(&url_prefix, &location),
            url_prefix,
            unknown: UnknownKeys::default(),
        });
    }
    config.virtual_chunk_containers = Some::<VirtualChunkContainers>(containers);
    match repository.save_config(config).await? {
        EditOutcome::Done(_) => Ok(()),
        EditOutcome::Refused(_) | EditOutcome::Unknown(_) => Err(ImportError::ConfigChanged),
    }
}

/// What the reference implementation has to know to reach the folder. Credentials, endpoints and the like are the
/// business of readers.
fn store_of(prefix: &str, location: &VirtualLocation) -> VirtualStore {
    match location.service() {
        "s3" => VirtualStore::S3(S3Options::default()),
        "gs" => VirtualStore::Gcs(BTreeMap::new()),
        "az" => VirtualStore::Azure(BTreeMap::new()),
        "http" | "https" => VirtualStore::Http(BTreeMap::new()),
        _ => {
            let path = prefix.strip_prefix("file://").unwrap_or(prefix);
            VirtualStore::LocalFileSystem(path.to_owned())
        }
    }
}

//! The containers of the files that are referred to, in the repository's configuration: one for the folder of each
//! source's files.

use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_core::{EditOutcome, Repository, RepositoryConfig, VirtualLocation};
use icefield_format::config::{VirtualChunkContainer, VirtualChunkContainers};
use icefield_format::container_prefixes;

use crate::{ImportError, Source};

/// Times that the configuration is read again because another program changed it.
const TRIES: usize = 10;

/// Adds to the stored configuration what it lacks of containers, if anything.
pub(super) async fn add_missing(
    repository: &Repository,
    sources: &[Arc<dyn Source>],
) -> Result<(), ImportError> {
    let mut folders = BTreeSet::new();
    for source in sources {
        folders.extend(folders_of(&**source)?);
    }
    for _ in 0..TRIES {
        let missing = missing(&repository.config(), &folders);
        let Some(first) = missing.first() else {
            return Ok(());
        };
        let mut config = repository.stored_config();
        if self::missing(&config, &folders).len() < missing.len() {
            return Err(ImportError::Container {
                url: first.to_string(),
                problem: "the repository was opened with containers of its own, which hide the stored ones".to_owned(),
            });
        }
        let mut containers = config.virtual_chunk_containers.take().unwrap_or_default();
        missing
            .into_iter()
            .for_each(|it| containers.insert(VirtualChunkContainer::of_folder(&it)));
        config.virtual_chunk_containers = Some::<VirtualChunkContainers>(containers);
        match repository.save_config(config).await? {
            EditOutcome::Done(_) => return Ok(()),
            EditOutcome::Refused(_) | EditOutcome::Unknown(_) => {
                repository.reload_config().await?;
            }
        }
    }
    Err(ImportError::ConfigChanged)
}

/// The folders that no container covers, and none of the others.
fn missing(config: &RepositoryConfig, folders: &BTreeSet<VirtualLocation>) -> Vec<VirtualLocation> {
    let covering: Vec<VirtualLocation> = config
        .containers()
        .flat_map(|it| container_prefixes(&it.url_prefix))
        .collect();
    let mut missing: Vec<VirtualLocation> = Vec::new();
    for folder in folders {
        let covered = covering.iter().chain(&missing).any(|it| it.covers(folder));
        if !covered {
            missing.push(folder.clone());
        }
    }
    missing
}

/// The folder that all files of a source lie in; if that would be a whole disk or bucket, or if there is none, the
/// folder of each.
fn folders_of(source: &dyn Source) -> Result<BTreeSet<VirtualLocation>, ImportError> {
    let (mut common, mut each): (Option<String>, BTreeSet<String>) = (None, BTreeSet::new());
    for url in source.urls() {
        let wrong = |problem: String| ImportError::Container {
            url: url.clone(),
            problem,
        };
        let location = VirtualLocation::parse_new(&url).map_err(|it| wrong(it.to_string()))?;
        let folder = match location.as_str().rsplit_once('/') {
            Some((folder, _)) if location.depth() > 1 || location.service() != "file" => folder,
            _ => return Err(wrong("a file must lie in a folder".to_owned())),
        };
        common = Some(match common {
            None => folder.to_owned(),
            Some(common) => shared(&common, folder).to_owned(),
        });
        each.insert(folder.to_owned());
    }
    let parsed = |folder: &str| VirtualLocation::parse_prefix(folder).ok();
    let whole = common.as_deref().and_then(parsed);
    let whole = whole.filter(|it| each.len() == 1 || it.depth() > 0);
    Ok(match whole {
        Some(whole) => BTreeSet::from([whole]),
        None => each.iter().filter_map(|it| parsed(it)).collect(),
    })
}

/// The folder that two folders have in common, by whole segments.
fn shared<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = 0;
    for (mine, theirs) in one.split('/').zip(other.split('/')) {
        if mine != theirs {
            break;
        }
        end += mine.len() + 1;
    }
    one[..end.saturating_sub(1).min(one.len())].trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use icefield_format::location_of;

    use super::*;

    #[test]
    fn folders_are_shared_by_whole_segments() {
        assert_eq!(shared("s3://b/x/y", "s3://b/x/z"), "s3://b/x");
        assert_eq!(shared("s3://b/xy", "s3://b/xz"), "s3://b");
        assert_eq!(shared("s3://b/x", "s3://b/x"), "s3://b/x");
        assert_eq!(shared("s3://b/x", "s3://b/x/y"), "s3://b/x");
        assert_eq!(shared("s3://b/x", "gs://b/x"), "");
        assert_eq!(shared("s3://b/x", "s3://c/x"), "s3:");
    }

    /// Whatever the name of a folder: its container covers it when it is read again.
    #[test]
    fn folders_of_any_name_are_covered_by_their_containers() {
        for name in ["a b", "ü", "p%41", "a#b", "what?", "a%20b", "[z]", "~"] {
            let folder = location_of("file", "", &format!("data/{name}")).expect("a location");
            let added = VirtualChunkContainer::of_folder(&folder);
            let found = container_prefixes(&added.url_prefix);
            assert!(
                found.contains(&folder),
                "{name}: {} {found:?}",
                added.url_prefix
            );
            let other = location_of("file", "", "data/other").expect("a location");
            assert!(!found.contains(&other));
        }
    }

    #[test]
    fn a_folder_within_another_needs_no_container() {
        let parse = |it: &&str| VirtualLocation::parse_prefix(it).expect("a prefix");
        let folders = ["s3://b/x", "s3://b/x-y", "s3://b/x/y", "s3://b/xy"]
            .iter()
            .map(parse)
            .collect();
        let missing = missing(&RepositoryConfig::default(), &folders);
        let missing: Vec<&str> = missing.iter().map(VirtualLocation::as_str).collect();
        assert_eq!(missing, ["s3://b/x", "s3://b/x-y", "s3://b/xy"]);
    }
}

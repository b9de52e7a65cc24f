//! The containers of virtual chunks, in the configuration of the destination: one for each bucket, host, or uppermost
//! local folder, at the deepest folder that all its files share.

use std::collections::BTreeMap;

use icefield_core::{EditOutcome, Repository, VirtualLocation};
use icefield_format::config::VirtualChunkContainer;

use super::ImportError;

/// The folders of foreign files.
#[derive(Debug, Default)]
pub(super) struct Folders(BTreeMap<String, String>);

impl Folders {
    /// Adds the folder of a file; no local file may lie outside any.
    pub(super) fn add(&mut self, file: &VirtualLocation) -> bool {
        let Some((folder, _)) = file.as_str().rsplit_once('/') else {
            return false;
        };
        let mut root = format!("{}://{}", file.scheme(), file.host());
        if file.service() == "file" {
            if file.depth() < 2 {
                return false;
            }
            let first = file.path().split('/').next().unwrap_or_default();
            root = format!("{root}/{first}");
        }
        let common = match self.0.get(&root) {
            Some(common) => shared(common, folder),
            None => folder.to_owned(),
        };
        self.0.insert(root, common);
        true
    }
}

/// The folder that two folders of one root have in common, by whole segments.
fn shared(one: &str, other: &str) -> String {
    let pairs = one.split('/').zip(other.split('/'));
    let common: Vec<&str> = pairs
        .take_while(|(mine, theirs)| mine == theirs)
        .map(|(mine, _)| mine)
        .collect();
    common.join("/")
}

/// Adds what the configuration lacks.
pub(super) async fn add(repository: &Repository, folders: &Folders) -> Result<(), ImportError> {
    if folders.0.is_empty() {
        return Ok(());
    }
    let mut config = repository.stored_config();
    let mut containers = config.virtual_chunk_containers.take().unwrap_or_default();
    for folder in folders.0.values() {
        if let Ok(folder) = VirtualLocation::parse_prefix(folder) {
            containers.insert(VirtualChunkContainer::of_folder(&folder));
        }
    }
    config.virtual_chunk_containers = Some(containers);
    match repository.save_config(config).await? {
        EditOutcome::Done(_) => Ok(()),
        EditOutcome::Refused(_) | EditOutcome::Unknown(_) => Err(ImportError::Config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_has_the_folder_that_its_files_share() {
        let mut folders = Folders::default();
        for (file, taken) in [
            ("s3://bucket/a/b/1.nc", true),
            ("s3://bucket/a/c/2.nc", true),
            ("s3://bucket/a/c-d/3.nc", true),
            ("s3://other/4.nc", true),
            ("file:///data/x/5.nc", true),
            ("file:///data/y/6.nc", true),
            ("file:///scratch/7.nc", true),
            ("file:///8.nc", false),
        ] {
            let file = VirtualLocation::parse(file).unwrap();
            assert_eq!(folders.add(&file), taken, "{file}");
        }
        let found: Vec<&str> = folders.0.values().map(String::as_str).collect();
        assert_eq!(
            found,
            [
                "file:///data",
                "file:///scratch",
                "s3://bucket/a",
                "s3://other"
            ]
        );
    }
}

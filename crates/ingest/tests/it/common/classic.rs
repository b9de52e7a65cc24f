//! NetCDF-3 files in memory as sources.

use std::sync::Arc;

use icefield_ingest::{ArchiveFile, ArchiveSource, Source, read_netcdf3};
use icefield_storage::{PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::classic::Classic;
use icefield_testkit::stores;

/// Files by their names, in one store.
pub(crate) struct Files(Arc<dyn Storage>);

impl Files {
    pub(crate) fn new() -> Self {
        Self(Arc::new(MemoryStorage::new()))
    }

    /// Files in a store that there is already.
    pub(crate) fn at(storage: Arc<dyn Storage>) -> Self {
        Self(storage)
    }

    /// Writes a file, over the one that is there.
    pub(crate) async fn write(&self, name: &str, file: &Classic) {
        let put = PutMode::Overwrite.into();
        let bytes = file.bytes();
        let put = self.0.put(&stores::key(name), bytes.into(), put).await;
        let _version = put.unwrap();
    }

    /// Opens a file.
    pub(crate) async fn open(&self, name: &str) -> Arc<dyn Source> {
        let key = stores::key(name);
        let file = ArchiveFile::open(Arc::clone(&self.0), &key, name.to_owned());
        let archive = read_netcdf3(file.await.unwrap()).await.unwrap();
        Arc::new(ArchiveSource::new(name, archive))
    }

    /// Writes files and opens them.
    pub(crate) async fn sources(&self, files: &[(String, Classic)]) -> Vec<Arc<dyn Source>> {
        let mut sources = Vec::new();
        for (name, file) in files {
            self.write(name, file).await;
            sources.push(self.open(name).await);
        }
        sources
    }
}

//! Prints what a reader of archive files finds: `dump_archive KIND DIRECTORY NAME`. Made for
//! `interop/archive_check.py`, which lets zarr-python read the result.
#![allow(clippy::unwrap_used, reason = "a dump that fails has no use")]

#[path = "../tests/it/common/dump.rs"]
mod dump;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_ingest::nczarr::ReadOptions;
use icefield_ingest::{
    Archive, ArchiveFile, OpenUrl, SourceError, read_kerchunk, read_netcdf3, read_zarr,
};
use icefield_storage::{Key, Prefix, PutOptions, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, directory, name] = arguments.as_slice() else {
        return Err("usage: dump_archive KIND DIRECTORY NAME".into());
    };
    let memory = MemoryStorage::new();
    copy(Path::new(directory), "", &memory).await?;
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let archive = read(kind, storage, name).await?;
    println!("{}", dump::dump(&archive));
    Ok(())
}

/// Copies the files of a directory, whose names begin with `below`.
async fn copy(directory: &Path, below: &str, memory: &MemoryStorage) -> Result<(), Box<dyn Error>> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = format!("{below}{}", name.ok_or("a name that is no text")?);
        if path.is_dir() {
            Box::pin(copy(&path, &format!("{name}/"), memory)).await?;
            continue;
        }
        let bytes = std::fs::read(&path)?;
        let key = Key::parse(&name)?;
        let put = memory.put(&key, bytes.into(), PutOptions::default());
        let PutOutcome::Written(_) = put.await? else {
            return Err("the memory takes every file".into());
        };
    }
    Ok(())
}

async fn read(
    kind: &str,
    storage: Arc<dyn Storage>,
    name: &str,
) -> Result<Archive, Box<dyn Error>> {
    Ok(match kind {
        "netcdf3" => {
            let file = ArchiveFile::open(storage, &Key::parse(name)?, name).await?;
            read_netcdf3(file).await?
        }
        "zarr" => read_zarr(storage, &Prefix::all(), ".", ReadOptions::default()).await?,
        "kerchunk" => {
            let file = ArchiveFile::open(Arc::clone(&storage), &Key::parse(name)?, name).await?;
            read_kerchunk(file, &Below(storage)).await?
        }
        #[cfg(feature = "kerchunk-parquet")]
        "kerchunk-parquet" => {
            let prefix = Prefix::parse(name)?;
            let files = Below(Arc::clone(&storage));
            icefield_ingest::read_kerchunk_parquet(storage, &prefix, name, &files).await?
        }
        _ => return Err(format!("{kind} is no kind of archive").into()),
    })
}

/// Files whose URLs are their keys.
struct Below(Arc<dyn Storage>);

#[async_trait]
impl OpenUrl for Below {
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError> {
        let key = Key::parse(url).map_err(|error| SourceError::damaged(url, error.to_string()))?;
        ArchiveFile::open(Arc::clone(&self.0), &key, url).await
    }
}

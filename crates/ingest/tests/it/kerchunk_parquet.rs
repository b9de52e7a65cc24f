//! Reading references of kerchunk in Parquet files, as the two programs write them that Python has for that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::damage::Numbers;
use crate::common::{dump, said};
use async_trait::async_trait;
use icefield_ingest::{Archive, ArchiveFile, OpenUrl, SourceError, read_kerchunk_parquet};
use icefield_storage::{Key, Prefix, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::Value;

const WRITERS: [&str; 2] = ["fastparquet.parquet", "pyarrow.parquet"];

/// Files whose URLs are their keys.
struct Files(Arc<dyn Storage>);

#[async_trait]
impl OpenUrl for Files {
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError> {
        let key = Key::parse(url).map_err(|error| SourceError::damaged(url, error.to_string()))?;
        ArchiveFile::open(Arc::clone(&self.0), &key, url).await
    }
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kerchunk")
}

fn collect(directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let key = path.strip_prefix(fixtures()).unwrap().to_str().unwrap();
            files.insert(key.to_owned(), fs::read(&path).unwrap());
        }
    }
}

fn files() -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&fixtures(), &mut files);
    files
}

async fn read(files: &BTreeMap<String, Vec<u8>>, name: &str) -> Result<Archive, SourceError> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    for (key, bytes) in files {
        let key = Key::parse(key).unwrap();
        let put = storage.put(&key, bytes.clone().into(), PutMode::Create.into());
        let _ = put.await.unwrap();
    }
    let opener = Files(Arc::clone(&storage));
    read_kerchunk_parquet(storage, &Prefix::parse(name).unwrap(), name, &opener).await
}

async fn problem(files: &BTreeMap<String, Vec<u8>>) -> String {
    said::said(&read(files, WRITERS[0]).await.unwrap_err())
}

#[tokio::test]
async fn references_of_both_writers_are_read_as_expected() {
    let files = files();
    for name in WRITERS {
        let archive = read(&files, name).await.unwrap();
        let expected: Value =
            serde_json::from_slice(&files[&format!("{name}.expected.json")]).unwrap();
        assert_eq!(dump::dump(&archive), expected, "{name}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let file = |name: &str| format!("{}/{name}", WRITERS[0]);
    let whole = files();
    let mut files = whole.clone();
    files.remove(&file(".zmetadata"));
    assert!(problem(&files).await.contains(".zmetadata does not exist"));
    files.insert(file(".zmetadata"), b"{}".to_vec());
    assert!(problem(&files).await.contains("record_size"));

    let mut files = whole.clone();
    let rows = files[&file("a/refs.0.parq")].clone();
    files.insert(file("a/refs.2.parq"), rows.clone());
    assert!(
        problem(&files)
            .await
            .contains("row 0 is beyond the last chunk")
    );

    let mut files = whole.clone();
    let mut metadata: Value = serde_json::from_slice(&files[&file(".zmetadata")]).unwrap();
    metadata["record_size"] = 1.into();
    files.insert(file(".zmetadata"), metadata.to_string().into_bytes());
    assert!(problem(&files).await.contains("more than 1 rows"));

    // A file that ends early, or lacks what it should say, is not one of absent chunks.
    metadata["record_size"] = 100.into();
    files.insert(file(".zmetadata"), metadata.to_string().into_bytes());
    let refused = problem(&files).await;
    assert!(refused.contains("rows, and stands for"), "{refused}");
    for column in ["path", "offset", "size"] {
        let mut files = whole.clone();
        let renamed = rows.clone();
        let renamed = String::from_utf8_lossy(&renamed)
            .contains(column)
            .then_some(renamed);
        let mut renamed = renamed.unwrap();
        for at in 0..renamed.len() - column.len() {
            if renamed[at..].starts_with(column.as_bytes()) {
                renamed[at] = b'_';
            }
        }
        files.insert(file("a/refs.0.parq"), renamed);
        let refused = problem(&files).await;
        assert!(
            refused.contains(&format!("no column {column:?}")),
            "{refused}"
        );
    }

    let mut files = whole.clone();
    files.remove("first.bin");
    assert!(problem(&files).await.contains("first.bin does not exist"));
    files.insert("first.bin".to_owned(), vec![0; 10]);
    assert!(problem(&files).await.contains("which has 10 bytes"));
}

#[tokio::test]
async fn damaged_files_are_read_or_refused() {
    let mut numbers = Numbers(0xba5e_ba11);
    let whole = files();
    for name in WRITERS {
        let key = format!("{name}/a/refs.0.parq");
        let bytes = whole[&key].clone();
        let mut files: BTreeMap<String, Vec<u8>> = whole.clone();
        files.retain(|key, _| key.starts_with(name) || key.ends_with(".bin"));
        for length in 0..bytes.len() {
            files.insert(key.clone(), bytes[..length].to_vec());
            assert!(read(&files, name).await.is_err());
        }
        for _ in 0..3000 {
            let mut bytes = bytes.clone();
            numbers.damage(&mut bytes);
            files.insert(key.clone(), bytes);
            let _ = read(&files, name).await;
        }
    }
}

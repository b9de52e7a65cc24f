//! Datasets that other programs wrote, imported: every value, dimension and attribute is the expected one, and again after
//! an export.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use icefield_core::{BranchName, CommitOutcome, NodeKind, NodePath, Repository, Session};
use icefield_format::SpecVersion;
use icefield_ingest::nczarr::{DataType, ReadOptions, Values};
use icefield_ingest::{
    ArchiveFile, ArchiveOptions, ArchiveSource, Dialect, Export, Import, NcZarr, OpenUrl,
    SourceError, VariableReader, ZarrV2, dataset_of, read_archive_with, read_zarr,
};
use icefield_storage::{Key, Prefix, Storage};
use icefield_storage_local::LocalStorage;
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Runs tests with repositories of each version of the format.
macro_rules! versions {
    ($($test:ident),* $(,)?) => {
        mod on_v1 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(icefield_format::SpecVersion::V1).await;
            })*
        }

        mod on_v2 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(icefield_format::SpecVersion::V2).await;
            })*
        }
    };
}

versions!(
    every_dataset_is_imported_as_expected,
    numbers_of_old_writers_are_right_when_it_is_asked_for,
    a_repository_that_goes_out_as_nczarr_comes_back_equal,
    a_repository_that_goes_out_as_format_2_comes_back_with_its_values,
    arrays_larger_than_memory_are_read_in_parts,
);

/// A dataset of another program.
struct Case {
    name: String,
    directory: PathBuf,
    expected: Value,
}

fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/nczarr/vectors");
    let mut found = Vec::new();
    let mut pending = vec![root.clone()];
    while let Some(directory) = pending.pop() {
        let file = directory.join("expected.json");
        if file.exists() {
            let text = std::fs::read_to_string(&file).unwrap();
            found.push(Case {
                name: directory.strip_prefix(&root).unwrap().display().to_string(),
                expected: serde_json::from_str(&text).unwrap(),
                directory,
            });
            continue;
        }
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(found.len(), 67);
    found
}

/// Files of references are none of these.
struct Nothing;

#[async_trait::async_trait]
impl OpenUrl for Nothing {
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError> {
        panic!("{url} was asked for")
    }
}

fn local(path: &Path) -> Arc<dyn Storage> {
    Arc::new(LocalStorage::builder(path).read_only(true).open().unwrap())
}

/// Imports what is at a path, a tree or a zip file, into a repository in memory.
async fn imported(path: &Path, options: ReadOptions, spec: SpecVersion) -> Session {
    let archive = match path.is_dir() {
        true => read_zarr(local(path), &Prefix::all(), "file:///x", options).await,
        false => {
            let storage = local(path.parent().unwrap());
            let key = Key::parse(path.file_name().unwrap().to_str().unwrap()).unwrap();
            let file = ArchiveFile::open(storage, &key, "file:///x.zip")
                .await
                .unwrap();
            let options = ArchiveOptions {
                is_copied: true,
                format_2: options,
                ..ArchiveOptions::default()
            };
            read_archive_with(file, &Nothing, options).await
        }
    };
    let source = ArchiveSource::new("a dataset", archive.unwrap());
    let repository = Repository::builder(Arc::new(MemoryStorage::new())).spec_version(spec);
    let repository = repository.create().await.unwrap();
    let imported = Import::new(Arc::new(source));
    let imported = imported
        .run(&repository, BranchName::main(), "import")
        .await
        .unwrap();
    assert!(matches!(imported.commit, CommitOutcome::Committed(_)));
    repository.read_session(BranchName::main()).await.unwrap()
}

async fn case(case: &Case, spec: SpecVersion) -> Session {
    let data = case.directory.join("data");
    let path = match data.is_dir() {
        true => data,
        false => case.directory.join("data.zip"),
    };
    imported(&path, ReadOptions::default(), spec).await
}

/// The values of an array, by the rule of the fixtures.
async fn digest(session: &Session, path: &NodePath, dtype: &str) -> String {
    let is_text = dtype == "string" || dtype.starts_with("<U");
    // Chars are any bytes.
    let data_type = if is_text {
        DataType::String
    } else {
        DataType::Char
    };
    let mut reader = VariableReader::new(session, path, data_type).unwrap();
    let (mut bytes, mut texts) = (Vec::new(), Vec::new());
    while let Some(values) = reader.next().await.unwrap() {
        match values {
            Values::Char(part) => bytes.extend(part),
            Values::String(part) => texts.extend(part),
            other => panic!("{other:?}"),
        }
    }
    if is_text {
        let list: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
        bytes = format!("[{}]", list.join(", ")).into_bytes();
    }
    let width = match dtype.trim_start_matches(['<', '>', '|']) {
        "f4" | "float32" => 4,
        "f8" | "float64" => 8,
        _ => 0,
    };
    if width == 4 {
        for one in bytes.as_chunks_mut::<4>().0 {
            if f32::from_le_bytes(*one).is_nan() {
                *one = f32::NAN.to_le_bytes();
            }
        }
    } else if width == 8 {
        for one in bytes.as_chunks_mut::<8>().0 {
            if f64::from_le_bytes(*one).is_nan() {
                *one = f64::NAN.to_le_bytes();
            }
        }
    }
    let sum = Sha256::digest(&bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Codecs that are carried over and not decoded here; the suite of other programs compares their values.
const NOT_DECODED: [&str; 3] = ["/c_lz4", "/crc", "/filt"];

/// The names of the dimensions of an array, as its document has them.
fn names(session: &Session, path: &NodePath) -> Vec<Option<String>> {
    session
        .array(path)
        .unwrap()
        .dimension_names
        .unwrap_or_default()
}

/// Checks all arrays of a session.
async fn check(session: &Session, case: &Case, at: &str) {
    let expected = case.expected["arrays"].as_object().unwrap();
    let nodes = session.nodes(&NodePath::root()).unwrap();
    let arrays: Vec<NodePath> = nodes
        .into_iter()
        .filter(|node| node.kind == NodeKind::Array)
        .map(|node| node.path)
        .collect();
    assert_eq!(arrays.len(), expected.len(), "{at}");
    // Its writer stored little-endian numbers and said that they are big-endian.
    let is_swapped =
        case.name.starts_with("ncgen-4.9.0") || case.name.starts_with("netcdf-c-4.9.1");
    for path in arrays {
        let at = format!("{at} {path}");
        let expected = &expected[path.as_str()];
        let shape = session.array(&path).unwrap().shape;
        assert_eq!(json!(shape), expected["shape"], "{at}");
        if NOT_DECODED.contains(&path.as_str()) {
            assert!(
                VariableReader::new(session, &path, DataType::Char).is_err(),
                "{at}"
            );
            continue;
        }
        let found = digest(session, &path, expected["dtype"].as_str().unwrap()).await;
        let is_endian = case.name.ends_with("/endian");
        match is_endian && is_swapped {
            true => assert_ne!(found, expected["sha256"], "{at}"),
            false => assert_eq!(found, expected["sha256"], "{at}"),
        }
        let names: Vec<Option<String>> = names(session, &path);
        let names: Vec<String> = names.into_iter().flatten().collect();
        let is_unnamed = case.name.contains("noxarray") || case.name == "ncgen-4.9.0-zarr/groups";
        if !is_unnamed && !case.name.starts_with("zarr-python-v") {
            assert_eq!(json!(names), expected["dims"], "{at}");
        }
    }
}

async fn every_dataset_is_imported_as_expected(spec: SpecVersion) {
    for one in cases() {
        let session = case(&one, spec).await;
        check(&session, &one, &one.name).await;
    }
}

async fn numbers_of_old_writers_are_right_when_it_is_asked_for(spec: SpecVersion) {
    let options = ReadOptions {
        has_legacy_endian: true,
        ..ReadOptions::default()
    };
    let mut seen = 0;
    for one in cases() {
        let is_old = ["ncgen-4.9.0-nczarr/endian", "netcdf-c-4.9.1-nczarr/endian"];
        if !is_old.contains(&&*one.name) {
            continue;
        }
        let session = imported(&one.directory.join("data"), options, spec).await;
        for (path, expected) in one.expected["arrays"].as_object().unwrap() {
            let path = NodePath::parse(path).unwrap();
            let found = digest(&session, &path, expected["dtype"].as_str().unwrap()).await;
            assert_eq!(found, expected["sha256"], "{} {path}", one.name);
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen} arrays");
}

/// Exports in a format, and imports that again.
async fn again(
    session: &Session,
    dialect: Arc<dyn Dialect>,
    spec: SpecVersion,
) -> Result<Session, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("again");
    let export = Export::new(session.clone()).dialect(dialect);
    export.run(&path).await.map_err(|error| error.to_string())?;
    Ok(imported(&path, ReadOptions::default(), spec).await)
}

async fn a_repository_that_goes_out_as_nczarr_comes_back_equal(spec: SpecVersion) {
    let mut seen = 0;
    for one in cases() {
        let session = case(&one, spec).await;
        let Ok(dataset) = dataset_of(&session) else {
            // netCDF has no types for truth values of Zarr, complex numbers and the like.
            assert!(one.name.starts_with("zarr-python-v"), "{}", one.name);
            continue;
        };
        let back = again(&session, Arc::new(NcZarr), spec).await.unwrap();
        let found = dataset_of(&back).unwrap();
        let bare = |dataset| format!("{:#?}", without_storage(dataset));
        assert_eq!(bare(found), bare(dataset), "{}", one.name);
        check(&back, &one, &format!("{} as NCZarr", one.name)).await;
        seen += 1;
    }
    assert!(seen >= 60, "{seen} datasets");
}

/// How chunks are compressed may change on the way, and texts get a length.
fn without_storage(
    mut dataset: icefield_ingest::nczarr::Dataset,
) -> icefield_ingest::nczarr::Dataset {
    let paths: Vec<String> = dataset.variables().into_iter().map(|it| it.0).collect();
    for path in paths {
        if let Some(variable) = dataset.variable_mut(&path) {
            variable.storage = icefield_ingest::nczarr::Storage::default();
        }
    }
    dataset
}

async fn a_repository_that_goes_out_as_format_2_comes_back_with_its_values(spec: SpecVersion) {
    let mut refused = BTreeMap::new();
    for one in cases() {
        let session = case(&one, spec).await;
        match again(&session, Arc::new(ZarrV2), spec).await {
            Ok(back) => check(&back, &one, &format!("{} as format 2", one.name)).await,
            Err(error) => {
                refused.insert(one.name, error);
            }
        }
    }
    // A transposition that format 2 has no order for.
    let names: Vec<&String> = refused.keys().collect();
    assert!(names.len() <= 2, "{refused:#?}");
    assert!(
        names.iter().all(|name| name.starts_with("zarr-python-v3")),
        "{refused:#?}"
    );
}

async fn arrays_larger_than_memory_are_read_in_parts(spec: SpecVersion) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("huge.zarr");
    let document = |name: &str, chunks: u64| {
        let array = json!({
            "zarr_format": 2, "shape": [1_u64 << 31, 300], "chunks": [chunks, 300], "dtype": "<i2",
            "compressor": null, "fill_value": 5, "order": "C", "filters": null,
        });
        std::fs::create_dir_all(root.join(name)).unwrap();
        std::fs::write(root.join(name).join(".zarray"), array.to_string()).unwrap();
    };
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    document("one_chunk", 1 << 31);
    document("rows", 1);
    let session = imported(&root, ReadOptions::default(), spec).await;
    for name in ["/one_chunk", "/rows"] {
        let path = NodePath::parse(name).unwrap();
        let mut reader = VariableReader::new(&session, &path, DataType::Short).unwrap();
        for _ in 0..3 {
            let Some(Values::Short(part)) = reader.next().await.unwrap() else {
                panic!("{name} ended");
            };
            assert!(part.len() <= 8 << 20, "{name}: {} numbers", part.len());
            assert!(part.iter().all(|value| *value == 5), "{name}");
        }
    }
}

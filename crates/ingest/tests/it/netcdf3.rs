//! Reading NetCDF-3 files. The expected dumps were checked by `interop/archive_check.py`: zarr-python and xarray find in
//! them what the NetCDF library finds in the files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::damage::Numbers;
use crate::common::dump;
use bytes::Bytes;
use icefield_core::NodePath;
use icefield_ingest::{
    Archive, ArchiveChunks, ArchiveFile, ArchiveNode, SourceError, read_netcdf3,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Key, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::Value;

fn fixture(name: &str) -> Vec<u8> {
    fs::read(directory().join(name)).unwrap()
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/netcdf3")
}

async fn read(name: &str, bytes: impl Into<Bytes>) -> Result<Archive, SourceError> {
    read_in(Arc::new(MemoryStorage::new()), name, bytes).await
}

async fn read_in(
    storage: Arc<dyn Storage>,
    name: &str,
    bytes: impl Into<Bytes>,
) -> Result<Archive, SourceError> {
    let key = Key::parse("file").unwrap();
    let put = storage
        .put(&key, bytes.into().into(), PutMode::Create.into())
        .await;
    let _ = put.unwrap();
    let file = ArchiveFile::open(storage, &key, name).await.unwrap();
    read_netcdf3(file).await
}

async fn problem(bytes: impl Into<Bytes>) -> String {
    read("x.nc", bytes).await.unwrap_err().to_string()
}

fn chunks(archive: &Archive, path: &str) -> Vec<(Vec<u32>, u64, u64)> {
    let Some(ArchiveNode::Array(array)) = archive.nodes.get(&NodePath::parse(path).unwrap()) else {
        panic!("no array at {path}");
    };
    let ArchiveChunks::InFiles(extents) = &array.chunks else {
        panic!("{:?}", array.chunks);
    };
    extents
        .rows()
        .map(|row| (row.index.to_vec(), row.offset, row.length))
        .collect()
}

#[tokio::test]
async fn files_of_every_kind_are_read_as_expected() {
    let mut count = 0;
    for entry in fs::read_dir(directory()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".nc") {
            continue;
        }
        let archive = read(&name, fixture(&name)).await.unwrap();
        let expected = fixture(&format!("{name}.expected.json"));
        let expected: Value = serde_json::from_slice(&expected).unwrap();
        assert_eq!(dump::dump(&archive), expected, "{name}");
        count += 1;
    }
    assert_eq!(count, 11);
}

#[tokio::test]
async fn a_file_cut_anywhere_is_an_error_or_is_whole() {
    for name in ["classic.nc", "data64.nc", "alone_i2.nc"] {
        let whole = fixture(name);
        let expected = dump::dump(&read("x.nc", whole.clone()).await.unwrap());
        for length in 0..whole.len() {
            // The padding of the last record may be missing.
            match read("x.nc", whole[..length].to_vec()).await {
                Ok(archive) => {
                    assert!(whole.len() - length < 4, "{name} {length}");
                    assert_eq!(dump::dump(&archive), expected);
                }
                Err(error) => assert!(error.to_string().contains("x.nc"), "{error}"),
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_file_is_read_or_refused() {
    let mut numbers = Numbers(0x1ce_f1e1d);
    for name in ["classic.nc", "data64.nc", "alone_i2.nc"] {
        let whole = fixture(name);
        for _ in 0..4000 {
            let mut bytes = whole.clone();
            numbers.damage(&mut bytes);
            if let Ok(archive) = read("x.nc", bytes).await {
                for node in archive.nodes.values() {
                    node.document();
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_such_file_is_refused_by_name() {
    assert!(problem("").await.contains("too short"));
    assert!(problem("hello").await.contains("does not begin"));
    assert!(problem(&b"CDF\x03"[..]).await.contains("version 3"));
    assert!(problem(&b"\x89HDF\r\n\x1a\n"[..]).await.contains("HDF5"));
}

/// A header of CDF-1: dimensions and variables, no attributes.
fn header(
    records: u32,
    dimensions: &[(&str, u32)],
    variables: &[(&str, &[u32], u32, u32)],
) -> Vec<u8> {
    let word = |bytes: &mut Vec<u8>, word: u32| bytes.extend(word.to_be_bytes());
    let name = |bytes: &mut Vec<u8>, name: &str| {
        word(bytes, name.len() as u32);
        bytes.extend(name.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    };
    let mut bytes = b"CDF\x01".to_vec();
    word(&mut bytes, records);
    word(&mut bytes, 10);
    word(&mut bytes, dimensions.len() as u32);
    for (text, length) in dimensions {
        name(&mut bytes, text);
        word(&mut bytes, *length);
    }
    bytes.extend([0; 8]);
    word(&mut bytes, 11);
    word(&mut bytes, variables.len() as u32);
    for (text, ids, kind, begin) in variables {
        name(&mut bytes, text);
        word(&mut bytes, ids.len() as u32);
        for id in *ids {
            word(&mut bytes, *id);
        }
        bytes.extend([0; 8]);
        for number in [*kind, 0, *begin] {
            word(&mut bytes, number);
        }
    }
    bytes
}

fn padded(mut bytes: Vec<u8>, length: usize) -> Vec<u8> {
    bytes.resize(length, 0);
    bytes
}

#[tokio::test]
async fn records_of_several_variables_are_filled_up_and_those_of_one_are_not() {
    let dimensions = [("t", 0), ("x", 3)];
    let both = header(
        2,
        &dimensions,
        &[("a", &[0, 1], 1, 200), ("b", &[0], 3, 204)],
    );
    let archive = read("x.nc", padded(both, 216)).await.unwrap();
    assert_eq!(
        chunks(&archive, "/a"),
        [(vec![0, 0], 200, 3), (vec![1, 0], 208, 3)]
    );
    assert_eq!(
        chunks(&archive, "/b"),
        [(vec![0], 204, 2), (vec![1], 212, 2)]
    );

    let one = header(2, &dimensions, &[("a", &[0, 1], 1, 200)]);
    let archive = read("x.nc", padded(one, 206)).await.unwrap();
    assert_eq!(
        chunks(&archive, "/a"),
        [(vec![0, 0], 200, 3), (vec![1, 0], 203, 3)]
    );
}

#[tokio::test]
async fn a_large_variable_is_cut_into_whole_rows() {
    let dimensions = [("y", 6), ("x", 1 << 20)];
    let bytes = header(0, &dimensions, &[("a", &[0, 1], 4, 200)]);
    let counting = CountingStorage::new(Arc::new(MemoryStorage::new()));
    let storage = Arc::new(counting.clone());
    let archive = read_in(storage, "x.nc", padded(bytes, 200 + (24 << 20)))
        .await
        .unwrap();
    let counts = counting.snapshot().total;
    assert_eq!((counts.get, counts.bytes_read), (1, 64 << 10));
    let expected = |row: u32| (vec![row, 0], 200 + u64::from(row) * (4 << 20), 4 << 20);
    assert_eq!(
        chunks(&archive, "/a"),
        (0..6).map(expected).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_long_header_is_read_piece_by_piece() {
    let names: Vec<String> = (0..20_000).map(|number| format!("v{number}")).collect();
    let begin = |number: usize| 1_000_000 + 4 * number as u32;
    let variables = names.iter().enumerate();
    let variables: Vec<(&str, &[u32], u32, u32)> = variables
        .map(|(number, name)| (name.as_str(), &[1][..], 1, begin(number)))
        .collect();
    let bytes = padded(header(0, &[("t", 0), ("x", 3)], &variables), 1_080_000);
    let archive = read("x.nc", bytes).await.unwrap();
    assert_eq!(archive.nodes.len(), 20_001);
    assert_eq!(chunks(&archive, "/v19999"), [(vec![0], 1_079_996, 3)]);

    // A length that no file of this size can have is not read for.
    let mut bytes = header(0, &[("x", 3)], &[]);
    bytes[16..20].copy_from_slice(&0x7fff_fff0_u32.to_be_bytes());
    assert!(
        problem(padded(bytes, 300))
            .await
            .contains("ends within its header")
    );
}

#[tokio::test]
async fn data_that_the_file_lacks_is_an_error() {
    let dimensions = [("t", 0), ("x", 3)];
    let bytes = padded(header(3, &dimensions, &[("a", &[0, 1], 3, 200)]), 217);
    assert!(
        problem(bytes)
            .await
            .contains("up to byte 218, and the file ends at byte 217")
    );
    let bytes = header(u32::MAX - 1, &dimensions, &[("a", &[0, 1], 3, 200)]);
    assert!(problem(padded(bytes, 300)).await.contains("the file ends"));
    let cube: &[u32] = &[1, 1, 1, 1];
    let same = [
        ("a", cube, 1, 100),
        ("b", cube, 1, 100),
        ("c", cube, 1, 100),
    ];
    let bytes = header(0, &dimensions, &same);
    assert!(problem(padded(bytes, 206)).await.contains("shares bytes"));
}

#[tokio::test]
async fn a_stream_has_as_many_records_as_fit() {
    let dimensions = [("t", 0), ("x", 3)];
    let both = header(
        u32::MAX,
        &dimensions,
        &[("a", &[0, 1], 1, 200), ("b", &[0], 3, 204)],
    );
    for (length, records) in [(200, 0), (206, 1), (208, 1), (214, 2), (216, 2)] {
        let archive = read("x.nc", padded(both.clone(), length)).await.unwrap();
        assert_eq!(chunks(&archive, "/b").len(), records, "{length}");
    }
    for length in [201, 205, 209, 213] {
        assert!(
            problem(padded(both.clone(), length))
                .await
                .contains("within a record")
        );
    }
}

#[tokio::test]
async fn rules_of_the_header_are_checked() {
    let dimensions = [("t", 0), ("x", 3)];
    let of =
        |variables: &[(&str, &[u32], u32, u32)]| padded(header(0, &dimensions, variables), 300);
    assert!(
        problem(of(&[("a", &[1, 0], 3, 200)]))
            .await
            .contains("not the first")
    );
    assert!(
        problem(of(&[("a", &[2], 3, 200)]))
            .await
            .contains("dimension 2")
    );
    assert!(problem(of(&[("a", &[1], 7, 200)])).await.contains("type 7"));
    assert!(
        problem(of(&[("a", &[1], 1, 200), ("a", &[1], 1, 208)]))
            .await
            .contains("two variables")
    );
    assert!(problem(of(&[("a/b", &[1], 1, 200)])).await.contains("a/b"));
    let two = padded(header(0, &[("t", 0), ("u", 0)], &[]), 300);
    assert!(problem(two).await.contains("second record dimension"));
}

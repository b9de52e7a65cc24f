//! HDF5 and NetCDF-4 files, written by the HDF5 library itself.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::{BranchName, CommitOutcome, NodePath, Repository};
use icefield_ingest::{
    Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, ArchiveSource, Expected,
    Hdf5Options, Import, Source, SourceError, SourceNode, read_hdf5,
};
use icefield_storage::wrap::{CountingStorage, LatencyStorage, Tally};
use icefield_storage::{Deletion, Key, Payload, PutOptions, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};

/// Names a directory that `interop/hdf5_corpus.py` has filled.
const CORPUS: &str = "ICEFIELD_HDF5_CORPUS";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hdf5")
}

fn fixture(name: &str) -> Bytes {
    std::fs::read(fixtures().join(name)).unwrap().into()
}

async fn stored(bytes: Bytes) -> (CountingStorage, Key) {
    let storage = CountingStorage::new(Arc::new(MemoryStorage::new()));
    let key = Key::parse("file").unwrap();
    let put = storage.put(&key, Payload::from(bytes), PutOptions::default());
    assert!(matches!(put.await, Ok(PutOutcome::Written(_))));
    (storage, key)
}

async fn counted(bytes: Bytes, options: Hdf5Options) -> (Result<Archive, SourceError>, Tally) {
    let (storage, key) = stored(bytes).await;
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let file = ArchiveFile::open(shared, &key, "s3://bucket/file").await;
    let archive = read_hdf5(file.unwrap(), options).await;
    (archive, storage.snapshot().total)
}

async fn read(bytes: Bytes) -> Result<Archive, SourceError> {
    counted(bytes, Hdf5Options::default()).await.0
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

fn array<'a>(archive: &'a Archive, name: &str) -> &'a ArchiveArray {
    match &archive.nodes[&path(name)] {
        ArchiveNode::Array(array) => array,
        ArchiveNode::Group(_) => panic!("{name} is a group"),
    }
}

fn attributes<'a>(archive: &'a Archive, name: &str) -> &'a serde_json::Map<String, Value> {
    match &archive.nodes[&path(name)] {
        ArchiveNode::Array(array) => &array.attributes,
        ArchiveNode::Group(attributes) => attributes,
    }
}

/// Compares what was found with what h5py has.
fn compare(name: &str, archive: &Archive, expected: &BTreeMap<String, Value>) {
    let arrays = archive.nodes.iter().filter_map(|(path, node)| match node {
        ArchiveNode::Array(array) => Some((path.to_string(), array)),
        ArchiveNode::Group(_) => None,
    });
    let arrays: BTreeMap<_, _> = arrays.collect();
    assert!(
        arrays.keys().eq(expected.keys()),
        "{name}: {:?}",
        arrays.keys()
    );
    for (node, document) in &archive.nodes {
        let parsed = SourceNode::parse(document.document(), 1 << 24);
        parsed.unwrap_or_else(|error| panic!("{name}{node}: {error}"));
    }
    for (path, array) in arrays {
        let (want, here) = (&expected[&path], format!("{name}{path}"));
        assert_eq!(json!(array.shape), want["shape"], "{here}");
        assert_eq!(array.dimension_names.len(), array.rank(), "{here}");
        let (ArchiveChunks::InFiles(extents) | ArchiveChunks::Recoded { extents, .. }) =
            &array.chunks
        else {
            continue;
        };
        if let Some(chunks) = want["chunks"].as_array() {
            assert_eq!(json!(array.chunk_shape), json!(chunks), "{here}");
        }
        if let Some(stored) = want["stored"].as_array() {
            let rows = extents.rows().map(|row| {
                let starts = row.index.iter().zip(&array.chunk_shape);
                let starts: Vec<u64> = starts.map(|(at, one)| u64::from(*at) * one).collect();
                json!([starts, row.offset, row.length])
            });
            // The last one is the mask of filters that were left out.
            let stored = stored.iter().map(|row| json!(row.as_array().unwrap()[..3]));
            assert_eq!(
                rows.collect::<Vec<_>>(),
                stored.collect::<Vec<_>>(),
                "{here}"
            );
        }
        if let (Some(offset), Some(first)) = (want["offset"].as_u64(), extents.rows().next()) {
            assert_eq!(first.offset, offset, "{here}");
        }
    }
}

#[derive(serde::Deserialize)]
struct Corpus {
    files: BTreeMap<String, BTreeMap<String, Value>>,
    refused: BTreeMap<String, String>,
}

#[tokio::test]
async fn the_corpus_is_read_as_h5py_reads_it() {
    let Some(directory) = std::env::var_os(CORPUS).map(PathBuf::from) else {
        let test = "the_corpus_is_read_as_h5py_reads_it";
        // Past the capture of libtest: that a test passes must not look as if it had run.
        let _closed = writeln!(std::io::stderr(), "SKIPPED {test}: {CORPUS} is not set");
        return;
    };
    let load = |name: &str| std::fs::read(directory.join(name)).unwrap();
    let corpus: Corpus = serde_json::from_slice(&load("expected.json")).unwrap();
    for (name, expected) in &corpus.files {
        let archive = read(load(name).into()).await;
        let archive = archive.unwrap_or_else(|error| panic!("{name}: {error}"));
        compare(name, &archive, expected);
    }
    for (name, word) in &corpus.refused {
        match read(load(name).into()).await {
            Err(SourceError::Variable { path, reason, .. }) => {
                let text = format!("{path}: {reason}");
                assert!(text.contains(word), "{name}: {text}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn fixtures_are_read_as_h5py_reads_them() {
    let expected = fixture("fixtures.json");
    let expected: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_slice(&expected).unwrap();
    assert_eq!(expected.len(), 10);
    for (name, expected) in &expected {
        compare(name, &read(fixture(name)).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn types_and_filters_become_those_of_zarr() {
    let archive = read(fixture("fixture-earliest.h5")).await.unwrap();
    let bytes = |endian: &str| json!({ "name": "bytes", "configuration": { "endian": endian } });
    for (name, data_type, codec, fill) in [
        ("/contiguous", "int32", bytes("little"), json!(0)),
        ("/big", "float64", bytes("big"), json!(0.0)),
        ("/half", "float16", bytes("little"), json!(0.0)),
        ("/truth", "bool", json!({ "name": "bytes" }), json!(false)),
        ("/complex", "complex64", bytes("little"), json!([0.0, 0.0])),
        ("/scalar", "uint64", bytes("little"), json!(0)),
        ("/chunked", "int16", bytes("little"), json!(-7)),
    ] {
        let array = array(&archive, name);
        assert_eq!(array.data_type, json!(data_type), "{name}");
        assert_eq!(array.codecs, [codec], "{name}");
        assert_eq!(array.fill_value, fill, "{name}");
        assert_eq!(array.not_virtual(), None, "{name}");
    }
    let letters =
        json!({ "name": "null_terminated_bytes", "configuration": { "length_bytes": 1 } });
    assert_eq!(array(&archive, "/g/letters").data_type, letters);
    let codecs = [
        bytes("big"),
        json!({ "name": "numcodecs.shuffle", "configuration": { "elementsize": 4 } }),
        json!({ "name": "numcodecs.zlib", "configuration": { "level": 4 } }),
        json!({ "name": "numcodecs.fletcher32", "configuration": {} }),
    ];
    assert_eq!(array(&archive, "/packed").codecs, codecs);
    assert_eq!(attributes(&archive, "/g")["list"], json!([1, 2, 3]));
    assert_eq!(attributes(&archive, "/g")["one"], json!("NaN"));

    // Two names for one array.
    let chunks = |name: &str| format!("{:?}", array(&archive, name).chunks);
    assert_eq!(chunks("/hard"), chunks("/big"));
    assert_eq!(chunks("/soft"), chunks("/g/letters"));

    let archive = read(fixture("fixture-latest.h5")).await.unwrap();
    let blosc = json!({ "name": "blosc", "configuration": {
        "cname": "zstd", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0 } });
    assert_eq!(array(&archive, "/blosc").codecs[1], blosc);
    let zstd = json!({ "name": "zstd", "configuration": { "level": 3, "checksum": false } });
    assert_eq!(array(&archive, "/zstd").codecs[1], zstd);
    let members = json!({ "RED": 1, "BLUE": -2 });
    assert_eq!(attributes(&archive, "/enum")["enum_members"], members);
    assert_eq!(attributes(&archive, "/").len(), 12);
}

#[tokio::test]
async fn texts_and_arrays_in_headers_are_made() {
    let archive = read(fixture("fixture-earliest.h5")).await.unwrap();
    for (name, texts) in [
        ("/g/long", &["", "a", "日本語"][..]),
        ("/g/fixed", &["one", "three"]),
    ] {
        let array = array(&archive, name);
        assert_eq!(
            (&array.data_type, &array.fill_value),
            (&json!("string"), &json!(""))
        );
        assert_eq!(
            array.codecs,
            [json!({ "name": "vlen-utf8", "configuration": {} })]
        );
        let mut encoded = (texts.len() as u32).to_le_bytes().to_vec();
        for text in texts {
            encoded.extend((text.len() as u32).to_le_bytes());
            encoded.extend(text.as_bytes());
        }
        let ArchiveChunks::Made { chunks, reason } = &array.chunks else {
            panic!("{name} is not made");
        };
        assert_eq!(chunks.as_slice(), [([0].into(), Bytes::from(encoded))]);
        assert!(reason.contains("texts"), "{reason}");
    }
    let archive = read(fixture("fixture-latest.h5")).await.unwrap();
    let ArchiveChunks::Made { chunks, .. } = &array(&archive, "/compact").chunks else {
        panic!("it is not made");
    };
    let big_endian = Bytes::from_static(&[0, 1, 0, 2, 0, 3]);
    assert_eq!(chunks.as_slice(), [([0].into(), big_endian)]);

    let none = Hdf5Options::default().with_made_bytes(3);
    let error = counted(fixture("fixture-latest.h5"), none)
        .await
        .0
        .unwrap_err();
    assert!(error.to_string().contains("made_bytes"), "{error}");
}

#[tokio::test]
async fn lz4_is_encoded_anew() {
    let file = fixture("fixture-latest.h5");
    let archive = read(file.clone()).await.unwrap();
    let array = array(&archive, "/lz4");
    assert_eq!(array.codecs[1]["name"], "zstd");
    let ArchiveChunks::Recoded {
        extents, recode, ..
    } = &array.chunks
    else {
        panic!("it is not recoded");
    };
    let expected = Expected {
        element_bytes: 4,
        chunk_bytes: 240,
    };
    assert_eq!(extents.len(), 2);
    for row in extents.rows() {
        let chunk = &file[row.offset as usize..][..row.length as usize];
        let recoded = recode.chunk(row.index, chunk, &expected).unwrap();
        assert_eq!(zstd::bulk::decompress(&recoded, 1000).unwrap().len(), 240);
        assert!(recode.chunk(row.index, &chunk[..9], &expected).is_err());
    }
}

/// The chunks of an array as it has them once it is copied, decoded.
fn decoded_anew(file: &Bytes, array: &ArchiveArray, element_bytes: usize) -> Vec<Vec<u8>> {
    let ArchiveChunks::Recoded {
        extents, recode, ..
    } = &array.chunks
    else {
        panic!("it is not recoded");
    };
    let expected = Expected {
        element_bytes,
        chunk_bytes: element_bytes * array.chunk_shape[0] as usize,
    };
    let rows = extents.rows().map(|row| {
        let chunk = &file[row.offset as usize..][..row.length as usize];
        let anew = recode.chunk(row.index, chunk, &expected).unwrap();
        zstd::bulk::decompress(&anew, 1000).unwrap()
    });
    rows.collect()
}

#[tokio::test]
async fn a_checksum_before_a_shuffle_is_said_by_codecs_or_undone() {
    let file = fixture("fixture-filters.nc");
    let archive = read(file.clone()).await.unwrap();
    // Five elements and a checksum of four bytes: only those of eight bytes leave some over.
    for name in ["/i2", "/big", "/f4"] {
        let array = array(&archive, name);
        let codecs: Vec<_> = array.codecs.iter().map(|codec| &codec["name"]).collect();
        let order = [
            "bytes",
            "numcodecs.fletcher32",
            "numcodecs.shuffle",
            "numcodecs.zlib",
        ];
        assert_eq!(codecs, order, "{name}");
        assert_eq!(array.not_virtual(), None, "{name}");
    }
    let wide = array(&archive, "/f8");
    assert_eq!(wide.codecs[1]["name"], "zstd");
    assert!(wide.not_virtual().unwrap().contains("evenly"));
    let values = decoded_anew(&file, wide, 8).concat();
    let values = values.chunks_exact(8).take(12);
    let values: Vec<f64> = values
        .map(|it| f64::from_le_bytes(it.try_into().unwrap()))
        .collect();
    let expected: Vec<f64> = (0..12).map(|at| f64::from(at) / 4.0 - 20.0).collect();
    assert_eq!(values, expected);
}

#[tokio::test]
async fn chunks_that_went_without_filters_are_copied() {
    let file = fixture("fixture-filters.nc");
    let archive = read(file.clone()).await.unwrap();
    let mask = array(&archive, "/mask");
    assert!(mask.not_virtual().unwrap().contains("chunk [1]"));
    let values = decoded_anew(&file, mask, 4).concat();
    let values = values.chunks_exact(4).take(7);
    let values: Vec<i32> = values
        .map(|it| i32::from_le_bytes(it.try_into().unwrap()))
        .collect();
    assert_eq!(values, [0, 1, 2, 30, 40, 50, 6]);
}

#[tokio::test]
async fn dimensions_without_scales_have_the_names_of_netcdf() {
    let archive = read(fixture("fixture-userblock.h5")).await.unwrap();
    let names = ["phony_dim_0", "phony_dim_1"].map(|name| Some(name.to_owned()));
    assert_eq!(array(&archive, "/v").dimension_names, names);
    // Numbers go on from the dimensions with scales, of which one has this length.
    let archive = read(fixture("fixture-filters.nc")).await.unwrap();
    let names = [Some("phony_dim_1".to_owned())];
    assert_eq!(array(&archive, "/mask").dimension_names, names);
}

#[tokio::test]
async fn what_is_unsupported_is_listed_on_request() {
    let file = fixture("fixture-mask.h5");
    let options = Hdf5Options::default().with_unsupported_listed(true);
    let archive = counted(file, options).await.0.unwrap();
    let nodes: Vec<&str> = archive.nodes.keys().map(NodePath::as_str).collect();
    assert_eq!(nodes, ["/", "/fine", "/g"]);
    let mut listed: Vec<_> = archive
        .unsupported
        .iter()
        .map(|it| (it.path.as_str(), it.name.as_str(), it.reason.as_str()))
        .collect();
    listed.sort_unstable();
    for ((path, name, reason), (wanted, word)) in listed.iter().zip([
        ("/g/outside", "other.h5"),
        ("/g/pair", "compounds"),
        ("/g/v", "bitshuffle"),
    ]) {
        assert_eq!((*path, *name), (wanted, "s3://bucket/file"));
        assert!(reason.contains(word), "{reason}");
    }
    assert_eq!(listed.len(), 3);
}

#[tokio::test]
async fn a_netcdf_file_keeps_its_dimensions_and_masks() {
    let archive = read(fixture("fixture-netcdf.nc")).await.unwrap();
    let names = |name: &str| -> Vec<String> {
        let names = array(&archive, name).dimension_names.iter();
        names.map(|name| name.clone().unwrap_or_default()).collect()
    };
    assert_eq!(names("/tas"), ["time", "x"]);
    assert_eq!(names("/time"), ["time"]);
    // A dimension of the group above, and one that has no variable.
    assert_eq!(names("/g/w"), ["x"]);
    assert_eq!(names("/count"), ["x", "nv"]);
    // A variable that has the name of a dimension and is not its coordinate.
    assert_eq!(names("/nv"), ["x", "nv"]);
    assert!(!archive.nodes.contains_key(&path("/x")));

    assert_eq!(
        Value::Object(attributes(&archive, "/").clone()),
        json!({ "title": "Å title" })
    );
    let units = json!({ "units": "days since 2000-01-01" });
    assert_eq!(Value::Object(attributes(&archive, "/time").clone()), units);
    // As xarray has it: the float as a double, little-endian, in base64.
    let tas = json!({ "_FillValue": "AAAAgB2vFUQ=", "valid_range": [-5.0, 5.0] });
    assert_eq!(Value::Object(attributes(&archive, "/tas").clone()), tas);
    assert_eq!(attributes(&archive, "/count")["_FillValue"], json!(-9));
    assert_eq!(array(&archive, "/count").fill_value, json!(-9));
    assert_eq!(
        array(&archive, "/tas").fill_value,
        json!(f64::from(1e20f32))
    );
}

/// The elements of a chunk that is not compressed.
fn shorts(bytes: &[u8]) -> Vec<i16> {
    let (elements, rest) = bytes.as_chunks::<2>();
    assert!(rest.is_empty());
    elements.iter().map(|it| i16::from_le_bytes(*it)).collect()
}

#[tokio::test]
async fn an_array_is_as_long_as_its_dimension_whatever_was_written() {
    let archive = read(fixture("fixture-lagging.nc")).await.unwrap();
    for (name, shape) in [
        ("/time", &[9][..]),
        ("/lags", &[9, 3]),
        ("/behind_both", &[9, 2]),
        ("/unfilled", &[9]),
        ("/unfilled_letters", &[9]),
        ("/texts", &[9]),
        ("/zeros", &[9]),
        // The longest of all lies in a group below.
        ("/g/behind_longest", &[9, 2]),
    ] {
        assert_eq!(array(&archive, name).shape, shape, "{name}");
    }
    assert_eq!(archive.warnings, [""; 0]);
    // No chunk is where nothing was written.
    let ArchiveChunks::InFiles(extents) = &array(&archive, "/lags").chunks else {
        panic!("nothing of it is made");
    };
    let rows: Vec<_> = extents.rows().map(|row| row.index.to_vec()).collect();
    assert_eq!(rows, [[0, 0], [1, 0], [2, 0]]);
    let ArchiveChunks::Made { chunks, .. } = &array(&archive, "/texts").chunks else {
        panic!("texts are made");
    };
    let [(_, texts)] = chunks.as_slice() else {
        panic!("there is one chunk");
    };
    assert_eq!(
        texts.as_ref(),
        b"\x04\0\0\0\x01\0\0\0a\x02\0\0\0\xc3\xa4\x01\0\0\0c\0\0\0\0"
    );
}

#[tokio::test]
async fn what_hdf5_did_not_fill_behind_the_last_record_is_filled() {
    let archive = read(fixture("fixture-lagging.nc")).await.unwrap();
    let mixed = |name: &str| match &array(&archive, name).chunks {
        ArchiveChunks::Mixed { extents, made } => (extents.len(), made.clone()),
        other => panic!("{name}: {other:?}"),
    };
    // Written by a library that has no fill value: its records are zeros, and none others.
    let (left, made) = mixed("/zeros");
    assert_eq!(left, 1);
    let made: Vec<_> = made
        .iter()
        .map(|(at, bytes)| (at[0], shorts(bytes)))
        .collect();
    assert_eq!(made, [(1, vec![0, 0]), (2, vec![0, -32767])]);
    assert_eq!(array(&archive, "/zeros").fill_value, json!(-32767));

    // Written without fill values, two records in a chunk of four.
    let (left, made) = mixed("/unfilled");
    assert_eq!((left, made.len()), (0, 1));
    let codecs = &array(&archive, "/unfilled").codecs;
    assert_eq!(codecs[1]["name"], "numcodecs.shuffle");
    let mut shuffled = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(made[0].1.as_ref());
    std::io::Read::read_to_end(&mut decoder, &mut shuffled).unwrap();
    let element = |at: usize| [0, 4, 8, 12].map(|plane| shuffled[plane + at]);
    let elements: Vec<_> = (0..4).map(|at| f32::from_le_bytes(element(at))).collect();
    let fill = 9.969_21e36_f32;
    assert_eq!(elements, [1.0, 2.0, fill, fill]);
}

#[tokio::test]
async fn records_that_lag_do_not_move_what_follows() {
    for by_reference in [false, true] {
        for appended in [false, true] {
            let repository = Repository::create(Arc::new(MemoryStorage::new()))
                .await
                .unwrap();
            let mut sources: Vec<Arc<dyn Source>> = Vec::new();
            for name in ["fixture-lagging-0.nc", "fixture-lagging-1.nc"] {
                let (storage, _) = stored(fixture(name)).await;
                let key = Key::parse("file").unwrap();
                let url = format!("s3://bucket/{name}");
                let file = ArchiveFile::open(Arc::new(storage), &key, url).await;
                let archive = read_hdf5(file.unwrap(), Hdf5Options::default()).await;
                sources.push(Arc::new(ArchiveSource::new(name, archive.unwrap())));
            }
            let last = sources.split_off(1);
            let mut imports = vec![Import::new(Arc::clone(&sources[0]))];
            match appended {
                true => imports.push(Import::new(Arc::clone(&last[0])).append("time")),
                false => imports[0] = Import::new(Arc::clone(&sources[0])).concat("time", last),
            }
            for mut import in imports {
                if by_reference {
                    import = import.by_reference([]);
                }
                let done = import.run(&repository, BranchName::main(), "files").await;
                assert!(matches!(done.unwrap().commit, CommitOutcome::Committed(_)));
            }
            let session = repository.read_session(BranchName::main()).await.unwrap();
            assert_eq!(session.array(&path("/v")).unwrap().shape, [10]);
            let chunks = session.chunks(&path("/v")).unwrap();
            let chunks = chunks.map_ok(|chunk| chunk.index[0]);
            let mut found: Vec<u32> = chunks.try_collect().await.unwrap();
            found.sort_unstable();
            assert_eq!(found, [0, 1, 2, 5, 6, 7, 8, 9], "{by_reference} {appended}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_open_for_writing_is_refused() {
    let mut file = fixture("fixture-latest.h5").to_vec();
    // The flags of the superblock, and its checksum.
    assert_eq!((&file[..8], file[8]), (&b"\x89HDF\r\n\x1a\n"[..], 3));
    file[11] = 1;
    let error = read_past_checksums(file).await.unwrap_err();
    assert!(error.to_string().contains("h5clear"), "{error}");
}

#[tokio::test]
async fn what_is_refused_can_be_left_out() {
    let file = fixture("fixture-mask.h5");
    let mut options = Hdf5Options::default();
    for (name, word) in [
        ("/g/outside", "other.h5"),
        ("/g/pair", "compounds"),
        ("/g/v", "bitshuffle"),
    ] {
        match counted(file.clone(), options.clone()).await.0 {
            Err(SourceError::Variable { path, reason, .. }) => {
                assert_eq!(path.as_str(), name);
                assert!(reason.contains(word), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        options = options.with_left_out(path(name));
    }
    let archive = counted(file.clone(), options).await.0.unwrap();
    assert_eq!(archive.nodes.len(), 3);
    let group = Hdf5Options::default().with_left_out(path("/g"));
    let archive = counted(file, group).await.0.unwrap();
    assert_eq!(archive.nodes.len(), 2);
}

#[tokio::test]
async fn headers_are_read_in_few_requests() {
    for (name, most) in [("fixture-netcdf.nc", 1), ("fixture-latest.h5", 1)] {
        let (archive, tally) = counted(fixture(name), Hdf5Options::default()).await;
        archive.unwrap();
        assert_eq!((tally.get, tally.head), (most, 1), "{name}");
    }
    // Nothing behind the headers is read.
    let mut file = fixture("fixture-userblock.h5").to_vec();
    file.resize(40 << 20, 0);
    let (archive, tally) = counted(file.into(), Hdf5Options::default()).await;
    archive.unwrap();
    assert_eq!(tally.get, 1);
    assert!(tally.bytes_read <= 64 << 10, "{}", tally.bytes_read);
}

#[tokio::test]
async fn what_the_store_says_is_said() {
    let (storage, key) = stored(fixture("fixture-netcdf.nc")).await;
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let file = ArchiveFile::open(Arc::clone(&storage), &key, "s3://bucket/file").await;
    let deletions = Box::pin(futures::stream::iter([Deletion::from(key)]));
    let deleted: Vec<_> = futures::StreamExt::collect(storage.delete(deletions)).await;
    assert_eq!(deleted.len(), 1);
    let error = read_hdf5(file.unwrap(), Hdf5Options::default())
        .await
        .unwrap_err();
    assert!(matches!(error, SourceError::NotFound { .. }), "{error}");
}

#[test]
fn a_read_that_is_dropped_ends_its_thread() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().unwrap();
    let (patience, latency) = (Duration::from_millis(5), Duration::from_millis(40));
    runtime.block_on(async {
        let (storage, key) = stored(fixture("fixture-netcdf.nc")).await;
        let slow = LatencyStorage::new(Arc::new(storage), latency);
        let file = ArchiveFile::open(Arc::new(slow), &key, "s3://bucket/file").await;
        let read = read_hdf5(file.unwrap(), Hdf5Options::default());
        assert!(tokio::time::timeout(patience, read).await.is_err());
    });
    // Waits for the thread.
    drop(runtime);
}

#[tokio::test]
async fn other_files_are_refused() {
    for bytes in [&b""[..], b"CDF\x01", b"\x89HDF\r\n\x1a\n", &[0; 5000]] {
        let error = read(Bytes::copy_from_slice(bytes)).await.unwrap_err();
        assert!(matches!(error, SourceError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("no HDF5 file"), "{error}");
    }
}

/// The parts of two answers that must be the same if both are right.
fn essence(archive: &Archive) -> String {
    format!("{:?}", archive.nodes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_file_is_an_error_or_read_right() {
    let step = |length: usize| (length / 300).max(1);
    for name in [
        "fixture-earliest.h5",
        "fixture-latest.h5",
        "fixture-netcdf.nc",
    ] {
        let whole = fixture(name);
        let right = essence(&read(whole.clone()).await.unwrap());
        let mut errors = 0;
        for length in (0..whole.len()).step_by(step(whole.len())) {
            match read(whole.slice(..length)).await {
                Err(SourceError::Damaged { problem, .. }) => {
                    assert!(!problem.contains("impossible"), "{name} cut to {length}");
                    errors += 1;
                }
                Err(error) => panic!("{name} cut to {length}: {error}"),
                Ok(archive) => assert_eq!(essence(&archive), right, "{name} cut to {length}"),
            }
        }
        assert!(errors > 200, "{name}: {errors}");
    }
}

/// A generator of repeatable numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Reads a file, and puts right the checksums that a change has broken, so that what lies behind them is reached.
async fn read_past_checksums(mut file: Vec<u8>) -> Result<Archive, SourceError> {
    for _ in 0..8 {
        let answer = read(file.clone().into()).await;
        let Err(SourceError::Damaged { problem, .. }) = &answer else {
            return answer;
        };
        let sum = |word: &str| {
            let (_, behind) = problem.split_once(word)?;
            u32::from_str_radix(behind.get(..8)?, 16).ok()
        };
        let (Some(stored), Some(right)) = (sum("expected 0x"), sum("got 0x")) else {
            return answer;
        };
        let at = file
            .windows(4)
            .position(|bytes| bytes == stored.to_le_bytes());
        let Some(at) = at else {
            return answer;
        };
        file[at..at + 4].copy_from_slice(&right.to_le_bytes());
    }
    read(file.into()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_bytes_never_stop_the_parser() {
    let rounds = std::env::var("ICEFIELD_HDF5_FLIPS").ok();
    let rounds: usize = rounds.map_or(800, |rounds| rounds.parse().unwrap());
    let mut outcomes = [0; 2];
    let mut files: Vec<PathBuf> = ["earliest.h5", "latest.h5", "netcdf.nc", "userblock.h5"]
        .map(|name| fixtures().join(format!("fixture-{name}")))
        .into();
    if let Some(corpus) = std::env::var_os(CORPUS) {
        // The hostile ones are read for long.
        let is_hostile = |path: &PathBuf| path.to_string_lossy().contains("hostile");
        let small = |path: &PathBuf| path.metadata().unwrap().len() < 100_000 && !is_hostile(path);
        let corpus = std::fs::read_dir(corpus).unwrap();
        files.extend(corpus.map(|entry| entry.unwrap().path()).filter(small));
    }
    for (seed, name) in files.iter().enumerate() {
        let whole = std::fs::read(name).unwrap();
        let name = name.display();
        if whole.is_empty() {
            continue;
        }
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed as u64);
        for round in 0..rounds {
            let mut file = whole.clone();
            for _ in 0..=numbers.next(3) {
                let at = numbers.next(file.len());
                file[at] = match numbers.next(3) {
                    0 => file[at] ^ 1 << numbers.next(8),
                    1 => 0xff,
                    _ => numbers.next(256) as u8,
                };
            }
            match read_past_checksums(file).await {
                Ok(_) => outcomes[0] += 1,
                Err(SourceError::Damaged { problem, .. }) => {
                    let stopped = problem.contains("impossible");
                    assert!(!stopped, "{name}, round {round}");
                    outcomes[1] += 1;
                }
                Err(SourceError::Variable { .. } | SourceError::NodeName { .. }) => {
                    outcomes[1] += 1;
                }
                Err(error) => panic!("{name}, round {round}: {error}"),
            }
        }
    }
    // Neither are all changes harmless, nor all fatal.
    assert!(
        outcomes.iter().all(|count| *count > rounds / 4),
        "{outcomes:?}"
    );
}

/// The decoded filters of `fixture-packed.h5` give the values that h5py reads.
#[cfg(feature = "codecs")]
#[tokio::test]
async fn numbers_that_filters_packed_are_those_of_h5py() {
    let expected: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_slice(&fixture("fixtures.json")).unwrap();
    let name = "fixture-packed.h5";
    let archive = read(fixture(name)).await.unwrap();
    let source = ArchiveSource::new(name, archive);
    assert_eq!(expected[name].len(), 8);
    for (at, expected) in &expected[name] {
        let here = array(source.archive(), at);
        let is_referred = here.not_virtual().is_none();
        assert_eq!(
            is_referred,
            at == "/bzip2",
            "{at}: {:?}",
            here.not_virtual()
        );
        let wanted = match expected["dtype"].as_str().unwrap() {
            ">i2" => "int16",
            ">i4" => "int32",
            other => other,
        };
        assert_eq!(here.data_type, wanted, "{at}");
        let found = crate::common::values::fixed(&source, &path(at)).await;
        assert_eq!(
            crate::common::values::sha256(&found),
            expected["sha256"],
            "{at}"
        );
    }
}

#[tokio::test]
async fn packed_chunks_that_are_damaged_are_errors() {
    let file = fixture("fixture-packed.h5");
    let archive = read(file.clone()).await.unwrap();
    let mut numbers = crate::common::damage::Numbers(3);
    for (at, node) in &archive.nodes {
        let ArchiveNode::Array(array) = node else {
            continue;
        };
        let ArchiveChunks::Recoded {
            extents, recode, ..
        } = &array.chunks
        else {
            continue;
        };
        let element_bytes = array.element_bytes().unwrap();
        let expected = Expected {
            element_bytes,
            chunk_bytes: 20 * element_bytes,
        };
        for row in extents.rows() {
            let chunk = &file[row.offset as usize..][..row.length as usize];
            recode.chunk(row.index, chunk, &expected).unwrap();
            for end in 0..chunk.len() / 2 {
                let cut = recode.chunk(row.index, &chunk[..end], &expected);
                assert!(cut.is_err() || at.as_str() == "/narrow", "{at} {end}");
            }
            for _ in 0..30 {
                let mut chunk = chunk.to_vec();
                numbers.damage(&mut chunk);
                let _any = recode.chunk(row.index, &chunk, &expected);
            }
        }
    }
}

#[tokio::test]
async fn compounds_without_gaps_are_structured() {
    let archive = read(fixture("fixture-compound.h5")).await.unwrap();
    let pairs = array(&archive, "/pairs");
    let text = json!({ "name": "null_terminated_bytes", "configuration": { "length_bytes": 3 } });
    let inner = json!({ "name": "structured", "configuration": { "fields": [["y", "float64"], ["on", "bool"]] } });
    let fields = json!([["x", "int32"], ["in", inner], ["name", text]]);
    let wanted = json!({ "name": "structured", "configuration": { "fields": fields } });
    assert_eq!(pairs.data_type, wanted);
    assert_eq!(pairs.element_bytes(), Some(16));
    assert_eq!(pairs.fill_value, "AAAAAAAAAAAAAAAAAAAAAA==");
    assert_eq!(pairs.not_virtual(), None);
    assert_eq!(pairs.codecs[0], json!({ "name": "bytes" }));
    // With a gap, a big-endian member or an array among them there is no such type.
    let error = read(fixture("fixture-split.h5")).await.unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("compounds") && said.contains("--split-compound"),
        "{said}"
    );
}

#[cfg(feature = "codecs")]
#[tokio::test]
async fn compounds_become_groups_of_their_members() {
    let options = Hdf5Options::default()
        .with_compounds_split(true)
        .with_unsupported_listed(true);
    let archive = counted(fixture("fixture-split.h5"), options)
        .await
        .0
        .unwrap();
    assert_eq!(attributes(&archive, "/tracks")["units"], "m");
    let refused: Vec<&str> = archive
        .unsupported
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(refused, ["/g/ragged/list"]);
    let source = ArchiveSource::new("split", archive);
    for group in ["/tracks", "/g/all"] {
        let at = |name: &str| path(&format!("{group}/{name}"));
        let fixed = async |name: &str| crate::common::values::fixed(&source, &at(name)).await;
        let x: Vec<u8> = (0..5_i32).flat_map(i32::to_le_bytes).collect();
        assert_eq!(fixed("x").await, x);
        let y: Vec<u8> = (0..5)
            .flat_map(|it| (f64::from(it) / 2.0).to_le_bytes())
            .collect();
        assert_eq!(fixed("in/y").await, y);
        assert_eq!(fixed("in/on").await, [0, 1, 0, 1, 0]);
        assert_eq!(fixed("flags").await, [0, 10, 1, 11, 2, 12, 3, 13, 4, 14]);
        assert_eq!(fixed("name").await, *b"a\0\0bb\0ccc\0\0\0e\0\0");
        let flags = array(source.archive(), at("flags").as_str());
        assert_eq!(
            (&*flags.shape, flags.dimension_names.len()),
            (&[5, 2][..], 2)
        );
        assert!(flags.dimension_names.iter().all(Option::is_some));
        assert!(
            flags
                .not_virtual()
                .unwrap()
                .contains("members of compounds")
        );
    }
    let n = array(source.archive(), "/g/ragged/n");
    assert_eq!(n.shape, [2]);
}

//! Slices of arrays: their numbers, and the chunks that are read for them.

use std::sync::Arc;

use icefield_core::{BranchName, Repository, Session};
use icefield_format::SpecVersion;
use icefield_ingest::{ArraySlice, Position, SliceBounds, SliceError, slice};
use icefield_storage::wrap::CountingStorage;
use icefield_storage_memory::MemoryStorage;
use serde_json::json;

use crate::common::numbers::{along_t, bytes, tree, write};
use crate::common::{array, path, repository, run};

const BOUNDS: SliceBounds = SliceBounds {
    rows: 10,
    columns: 10,
    line: 4,
};

async fn read(session: &Session, at: &[(&str, &str)]) -> Result<ArraySlice, SliceError> {
    let at: Vec<(String, Position)> = at
        .iter()
        .map(|(name, position)| ((*name).to_owned(), position.parse().unwrap()))
        .collect();
    slice(session, &path("/x"), &at, BOUNDS, &()).await
}

#[tokio::test]
async fn a_long_dimension_loses_elements_and_the_chunks_between_them() {
    let storage = Arc::new(CountingStorage::new(Arc::new(MemoryStorage::new())));
    let repository = Repository::create(Arc::clone(&storage) as _).await.unwrap();
    let tree = tree();
    let mut document = along_t(
        "int16",
        4000,
        json!({"scale_factor": 0.5, "_FillValue": 2000}),
    );
    document["chunk_grid"]["configuration"]["chunk_shape"] = json!([400]);
    let numbers: Vec<f64> = (0..4000).map(f64::from).collect();
    write(&tree, "x", &document, &numbers);
    write(&tree, "t", &along_t("float64", 4000, json!({})), &numbers);
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    storage.reset();
    let found = read(&session, &[]).await.unwrap();
    assert_eq!(found.numbers[..2], [0.0, 500.0]);
    assert!(found.numbers[2].is_nan());
    assert_eq!(found.numbers[3..], [1500.0]);
    assert_eq!(found.chunks, 4);
    // The numbers of the coordinate are so few in each chunk that manifests hold them.
    assert_eq!(storage.snapshot().of("chunks").get, 4);
    let axis = &found.axes[0];
    assert_eq!((axis.length, axis.step, axis.count), (4000, 1000, 4));
    let coordinate = axis.coordinate.as_ref().unwrap();
    assert_eq!(coordinate.values, [0.0, 1000.0, 2000.0, 3000.0]);
}

#[tokio::test]
async fn chunks_that_are_not_written_have_the_fill_value() {
    for (fill, expected) in [(json!(7), Some(3.5)), (json!(-1), None)] {
        let tree = tree();
        let mut document = along_t("int16", 4, json!({"scale_factor": 0.5, "_FillValue": -1}));
        document["fill_value"] = fill;
        write(&tree, "x", &document, &[2.0, 4.0]);
        let repository = repository().await;
        run(tree.import(), &repository).await;
        let session = repository.read_session(BranchName::main()).await.unwrap();
        let numbers = read(&session, &[]).await.unwrap().numbers;
        assert_eq!(numbers[..2], [1.0, 2.0]);
        assert_eq!(Some(numbers[3]).filter(|it| !it.is_nan()), expected);
    }
}

#[tokio::test]
async fn chunks_of_several_lengths_are_read_where_they_lie() {
    let repository = Repository::builder(Arc::new(MemoryStorage::new()))
        .spec_version(SpecVersion::V2)
        .create()
        .await
        .unwrap();
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [3, 4], "data_type": "int16",
        "chunk_grid": {
            "name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[1, 2], [3, 1]]},
        },
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "dimension_names": ["y", "x"],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    let at = path("/x");
    let overwrite = icefield_core::WriteMode::Overwrite;
    session
        .set_metadata(&at, document.to_string().into(), overwrite)
        .await
        .unwrap();
    for (index, numbers) in [
        ([0, 0], &[0.0, 1.0, 2.0][..]),
        ([0, 1], &[3.0]),
        ([1, 0], &[10.0, 11.0, 12.0, 20.0, 21.0, 22.0]),
        ([1, 1], &[13.0, 23.0]),
    ] {
        session
            .set_chunk(&at, &index, bytes("int16", numbers).into(), overwrite)
            .await
            .unwrap();
    }
    let whole = read(&session, &[]).await.unwrap().numbers;
    assert_eq!(
        whole,
        [
            0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 20.0, 21.0, 22.0, 23.0
        ]
    );
    assert_eq!(
        read(&session, &[("x", "3")]).await.unwrap().numbers,
        [3.0, 13.0, 23.0]
    );
}

#[tokio::test]
async fn coordinates_that_do_not_fit_are_none() {
    let tree = tree();
    write(&tree, "x", &along_t("int16", 4, json!({})), &[1.0; 4]);
    let repository = repository().await;
    // Of another length.
    write(&tree, "t", &along_t("int16", 5, json!({})), &[1.0; 5]);
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let found = read(&session, &[]).await.unwrap();
    assert!(found.axes[0].coordinate.is_none());
    let refused = read(&session, &[("t", "1")]).await.unwrap_err();
    assert!(
        matches!(refused, SliceError::NoAxis { rank: 1, .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn chunks_of_more_elements_than_there_are_numbers_are_no_panic() {
    let repository = repository().await;
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let most = 1_u64 << 33;
    let mut document = array(&[most, most], &[most, most], &["y", "x"]);
    document["data_type"] = json!("int8");
    document["fill_value"] = json!(3);
    document["codecs"] = json!([{"name": "bytes"}]);
    let (at, overwrite) = (path("/x"), icefield_core::WriteMode::Overwrite);
    let document = document.to_string().into();
    session
        .set_metadata(&at, document, overwrite)
        .await
        .unwrap();
    assert_eq!(read(&session, &[]).await.unwrap().numbers, [3.0; 100]);
    let chunk = vec![1; 4].into();
    session
        .set_chunk(&at, &[0, 0], chunk, overwrite)
        .await
        .unwrap();
    let refused = read(&session, &[]).await.unwrap_err();
    assert!(matches!(refused, SliceError::Read(_)), "{refused}");
}

#[tokio::test]
async fn labels_of_single_floats_are_as_short_as_their_type_allows() {
    let tree = tree();
    let mut document = array(&[1, 2], &[1, 2], &["t", "y"]);
    document["data_type"] = json!("int8");
    document["codecs"] = json!([{"name": "bytes"}]);
    tree.json("x/zarr.json", &document);
    let depth = along_t("float32", 1, json!({"units": "m"}));
    write(&tree, "t", &depth, &[0.494025]);
    let repository = repository().await;
    run(tree.import(), &repository).await;
    let session = repository.read_session(BranchName::main()).await.unwrap();
    let found = read(&session, &[("t", "0.494")]).await.unwrap();
    assert_eq!(found.fixed[0].label.as_deref(), Some("0.494025 m"));
}

//! Reading GRIB files. eccodes wrote the fixtures, and `expected.json` is what it reads in them (`interop/grib_corpus.py`).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use icefield_core::NodePath;
use icefield_ingest::{
    Archive, ArchiveChunks, ArchiveFile, ArchiveNode, ArchiveOptions, ArchiveSource, GribProblem,
    Import, ImportError, Overlap, Source, SourceError, read_grib,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Key, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::Value;

use crate::common::damage::Numbers;
use crate::common::{chain, path, refused, repository, run};

mod write;

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/grib")
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(directory().join(format!("{name}.grib2"))).unwrap()
}

fn expected() -> BTreeMap<String, Vec<Value>> {
    let text = fs::read(directory().join("expected.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

async fn file(bytes: &[u8]) -> ArchiveFile {
    file_in(Arc::new(MemoryStorage::new()), bytes).await
}

async fn file_in(storage: Arc<dyn Storage>, bytes: &[u8]) -> ArchiveFile {
    let key = Key::parse("file").unwrap();
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let put = storage.put(&key, bytes.into(), PutMode::Create.into());
    let _ = put.await.unwrap();
    ArchiveFile::open(storage, &key, "x.grib2").await.unwrap()
}

async fn read_with(bytes: &[u8], options: ArchiveOptions) -> Result<Archive, SourceError> {
    read_grib(file(bytes).await, options).await
}

async fn read(bytes: &[u8]) -> Result<Archive, SourceError> {
    read_with(bytes, ArchiveOptions::default()).await
}

async fn source(name: &str) -> Arc<dyn Source> {
    let archive = read(&fixture(name)).await.unwrap();
    Arc::new(ArchiveSource::new(name, archive))
}

/// The problem of a file, the number of its message, and the first byte of that.
async fn problem(bytes: &[u8]) -> (GribProblem, u64, u64) {
    match read(bytes).await.unwrap_err() {
        SourceError::Grib {
            message,
            offset,
            problem,
            ..
        } => (problem, message, offset),
        error => panic!("{error}"),
    }
}

fn array<'a>(archive: &'a Archive, name: &str) -> &'a icefield_ingest::ArchiveArray {
    match archive.nodes.get(&path(&format!("/{name}"))) {
        Some(ArchiveNode::Array(array)) => array,
        _ => panic!("no array {name} among {:?}", archive.nodes.keys()),
    }
}

fn numbers(bytes: &[u8], data_type: &Value) -> Vec<f64> {
    let eight = |it: &[u8; 8]| match data_type.as_str() {
        Some("int64") => i64::from_le_bytes(*it) as f64,
        _ => f64::from_le_bytes(*it),
    };
    match data_type.as_str() {
        Some("float32") => {
            let (parts, _) = bytes.as_chunks::<4>();
            parts
                .iter()
                .map(|it| f32::from_le_bytes(*it).into())
                .collect()
        }
        _ => bytes.as_chunks::<8>().0.iter().map(eight).collect(),
    }
}

/// One chunk of an array, decoded.
async fn chunk(
    source: &dyn Source,
    name: &NodePath,
    index: &[u32],
) -> Result<Vec<f64>, SourceError> {
    let hierarchy = source.hierarchy().await?;
    let node = &hierarchy.nodes[name];
    let array = node.array().unwrap();
    let bytes = source.read_chunk(name, array, index, 0).await?;
    let document: Value = serde_json::from_slice(node.document()).unwrap();
    let is_compressed = document["codecs"].as_array().unwrap().len() > 1;
    let bytes = match is_compressed {
        true => zstd::bulk::decompress(&bytes, 1 << 24).unwrap(),
        false => bytes.to_vec(),
    };
    Ok(numbers(&bytes, &document["data_type"]))
}

/// All values of an array that has one chunk.
async fn whole(source: &dyn Source, name: &str) -> Vec<f64> {
    let name = path(&format!("/{name}"));
    let hierarchy = source.hierarchy().await.unwrap();
    let rank = hierarchy.nodes[&name].array().unwrap().shape.len();
    chunk(source, &name, &vec![0; rank]).await.unwrap()
}

/// A field as it is read.
struct Field {
    path: NodePath,
    index: Vec<u32>,
    is_single: bool,
    values: Vec<f64>,
}

/// All fields, in the order of the file.
async fn fields(archive: &Archive) -> Result<Vec<Field>, SourceError> {
    let source = ArchiveSource::new("x.grib2", archive.clone());
    let mut found = Vec::new();
    for (path, node) in &archive.nodes {
        let ArchiveNode::Array(array) = node else {
            continue;
        };
        let ArchiveChunks::Recoded { extents, .. } = &array.chunks else {
            continue;
        };
        for row in extents.rows() {
            let values = chunk(&source, path, row.index).await?;
            let field = Field {
                path: path.clone(),
                index: row.index.to_vec(),
                is_single: array.data_type == "float32",
                values,
            };
            found.push((row.offset + row.length, field));
        }
    }
    found.sort_by_key(|(end, _)| *end);
    Ok(found.into_iter().map(|(_, field)| field).collect())
}

fn values(field: &Value, name: &str) -> Vec<f64> {
    let values = field[name].as_array().unwrap().iter();
    values.map(|it| it.as_f64().unwrap_or(f64::NAN)).collect()
}

/// The same bits, or both missing.
fn is_same(found: f64, wanted: f64, is_single: bool) -> bool {
    let wanted = match is_single {
        true => f64::from(wanted as f32),
        false => wanted,
    };
    found == wanted || (found.is_nan() && wanted.is_nan())
}

#[tokio::test]
async fn every_value_is_that_of_eccodes() {
    let (mut messages, mut doubles) = (0, 0);
    for (name, wanted) in expected() {
        if name.starts_with("grid_") || name == "twice" {
            continue;
        }
        let archive = read(&fixture(&name)).await.unwrap();
        let found = fields(&archive).await.unwrap();
        assert_eq!(found.len(), wanted.len(), "{name}");
        for (field, wanted) in found.iter().zip(&wanted) {
            let all = values(wanted, "values");
            assert_eq!(field.values.len(), all.len(), "{name}");
            let same = field.values.iter().zip(&all);
            for (at, (one, other)) in same.enumerate() {
                assert!(
                    is_same(*one, *other, field.is_single),
                    "{name} {} {:?}, value {at}: {one} {other}",
                    field.path,
                    field.index,
                );
            }
            messages += 1;
            doubles += usize::from(!field.is_single);
        }
    }
    assert!(messages >= 60, "{messages}");
    // Of the packings with 31 bits and in 64.
    assert_eq!(doubles, 6);
}

/// The latitude and longitude of each element.
async fn places(source: &dyn Source, shape: &[u64]) -> Vec<(f64, f64)> {
    let (latitudes, longitudes) = (
        whole(source, "latitude").await,
        whole(source, "longitude").await,
    );
    let count: u64 = shape.iter().product();
    if latitudes.len() as u64 == count && longitudes.len() as u64 == count {
        return latitudes.into_iter().zip(longitudes).collect();
    }
    let row = |latitude: &f64| -> Vec<(f64, f64)> {
        longitudes
            .iter()
            .map(|longitude| (*latitude, *longitude))
            .collect()
    };
    latitudes.iter().flat_map(row).collect()
}

#[tokio::test]
async fn every_value_is_where_eccodes_has_it() {
    let mut grids = 0;
    for (name, wanted) in expected() {
        // eccodes turns the rows of the last one over, and not their places.
        let is_judged = !wanted[0]["latitudes"].is_null() && name != "grid_lambert_southward";
        if !name.starts_with("grid_") || !is_judged {
            continue;
        }
        let archive = read(&fixture(&name)).await.unwrap();
        let source = ArchiveSource::new("x", archive.clone());
        let shape = &array(&archive, "t").shape[3..];
        let field = fields(&archive).await.unwrap().remove(0);
        let places = places(&source, shape).await;
        assert_eq!(places.len(), field.values.len(), "{name}");
        let wanted = &wanted[0];
        let wanted_values = values(wanted, "placed");
        let wanted_places = values(wanted, "latitudes")
            .into_iter()
            .zip(values(wanted, "longitudes"));
        for ((latitude, longitude), value) in wanted_places.zip(wanted_values) {
            let turn = |it: f64| (it - longitude + 180.0).rem_euclid(360.0) - 180.0;
            let near = |place: &(f64, f64)| {
                (place.0 - latitude).abs() < 2e-6 && turn(place.1).abs() < 2e-6
            };
            let at = places.iter().position(near);
            let at = at
                .unwrap_or_else(|| panic!("{name}: nothing at {latitude} {longitude}: {places:?}"));
            assert!(is_same(field.values[at], value, true), "{name} {at}");
        }
        grids += 1;
    }
    assert_eq!(grids, 17);
}

#[tokio::test]
async fn coordinates_run_as_the_points_come() {
    let latitudes =
        |name: &'static str| async move { whole(&*source(name).await, "latitude").await };
    let longitudes =
        |name: &'static str| async move { whole(&*source(name).await, "longitude").await };
    assert_eq!(latitudes("grid_regular").await, [60.0, 50.0, 40.0, 30.0]);
    assert_eq!(latitudes("grid_northward").await, [30.0, 40.0, 50.0, 60.0]);
    let east = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0];
    assert_eq!(longitudes("grid_columns").await, east);
    assert_eq!(longitudes("grid_back_and_forth").await, east);
    let west = [30.0, 25.0, 20.0, 15.0, 10.0, 5.0];
    assert_eq!(longitudes("grid_westward").await, west);
    let across = [-10.0, -5.0, 0.0, 5.0, 10.0, 15.0];
    assert_eq!(longitudes("grid_across").await, across);
    let half = [-180.0, -120.0, -60.0, 0.0, 60.0, 120.0];
    assert_eq!(longitudes("grid_half").await, half);
    let gaussian = latitudes("grid_gaussian").await;
    assert!(gaussian.is_sorted_by(|a, b| a > b) && gaussian.len() == 8);
}

#[tokio::test]
async fn projections_are_those_of_cf() {
    for (name, mapping, radius) in [
        ("lambert", "lambert_conformal_conic", Some("earth_radius")),
        (
            "lambert_ellipsoid",
            "lambert_conformal_conic",
            Some("semi_minor_axis"),
        ),
        ("polar_south", "polar_stereographic", Some("earth_radius")),
        (
            "polar_ellipsoid",
            "polar_stereographic",
            Some("semi_minor_axis"),
        ),
        ("mercator", "mercator", Some("earth_radius")),
        ("rotated", "rotated_latitude_longitude", None),
    ] {
        let archive = read(&fixture(&format!("grid_{name}"))).await.unwrap();
        let crs = &array(&archive, "crs").attributes;
        assert_eq!(crs["grid_mapping_name"], mapping);
        assert!(radius.is_none_or(|it| crs[it].is_f64()), "{name} {crs:?}");
        let t = array(&archive, "t");
        assert_eq!(t.attributes["grid_mapping"], "crs");
        assert_eq!(t.attributes["coordinates"], "valid_time latitude longitude");
        let names: Vec<_> = t.dimension_names.iter().flatten().collect();
        assert_eq!(names, ["time", "step", "isobaricInhPa", "y", "x"]);
        assert_eq!(array(&archive, "latitude").shape, [4, 6]);
    }
    let southward = source("grid_lambert_southward").await;
    let latitudes = whole(&*southward, "latitude").await;
    assert!((latitudes[0] - 42.5).abs() < 1e-9 && latitudes[18] < latitudes[0]);
    let values = chunk(&*southward, &path("/t"), &[0; 5]).await.unwrap();
    assert_eq!(values[0], 273.0);
    let x = whole(&*source("grid_lambert").await, "x").await;
    assert!(
        x.windows(2)
            .all(|it| (it[1] - it[0] - 25_000.0).abs() < 1e-6)
    );
}

#[tokio::test]
async fn a_forecast_becomes_hypercubes() {
    let archive = read(&fixture("forecast")).await.unwrap();
    let names: Vec<&str> = archive.nodes.keys().map(|it| it.as_str()).collect();
    let wanted = [
        "/",
        "/isobaricInhPa",
        "/latitude",
        "/longitude",
        "/msl",
        "/step",
        "/t",
        "/t2m",
        "/time",
        "/tp",
        "/u10",
        "/valid_time",
    ];
    assert_eq!(names, wanted);
    assert_eq!(array(&archive, "t").shape, [2, 2, 3, 4, 6]);
    assert_eq!(array(&archive, "t").chunk_shape, [1, 1, 1, 4, 6]);
    assert_eq!(array(&archive, "t2m").shape, [2, 2, 4, 6]);
    let attributes = &array(&archive, "t2m").attributes;
    assert_eq!(attributes["standard_name"], "air_temperature");
    assert_eq!(attributes["GRIB_typeOfLevel"], "heightAboveGround");
    assert_eq!(attributes["GRIB_level"], 2.0);
    assert_eq!(
        array(&archive, "tp").attributes["cell_methods"],
        "step: sum"
    );
    let source = source("forecast").await;
    assert_eq!(
        whole(&*source, "isobaricInhPa").await,
        [1000.0, 850.0, 500.0]
    );
    assert_eq!(whole(&*source, "step").await, [0.0, 21_600.0]);
    let time = 1_709_164_800.0;
    assert_eq!(whole(&*source, "time").await, [time, time + 43_200.0]);
    let valid = [time, time + 21_600.0, time + 43_200.0, time + 64_800.0];
    assert_eq!(whole(&*source, "valid_time").await, valid);
    // Nothing has fallen at the beginning.
    let said = "x.grib2: tp has 2 of 4 messages, and is missing where there are none: first at time 2024-02-29T00:00:00, step 0 h";
    assert_eq!(archive.warnings, [said]);
}

#[tokio::test]
async fn members_are_a_dimension() {
    let archive = read(&fixture("ensemble")).await.unwrap();
    let gh = array(&archive, "gh");
    assert_eq!(gh.shape, [3, 1, 2, 1, 4, 6]);
    assert_eq!(gh.dimension_names[0].as_deref(), Some("number"));
    assert_eq!(
        whole(&*source("ensemble").await, "number").await,
        [0.0, 1.0, 2.0]
    );
}

#[tokio::test]
async fn what_would_have_one_name_is_told_apart() {
    let archive = read(&fixture("surfaces")).await.unwrap();
    for name in ["t_isobaricInhPa", "t_surface", "param0_0_99"] {
        let _ = array(&archive, name);
    }
    let archive = read(&fixture("two_grids")).await.unwrap();
    assert_eq!(array(&archive, "t_isobaricInhPa").shape.len(), 5);
    let other = array(&archive, "t_isobaricInhPa_grid2");
    let names: Vec<_> = other.dimension_names.iter().flatten().collect();
    assert_eq!(names, ["time", "step", "isobaricInhPa", "y_2", "x_2"]);
    assert_eq!(
        other.attributes["coordinates"],
        "valid_time latitude_2 longitude_2"
    );
    assert_eq!(array(&archive, "latitude").shape, [4]);
    assert_eq!(array(&archive, "latitude_2").shape, [4, 6]);
}

#[tokio::test]
async fn layers_have_bounds() {
    let archive = read(&fixture("layers")).await.unwrap();
    let layers = array(&archive, "depthBelowLandLayer");
    assert_eq!(layers.attributes["bounds"], "depthBelowLandLayer_bounds");
    let source = source("layers").await;
    assert_eq!(whole(&*source, "depthBelowLandLayer").await, [0.0, 0.1]);
    let bounds = whole(&*source, "depthBelowLandLayer_bounds").await;
    assert_eq!(bounds, [0.0, 0.1, 0.1, 0.4]);
}

#[tokio::test]
async fn a_missing_message_is_a_missing_chunk() {
    let archive = read(&fixture("gap")).await.unwrap();
    assert_eq!(array(&archive, "t").shape, [1, 2, 2, 4, 6]);
    assert_eq!(fields(&archive).await.unwrap().len(), 3);
    let said = "x.grib2: t has 3 of 4 messages, and is missing where there are none: first at time 2024-02-29T06:00:00, step 6 h, isobaricInhPa 850";
    assert_eq!(archive.warnings, [said]);
}

#[tokio::test]
async fn one_of_two_messages_is_chosen() {
    let bytes = fixture("twice");
    let (found, message, offset) = problem(&bytes).await;
    assert_eq!((message, offset), (2, bytes.len() as u64 / 2));
    let GribProblem::Duplicate { variable, earlier } = found else {
        panic!("{found}");
    };
    assert_eq!((variable.as_str(), earlier), ("t", 1));
    for (duplicates, wanted) in [(Overlap::First, 0), (Overlap::Last, 1)] {
        let options = ArchiveOptions {
            duplicates,
            ..ArchiveOptions::default()
        };
        let archive = read_with(&bytes, options).await.unwrap();
        let found = fields(&archive).await.unwrap();
        assert_eq!(found.len(), 1);
        let wanted = values(&expected()["twice"][wanted], "values");
        let mut same = found[0].values.iter().zip(&wanted);
        assert!(same.all(|(one, other)| is_same(*one, *other, true)));
        let said = "x.grib2: 1 message was left out, for another one of its place";
        assert_eq!(archive.warnings, [said]);
    }
}

#[tokio::test]
async fn files_go_behind_one_another() {
    let mut sources = Vec::new();
    for name in ["time_0", "time_1", "time_2"] {
        sources.push(source(name).await);
    }
    let repository = repository().await;
    let mut sources = sources.into_iter();
    let first = sources.next().unwrap();
    let last = sources.next_back().unwrap();
    let report = run(Import::new(first).concat("time", sources), &repository).await;
    assert_eq!(report.new_arrays, 7);
    let report = run(Import::new(last).append("time"), &repository).await;
    assert!(report.extended_arrays.contains(&path("/t")), "{report:?}");
    let session = repository
        .read_session(icefield_core::BranchName::main())
        .await
        .unwrap();
    assert_eq!(session.array(&path("/t")).unwrap().shape, [3, 1, 2, 4, 6]);
    assert_eq!(session.array(&path("/valid_time")).unwrap().shape, [3, 1]);
    for (time, name) in ["time_0", "time_1", "time_2"].into_iter().enumerate() {
        let wanted = values(&expected()[name][0], "values");
        // The first message is that of 850 hPa, the first of the levels.
        let index = [time as u32, 0, 0, 0, 0];
        let all = icefield_core::ByteRange::All;
        let bytes = session
            .chunk(&path("/t"), &index, all)
            .await
            .unwrap()
            .unwrap();
        let bytes = zstd::bulk::decompress(&bytes, 1000).unwrap();
        let found = numbers(&bytes, &"float32".into());
        assert!(
            found
                .iter()
                .zip(&wanted)
                .all(|(one, other)| is_same(*one, *other, true)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn steps_go_behind_one_another() {
    let (first, second) = (source("step_0").await, source("step_1").await);
    let repository = repository().await;
    run(Import::new(first).concat("step", [second]), &repository).await;
    let session = repository
        .read_session(icefield_core::BranchName::main())
        .await
        .unwrap();
    assert_eq!(session.array(&path("/t")).unwrap().shape, [1, 2, 2, 4, 6]);
    assert_eq!(session.array(&path("/valid_time")).unwrap().shape, [1, 2]);
}

#[tokio::test]
async fn nothing_refers_to_a_packed_field() {
    let repository = repository().await;
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let key = Key::parse("file").unwrap();
    let bytes = bytes::Bytes::from(fixture("grid_regular"));
    let put = storage.put(&key, bytes.into(), PutMode::Create.into());
    let _ = put.await.unwrap();
    let file = ArchiveFile::open(storage, &key, "file:///data/x.grib2").await;
    let archive = read_grib(file.unwrap(), ArchiveOptions::default())
        .await
        .unwrap();
    let import = Import::new(Arc::new(ArchiveSource::new("x", archive))).by_reference([]);
    let error = refused(import, &repository).await;
    assert!(matches!(error, ImportError::NotVirtual { .. }), "{error:?}");
    assert!(chain(&error).contains("no codec of Zarr undoes"), "{error}");
}

#[tokio::test]
async fn what_is_not_read_is_named() {
    // Of edition 1, as its first eight bytes say.
    let (found, message, offset) = problem(b"GRIB\x00\x01\x00\x01and so on......").await;
    assert_eq!(found, GribProblem::Edition { edition: 1 });
    assert_eq!((message, offset), (1, 0));
    assert!(found.to_string().contains("grib_set"), "{found}");

    let good = fixture("grid_regular");
    // The template numbers of sections 3, 4 and 5, and the bitmap indicator.
    let sections = write::sections(&good);
    for (section, at, template) in [(3, 12, 90), (4, 7, 31), (5, 9, 50)] {
        let mut bad = good.clone();
        bad[sections[&section] + at + 1] = template;
        let both = [good.clone(), bad].concat();
        let (found, message, offset) = problem(&both).await;
        let number = template.into();
        assert_eq!(found, GribProblem::Template { section, number });
        assert_eq!((message, offset), (2, good.len() as u64));

        let options = ArchiveOptions {
            lists_unsupported: true,
            ..ArchiveOptions::default()
        };
        let archive = read_with(&both, options).await.unwrap();
        assert_eq!(archive.unsupported.len(), 1);
        assert_eq!(archive.unsupported[0].path, path("/t_unsupported"));
        let said = format!("message 2 of x.grib2, at byte {}", good.len());
        assert!(archive.unsupported[0].reason.contains(&said));
        let _ = array(&archive, "t");
    }
    let mut predefined = good.clone();
    predefined[sections[&6] + 5] = 3;
    let (found, ..) = problem(&predefined).await;
    assert!(
        matches!(found, GribProblem::Unsupported { section: 6, .. }),
        "{found}"
    );
}

#[tokio::test]
async fn coordinates_that_do_not_fit_are_refused() {
    let mut bad = fixture("grid_regular");
    let sections = write::sections(&bad);
    // One row of 200 million points: a longitude for each would take more than a gigabyte.
    let points = 200_000_000_u32.to_be_bytes();
    let at = sections[&3];
    bad[at + 6..at + 10].copy_from_slice(&points);
    bad[at + 30..at + 34].copy_from_slice(&points);
    bad[at + 34..at + 38].copy_from_slice(&1_u32.to_be_bytes());
    let (found, message, _) = problem(&bad).await;
    assert_eq!(message, 1);
    assert!(
        matches!(found, GribProblem::Unsupported { section: 3, .. }),
        "{found:?}"
    );
}

#[tokio::test]
async fn lengths_that_lie_are_refused() {
    let good = fixture("grid_regular");
    let all = [good.clone(), good.clone()].concat();
    let first = good.len();
    let sections = write::sections(&good);
    let with = |at: usize, value: &[u8]| {
        let mut bad = all.clone();
        bad[first + at..first + at + value.len()].copy_from_slice(value);
        bad
    };
    for (bad, is_it) in [
        (with(8, &[0, 0, 0, 1]), "Truncated"),
        (with(12, &[0, 0, 0, 19]), "Length"),
        (with(15, &[good[15] - 1]), "SectionLength"),
        (with(15, &[good[15] - 53]), "Length"),
        (with(sections[&4], &[0, 0, 0, 4]), "SectionLength"),
        (with(sections[&7], &[0, 1, 0, 0]), "SectionLength"),
        (with(sections[&4] + 4, &[6]), "Order"),
        (with(sections[&3] + 6, &[0, 0, 0, 23]), "Damaged"),
        (with(sections[&5] + 5, &[0, 0, 0, 23]), "Damaged"),
    ] {
        let (found, message, offset) = problem(&bad).await;
        assert_eq!((message, offset), (2, first as u64));
        assert!(
            format!("{found:?}").starts_with(is_it),
            "{is_it}: {found:?}"
        );
    }
    // More bits than there are are found when the field is decoded.
    let archive = read(&with(sections[&5] + 19, &[30])[first..])
        .await
        .unwrap();
    let error = fields(&archive).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(
            &error,
            SourceError::Grib {
                message: 1,
                offset: 0,
                problem: GribProblem::SectionShort { section: 7, .. },
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_file_cut_anywhere_is_an_error_or_whole_messages() {
    for name in ["fields", "step_0", "packing_jpeg"] {
        let bytes = fixture(name);
        let mut ends = vec![0];
        while let Some(head) = bytes
            .get(*ends.last().unwrap()..)
            .filter(|it| it.len() > 16)
        {
            let length = u64::from_be_bytes(head[8..16].try_into().unwrap()) as usize;
            ends.push(ends.last().unwrap() + length);
        }
        for length in 0..bytes.len() {
            let found = read(&bytes[..length]).await;
            let end = ends.iter().rev().find(|it| **it <= length).unwrap();
            // Less than four letters are no beginning of a message.
            let is_whole = *end > 0 && length - end < 4;
            assert_eq!(found.is_ok(), is_whole, "{name} {length}: {found:?}");
        }
    }
}

#[tokio::test]
async fn other_bytes_lie_between_messages() {
    let good = fixture("grid_regular");
    let bytes = [
        b"\r\r\nHEADER OF A BULLETIN\r\r\n",
        &good[..],
        &[0; 100_000],
    ]
    .concat();
    let archive = read(&bytes).await.unwrap();
    assert_eq!(
        archive.warnings,
        ["x.grib2: 100026 bytes belong to no GRIB message"]
    );
    assert_eq!(fields(&archive).await.unwrap().len(), 1);
    assert!(read(&[b' '; 1000]).await.is_err());
    assert!(read(b"").await.is_err());
}

#[tokio::test]
async fn damage_is_an_error_or_is_read() {
    let mut numbers = Numbers(20_240_229);
    let mut read_all = 0;
    for entry in fs::read_dir(directory()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".grib2") else {
            continue;
        };
        let good = fixture(name);
        for _ in 0..60 {
            let mut bad = good.clone();
            numbers.damage(&mut bad);
            let Ok(archive) = read(&bad).await else {
                continue;
            };
            if fields(&archive).await.is_ok() {
                read_all += 1;
            }
        }
    }
    assert!(read_all > 100, "{read_all}");
}

#[tokio::test]
async fn data_are_not_read_to_find_them() {
    let storage = Arc::new(CountingStorage::new(Arc::new(MemoryStorage::new())));
    let mut bytes = Vec::new();
    let (columns, rows, count) = (500, 300, 20);
    for step in 0..count {
        bytes.extend(write::field(columns, rows, step));
    }
    let file = file_in(
        Arc::<CountingStorage>::clone(&storage) as Arc<dyn Storage>,
        &bytes,
    )
    .await;
    storage.reset();
    let archive = read_grib(file, ArchiveOptions::default()).await.unwrap();
    let read = storage.snapshot().total;
    assert_eq!(array(&archive, "t").shape, [1, 20, 1, 300, 500]);
    // The headers of a message are read with the end of the one before.
    assert!(read.get <= u64::from(count) + 2, "{read:?}");
    assert!(
        read.bytes_read < bytes.len() as u64 / 30,
        "{read:?} of {}",
        bytes.len()
    );
    let source = ArchiveSource::new("x", archive);
    let values = chunk(&source, &path("/t"), &[0, 3, 0, 0, 0]).await.unwrap();
    assert_eq!(values.len(), 150_000);
    assert_eq!(values[7], 280.0);
}

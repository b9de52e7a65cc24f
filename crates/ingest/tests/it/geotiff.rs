//! TIFF files. Those of fixtures were written by GDAL (`interop/archive_tiff.py`), and rasterio says what is in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use icefield_ingest::{
    Archive, ArchiveArray, ArchiveChunks, ArchiveFile, ArchiveNode, ArchiveOptions, ArchiveSource,
    Overviews, SourceError, read_geotiff,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Key, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};

use crate::common::{damage, path, said, values};

fn fixture(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/geotiff");
    std::fs::read(directory.join(name)).unwrap()
}

async fn opened(bytes: Vec<u8>) -> (CountingStorage, ArchiveFile) {
    let storage = CountingStorage::new(Arc::new(MemoryStorage::new()));
    let key = Key::parse("t.tif").unwrap();
    let put = storage.put(&key, bytes.into(), PutMode::Overwrite.into());
    let _ = put.await.unwrap();
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let file = ArchiveFile::open(shared, &key, "s3://b/t.tif").await;
    (storage, file.unwrap())
}

async fn read_with(bytes: Vec<u8>, overviews: Overviews) -> Result<Archive, SourceError> {
    let options = ArchiveOptions {
        overviews,
        ..ArchiveOptions::default()
    };
    read_geotiff(opened(bytes).await.1, options).await
}

pub(crate) async fn read(bytes: Vec<u8>) -> Result<Archive, SourceError> {
    read_with(bytes, Overviews::All).await
}

fn array<'a>(archive: &'a Archive, name: &str) -> &'a ArchiveArray {
    match &archive.nodes[&path(name)] {
        ArchiveNode::Array(array) => array,
        ArchiveNode::Group(_) => panic!("{name} is a group"),
    }
}

async fn floats(source: &ArchiveSource, name: &str) -> Vec<f64> {
    let bytes = values::fixed(source, &path(name)).await;
    let floats = bytes.chunks_exact(8);
    floats
        .map(|it| f64::from_le_bytes(it.try_into().unwrap()))
        .collect()
}

/// Fields of one directory, little-endian: tag, type and values. Bytes follow them.
fn file(fields: &[(u16, u16, &[u32])], data: &[u8]) -> Vec<u8> {
    let mut file = b"II*\0\x08\0\0\0".to_vec();
    file.extend((fields.len() as u16).to_le_bytes());
    let mut behind = Vec::new();
    let end = 8 + 2 + 12 * fields.len() + 4;
    for (tag, kind, numbers) in fields {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend((numbers.len() as u32).to_le_bytes());
        let encoded: Vec<u8> = match kind {
            3 => numbers
                .iter()
                .flat_map(|it| (*it as u16).to_le_bytes())
                .collect(),
            _ => numbers.iter().flat_map(|it| it.to_le_bytes()).collect(),
        };
        if encoded.len() <= 4 {
            let mut encoded = encoded;
            encoded.resize(4, 0);
            file.extend(encoded);
        } else {
            file.extend(((end + behind.len()) as u32).to_le_bytes());
            behind.extend(encoded);
        }
    }
    file.extend([0; 4]);
    file.extend(behind);
    file.extend(data);
    file
}

/// An image of 4 times 4 bytes in one strip at the end of a file, with other fields in the place of some.
pub(crate) fn image(others: &[(u16, u16, &[u32])], data: &[u8]) -> Vec<u8> {
    let mut fields: BTreeMap<u16, (u16, Vec<u32>)> = BTreeMap::new();
    for (tag, kind, numbers) in [
        (256, 3, &[4][..]),
        (257, 3, &[4]),
        (258, 3, &[8]),
        (259, 3, &[1]),
        (262, 3, &[1]),
        (273, 4, &[0]),
        (279, 4, &[data.len() as u32]),
    ]
    .iter()
    .chain(others)
    {
        fields.insert(*tag, (*kind, numbers.to_vec()));
    }
    let all = |fields: &BTreeMap<u16, (u16, Vec<u32>)>| {
        let fields: Vec<(u16, u16, &[u32])> = fields
            .iter()
            .map(|(tag, (kind, numbers))| (*tag, *kind, numbers.as_slice()))
            .collect();
        file(&fields, data)
    };
    let length = all(&fields).len();
    if !others.iter().any(|it| it.0 == 273) {
        let at = (length - data.len()) as u32;
        fields.insert(273, (4, vec![at]));
    }
    all(&fields)
}

#[tokio::test]
async fn values_are_those_of_gdal() {
    let expected: BTreeMap<String, Value> =
        serde_json::from_slice(&fixture("expected.json")).unwrap();
    assert_eq!(expected.len(), 12);
    for (name, expected) in expected {
        let archive = read(fixture(&name)).await.unwrap();
        let source = ArchiveSource::new(name.clone(), archive);
        let array = array(source.archive(), "/band_data");
        assert_eq!(json!(array.shape), expected["shape"], "{name}");
        assert_eq!(array.data_type, expected["dtype"], "{name}");
        let found = values::fixed(&source, &path("/band_data")).await;
        if let Some(bands) = expected["first"].as_array() {
            // Decoders of JPEG round in their own ways.
            for (band, wanted) in bands.iter().enumerate() {
                for (at, wanted) in wanted.as_array().unwrap().iter().enumerate() {
                    let found = i64::from(found[band * 32 * 32 + at]);
                    let difference = found - wanted.as_i64().unwrap();
                    assert!(difference.abs() <= 6, "{name}: {found} {wanted}");
                }
            }
            continue;
        }
        assert_eq!(values::sha256(&found), expected["sha256"], "{name}");
    }
}

#[tokio::test]
async fn what_codecs_say_is_referred_to() {
    for (name, reason) in [
        ("plain.tif", None),
        ("strips.tif", None),
        ("separate.tif", None),
        ("packbits.tif", Some("PackBits")),
        ("lzw.tif", Some("LZW")),
        ("floating.tif", Some("predictor")),
        ("bits.tif", Some("1 bits")),
        ("jpeg.tif", Some("JPEG")),
        ("cog.tif", None),
    ] {
        let archive = read(fixture(name)).await.unwrap();
        let found = array(&archive, "/band_data").not_virtual();
        match (found, reason) {
            (None, None) => {}
            (Some(found), Some(word)) => assert!(found.contains(word), "{name}: {found}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    // The last of three strips has four rows of eight: it is made as long as the others.
    let archive = read(fixture("strips.tif")).await.unwrap();
    let strips = array(&archive, "/band_data");
    let ArchiveChunks::Mixed { extents, made } = &strips.chunks else {
        panic!("{:?}", strips.chunks);
    };
    assert_eq!((extents.len(), made.len()), (2, 1));
    assert_eq!(*made[0].0, [2, 0]);
    // Samples of a pixel lie behind one another.
    let archive = read(fixture("plain.tif")).await.unwrap();
    let plain = array(&archive, "/band_data");
    assert_eq!(
        (&*plain.shape, &*plain.chunk_shape),
        (&[2, 20, 18][..], &[2, 16, 16][..])
    );
    assert_eq!(
        plain.codecs[0],
        json!({ "name": "transpose", "configuration": { "order": [1, 2, 0] } })
    );
    let names: Vec<&str> = plain
        .dimension_names
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    assert_eq!(names, ["band", "y", "x"]);
    // Tiles that were never written.
    let archive = read(fixture("sparse.tif")).await.unwrap();
    let sparse = array(&archive, "/band_data");
    assert!(matches!(&sparse.chunks, ArchiveChunks::InFiles(extents) if extents.is_empty()));
    assert_eq!(
        (&sparse.fill_value, &sparse.attributes["_FillValue"]),
        (&json!(7), &json!(7))
    );
}

#[tokio::test]
async fn a_cloud_optimised_file_is_read_in_one_request() {
    let (storage, file) = opened(fixture("cog.tif")).await;
    let archive = read_geotiff(file, ArchiveOptions::default()).await.unwrap();
    assert_eq!(storage.snapshot().total.get, 1);
    let names: Vec<String> = archive.nodes.keys().map(ToString::to_string).collect();
    let below = ["band", "band_data", "spatial_ref", "x", "y"];
    let mut wanted = vec!["/".to_owned()];
    wanted.extend(below.map(|it| format!("/{it}")));
    wanted.push("/overviews/1".to_owned());
    wanted.extend(below.map(|it| format!("/overviews/1/{it}")));
    wanted.sort();
    let mut found = names.clone();
    found.retain(|it| it != "/overviews");
    found.sort();
    assert_eq!(found, wanted);

    let image = array(&archive, "/band_data");
    assert_eq!(image.fill_value, json!(-120));
    let attributes = json!(image.attributes);
    assert_eq!(attributes["scale_factor"], json!(0.5));
    assert_eq!(attributes["add_offset"], json!(10.0));
    assert_eq!(
        (&attributes["units"], &attributes["AREA"]),
        (&json!("K"), &json!("here"))
    );
    assert_eq!(
        attributes["bands"][1],
        json!({ "WAVE": "long", "long_name": "blue" })
    );
    assert_eq!(attributes["grid_mapping"], "spatial_ref");
    let ArchiveNode::Group(root) = &archive.nodes[&path("/")] else {
        panic!("an array");
    };
    assert_eq!(root["TIFFTAG_SOFTWARE"], "a test");
    assert_eq!(
        root["multiscales"][0]["datasets"][1],
        json!({ "path": "overviews/1/band_data", "scale": { "x": 2.0, "y": 2.0 } })
    );
    let mapping = &array(&archive, "/spatial_ref").attributes;
    assert_eq!(mapping["spatial_ref"], "EPSG:32633");
    assert_eq!(mapping["GeoTransform"], "399960 10 0 5300040 0 -20");
    assert_eq!(mapping["ProjectedCRSGeoKey"], 32633);

    let source = ArchiveSource::new("cog", archive);
    assert_eq!(floats(&source, "/x").await[..2], [399_965.0, 399_975.0]);
    assert_eq!(floats(&source, "/y").await[..2], [5_300_030.0, 5_300_010.0]);
    assert_eq!(
        floats(&source, "/overviews/1/x").await[..2],
        [399_970.0, 399_990.0]
    );
    let attributes = json!(array(source.archive(), "/y").attributes);
    let wanted =
        json!({ "standard_name": "projection_y_coordinate", "units": "metre", "axis": "Y" });
    assert_eq!(attributes, wanted);
}

#[tokio::test]
async fn overviews_are_chosen() {
    let without = read_with(fixture("cog.tif"), Overviews::None)
        .await
        .unwrap();
    assert_eq!(without.nodes.len(), 6);
    let one = read_with(fixture("cog.tif"), Overviews::Level(1))
        .await
        .unwrap();
    assert_eq!(array(&one, "/band_data").shape, [2, 20, 18]);
    let error = read_with(fixture("cog.tif"), Overviews::Level(2)).await;
    let said = said::said(&error.unwrap_err());
    assert!(said.contains("it has 1 overviews, and number 2"), "{said}");
}

#[tokio::test]
async fn pixels_are_where_the_file_says() {
    let archive = read(fixture("point.tif")).await.unwrap();
    let source = ArchiveSource::new("point", archive);
    assert_eq!(floats(&source, "/x").await[..2], [-9.75, -9.25]);
    assert_eq!(floats(&source, "/y").await[..2], [49.875, 49.625]);
    let x = json!(array(source.archive(), "/x").attributes);
    assert_eq!(
        x,
        json!({ "standard_name": "longitude", "units": "degrees_east", "axis": "X" })
    );
    let mapping = &array(source.archive(), "/spatial_ref").attributes;
    assert_eq!(
        (&mapping["grid_mapping_name"], &mapping["spatial_ref"]),
        (&json!("latitude_longitude"), &json!("EPSG:4326"))
    );

    let rotated = read(fixture("rotated.tif")).await.unwrap();
    assert!(!rotated.nodes.contains_key(&path("/x")));
    assert!(
        rotated.warnings[0].contains("rotated"),
        "{:?}",
        rotated.warnings
    );
    let mapping = &array(&rotated, "/spatial_ref").attributes;
    assert_eq!(mapping["GeoTransform"], "100 10 2 200 3 -20");
}

#[tokio::test]
async fn one_strip_without_compression_is_cut_at_rows() {
    let (width, height) = (4096_u32, 6000_u32);
    let data = vec![1; (width * height) as usize];
    let bytes = image(
        &[(256, 4, &[width]), (257, 4, &[height]), (278, 4, &[height])],
        &data,
    );
    let archive = read(bytes).await.unwrap();
    let whole = array(&archive, "/band_data");
    assert_eq!(whole.chunk_shape, [1000, 4096]);
    let ArchiveChunks::InFiles(extents) = &whole.chunks else {
        panic!("{:?}", whole.chunks);
    };
    assert_eq!(extents.len(), 6);
    assert_eq!(extents.bytes(), u64::from(width * height));
}

#[tokio::test]
async fn what_is_not_decoded_is_named() {
    let data = [7; 16];
    for (fields, words) in [
        (&[(259, 3, &[6][..])][..], "old-style JPEG"),
        (&[(259, 3, &[34887])], "LERC"),
        (&[(259, 3, &[34925])], "LZMA"),
        (&[(259, 3, &[50001])], "WebP"),
        (&[(259, 3, &[50002])], "JPEG XL"),
        (&[(259, 3, &[34712])], "JPEG 2000"),
        (&[(259, 3, &[4])], "CCITT"),
        (&[(259, 3, &[777])], "777"),
        (&[(259, 3, &[8]), (317, 3, &[9])], "predictor 9"),
        (&[(259, 3, &[5]), (317, 3, &[3])], "predictor 3"),
        (&[(258, 3, &[12])], "12 bits"),
        (&[(339, 3, &[5])], "complex integers"),
        (&[(339, 3, &[9])], "format 9"),
        (&[(277, 3, &[2]), (258, 3, &[8, 16])], "several types"),
        (&[(277, 3, &[0])], "0 samples"),
        (&[(256, 3, &[0])], "0 columns"),
        (&[(284, 3, &[3])], "planar configuration is 3"),
        (&[(266, 3, &[2])], "reverse order"),
        (
            &[(262, 3, &[6]), (277, 3, &[3]), (258, 3, &[8, 8, 8])],
            "blocks of pixels",
        ),
        (
            &[(259, 3, &[7]), (277, 3, &[4]), (258, 3, &[8, 8, 8, 8])],
            "JPEG with 4 samples",
        ),
        (
            &[
                (322, 3, &[0]),
                (323, 3, &[16]),
                (324, 4, &[8]),
                (325, 4, &[16]),
            ],
            "its tiles have",
        ),
        (&[(278, 3, &[1])], "4 times 1 tiles"),
        (
            &[
                (256, 4, &[0xffff_ffff]),
                (257, 4, &[0xffff_ffff]),
                (259, 3, &[5]),
            ],
            "256 MiB",
        ),
    ] {
        let said = said::said(&read(image(fields, &data)).await.unwrap_err());
        assert!(
            said.contains(words) && said.contains("/band_data"),
            "{words}: {said}"
        );
    }
}

#[tokio::test]
async fn what_breaks_a_rule_is_damage() {
    let data = [7; 16];
    let mut circle = image(&[], &data);
    let next = 8 + 2 + 12 * 7;
    circle[next..next + 4].copy_from_slice(&8_u32.to_le_bytes());
    for (bytes, words) in [
        (circle, "circle"),
        (image(&[(273, 4, &[4_000_000_000])], &data), "the file has"),
        (
            image(&[(279, 4, &[15])], &data),
            "15 bytes in tile 0/0 instead of 16",
        ),
        (b"II\x2c\0\x08\0\0\0".to_vec(), "version 44"),
        (b"II*\0\0\0\0\0".to_vec(), "no image"),
        (
            b"II+\0\x10\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
            "another length than 8",
        ),
        (b"II*\0\x08\0\0\0\xff\xff\0\0".to_vec(), "fields"),
        (
            image(&[(273, 4, &[8; 4])], &data)[..60].to_vec(),
            "refers to its bytes",
        ),
    ] {
        let error = read(bytes).await.unwrap_err();
        let said = said::said(&error);
        assert!(said.contains(words), "{words}: {said}");
        assert!(matches!(error, SourceError::Damaged { .. }), "{error:?}");
    }
    // More values than any file has.
    let mut many = image(&[(273, 4, &[8; 4]), (279, 4, &[1; 4])], &data);
    let at = many
        .windows(2)
        .position(|it| it == 273_u16.to_le_bytes())
        .unwrap();
    many[at + 4..at + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    let said = said::said(&read(many).await.unwrap_err());
    assert!(said.contains("4294967295 values"), "{said}");
}

/// Reads all chunks of all images; whatever the bytes are, that ends in values or in an error.
pub(crate) async fn exhaust(bytes: Vec<u8>) {
    let Ok(archive) = read(bytes).await else {
        return;
    };
    let arrays: Vec<_> = archive.nodes.keys().cloned().collect();
    let source = ArchiveSource::new("t", archive);
    for at in arrays {
        let node = &source.archive().nodes[&at];
        let ArchiveNode::Array(array) = node else {
            continue;
        };
        let document = icefield_ingest::SourceNode::parse(node.document(), 1 << 24).unwrap();
        let ArchiveChunks::Recoded { extents, .. } = &array.chunks else {
            continue;
        };
        for row in extents.rows().take(50) {
            let metadata = document.array().unwrap();
            let read =
                icefield_ingest::Source::read_chunk(&source, &at, metadata, row.index, row.length);
            let _any = read.await;
        }
    }
}

#[tokio::test]
async fn changed_and_missing_bytes_never_stop_the_reader() {
    for name in [
        "lzw.tif",
        "packbits.tif",
        "jpeg.tif",
        "floating.tif",
        "cog.tif",
        "bits.tif",
    ] {
        let whole = fixture(name);
        for end in (0..whole.len()).step_by(37) {
            exhaust(whole[..end].to_vec()).await;
        }
        let mut numbers = damage::Numbers(11);
        for _ in 0..150 {
            let mut bytes = whole.clone();
            numbers.damage(&mut bytes);
            exhaust(bytes).await;
        }
    }
}

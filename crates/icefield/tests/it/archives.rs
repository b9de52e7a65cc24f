//! Archive files, by copy and by reference, read through the crate `zarrs`: every value is that of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use icefield::ingest::Import;
use icefield::{
    BranchName, Location, NodeKind, NodePath, Purpose, Repository, Schemes, Session, VirtualAccess,
    ZarrStore,
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use zarrs::array::{Array, ArrayBytes};

const MONTHS: [&str; 3] = [
    "nemo_1m_20150101-20150201_grid-T.nc",
    "nemo_1m_20150201-20150301_grid-T.nc",
    "nemo_1m_20150301-20150401_grid-T.nc",
];

fn ocean() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ocean")
}

fn expected() -> Value {
    let text = std::fs::read_to_string(ocean().join("expected.json")).expect("a fixture");
    serde_json::from_str(&text).expect("JSON")
}

/// Imports files behind one another and opens the result for reading.
async fn imported(names: &[&str], along: Option<&str>, purpose: Purpose) -> Session {
    let schemes = Schemes::standard();
    let (mut sources, mut access) = (Vec::new(), VirtualAccess::none());
    let all = schemes.sources();
    for name in names {
        let location = Location::of_path(ocean().join(name));
        let opened = all
            .open(&location.into(), VirtualAccess::none(), purpose)
            .await;
        let opened = opened.expect("a sound file");
        access = access.and(opened.access);
        sources.push(opened.source);
    }
    let storage: Arc<dyn icefield::storage::Storage> = Arc::new(icefield::MemoryStorage::new());
    let builder = Repository::builder(storage).virtual_access(access);
    let repository = builder.create().await.expect("created");
    let mut import = Import::new(sources.remove(0));
    if let Some(dimension) = along {
        import = import.concat(dimension, sources);
    }
    if purpose == Purpose::Refer {
        import = import.by_reference([]);
    }
    let main = BranchName::main();
    let done = import.run(&repository, main.clone(), "files").await;
    let report = done.expect("imported").report;
    assert_eq!(report.virtual_chunks > 0, purpose == Purpose::Refer);
    repository.read_session(main).await.expect("a session")
}

/// The shape of each array and its elements in C order, first index by first index.
fn elements(session: Session) -> BTreeMap<String, (Vec<u64>, Vec<Vec<u8>>)> {
    let nodes = session.nodes(&NodePath::root()).expect("sound").into_iter();
    let arrays = nodes.filter(|node| node.kind == NodeKind::Array);
    let paths: Vec<String> = arrays.map(|node| node.path.to_string()).collect();
    let runtime = icefield::runtime().expect("starts");
    let store = Arc::new(ZarrStore::new(session).with_runtime(runtime));
    let read = |path: String| {
        let array = Array::open(Arc::clone(&store), &path).expect("zarrs understands it");
        let shape = array.shape().to_vec();
        let slabs = (0..shape.first().copied().unwrap_or(1)).map(|first| {
            let mut ranges: Vec<_> = shape.iter().map(|length| 0..*length).collect();
            if let Some(range) = ranges.first_mut() {
                *range = first..first + 1;
            }
            let bytes: ArrayBytes<'_> = array.retrieve_array_subset(&ranges).expect("decodes");
            bytes.into_fixed().expect("numbers").into_owned()
        });
        let slabs = slabs.collect();
        (path.trim_start_matches('/').to_owned(), (shape, slabs))
    };
    paths.into_iter().map(read).collect()
}

fn digest(slabs: &[Vec<u8>]) -> String {
    let digest = Sha256::digest(slabs.concat());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_background(
    names: &'static [&'static str],
    along: Option<&'static str>,
    purpose: Purpose,
) -> BTreeMap<String, (Vec<u64>, Vec<Vec<u8>>)> {
    let runtime = icefield::runtime().expect("starts");
    elements(runtime.block_on(imported(names, along, purpose)))
}

#[test]
fn months_are_the_same_through_zarrs() {
    let expected = expected();
    for purpose in [Purpose::Copy, Purpose::Refer] {
        let found = in_background(&MONTHS, Some("time_counter"), purpose);
        for (month, name) in MONTHS.iter().enumerate() {
            let variables = expected[*name].as_object().expect("variables");
            assert!(variables.keys().eq(found.keys()));
            for (variable, facts) in variables {
                let (shape, slabs) = &found[variable];
                let grows = shape.first() == Some(&3);
                let slabs = if grows {
                    &slabs[month..=month]
                } else {
                    &slabs[..]
                };
                assert_eq!(
                    digest(slabs),
                    facts["sha256"],
                    "{name} {variable} {purpose:?}"
                );
            }
        }
    }
}

#[test]
fn an_uncompressed_file_is_the_same_through_zarrs() {
    let name = "ostia_monthly.nc";
    for purpose in [Purpose::Copy, Purpose::Refer] {
        let found = in_background(&["ostia_monthly.nc"], None, purpose);
        let variables = expected()[name].as_object().expect("variables").clone();
        assert!(variables.keys().eq(found.keys()));
        for (variable, facts) in variables {
            let (shape, slabs) = &found[&variable];
            assert_eq!(serde_json::json!(shape), facts["shape"], "{variable}");
            assert_eq!(digest(slabs), facts["sha256"], "{variable} {purpose:?}");
        }
    }
}

//! Keys of a Zarr store, in a session with arrays of several chunk key encodings.

#![no_main]

use std::sync::OnceLock;

use icefield::{NodePath, Session, ZarrKey, ZarrStore};
use icefield_fuzz::{Seeds, seed};
use icefield_zarr_store::{chunk_key, metadata_key};
use libfuzzer_sys::fuzz_target;

/// Arrays: path, rank, chunk key encoding, separator.
const ARRAYS: &[(&str, usize, &str, &str)] = &[
    ("a", 2, "default", "/"),
    ("g/dots", 3, "default", "."),
    ("g/v2", 2, "v2", "."),
    ("g/deep/er", 1, "v2", "/"),
    ("scalar", 0, "default", "/"),
];

const TEXTS: &[&str] = &[
    "zarr.json",
    "a/zarr.json",
    "a/c/0/12",
    "g/dots/c.1.2.3",
    "g/v2/7.0",
    "g/deep/er/4294967295",
    "scalar/c",
    "a/.zarray",
];

fn session() -> &'static Session {
    static SESSION: OnceLock<Session> = OnceLock::new();
    SESSION.get_or_init(|| {
        icefield::runtime().expect("started").block_on(async {
            let repository = icefield::create("memory:").await.expect("created");
            let main = icefield::BranchName::main();
            let session = repository.write_session(main).await.expect("opened");
            let store = ZarrStore::new(session.clone());
            for (path, rank, encoding, separator) in ARRAYS {
                let lengths = vec!["9"; *rank].join(",");
                let document = format!(
                    r#"{{"zarr_format": 3, "node_type": "array", "shape": [{lengths}],
                    "data_type": "uint8", "fill_value": 0, "codecs": [{{"name": "bytes"}}],
                    "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{lengths}]}}}},
                    "chunk_key_encoding": {{"name": "{encoding}",
                    "configuration": {{"separator": "{separator}"}}}}}}"#
                );
                let key = format!("{path}/zarr.json");
                let set = store.set(&key, document.into());
                set.await.expect("a valid array");
            }
            session
        })
    })
}

fuzz_target!(
    init: {
        seed(&Seeds::Texts(TEXTS));
        session();
    },
    |input: &[u8]| {
        let Ok(text) = std::str::from_utf8(input) else {
            return;
        };
        // A key means one thing, and only one key means it.
        match ZarrKey::parse(text, session()) {
            Ok(ZarrKey::Metadata(node)) => assert_eq!(metadata_key(&node), text),
            Ok(ZarrKey::Chunk { array, index }) => {
                let metadata = session().array(&array).expect("an array");
                let encoding = metadata.chunk_key_encoding;
                assert_eq!(chunk_key(&array, encoding, &index), text);
            }
            Ok(_) | Err(_) => {}
        }
        if let Ok(path) = NodePath::parse(&format!("/{text}")) {
            let key = metadata_key(&path);
            assert_eq!(ZarrKey::parse(&key, session()).ok(), Some(ZarrKey::Metadata(path)));
        }
    }
);

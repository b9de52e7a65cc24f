//! The meaning of keys to each operation.

use icefield_core::SessionError;
use icefield_zarr_store::{KeyError, ZarrStoreError};

use super::*;

#[tokio::test]
async fn a_text_that_is_no_key_is_an_error_everywhere() {
    let store = store().await;
    let refused = |result: Result<(), ZarrStoreError>, key: &str| {
        assert!(
            matches!(result, Err(ZarrStoreError::InvalidKey { .. })),
            "{key:?}: {result:?}"
        );
    };
    for key in [
        "",
        "/",
        "a/",
        "/a",
        "a//b",
        ".",
        "..",
        "../zarr.json",
        "a/./c/0",
    ] {
        refused(store.get(key).await.map(drop), key);
        refused(store.exists(key).await.map(drop), key);
        refused(store.size(key).await.map(drop), key);
        refused(store.set(key, GROUP.into()).await, key);
        refused(
            store.set_if_not_exists(key, GROUP.into()).await.map(drop),
            key,
        );
        refused(store.delete(key).await, key);
    }
    assert!(!store.session().has_changes().unwrap());
}

#[tokio::test]
async fn a_key_that_names_nothing_is_absent_and_cannot_be_set() {
    let store = store().await;
    set_all(
        &store,
        [
            ("zarr.json", GROUP.to_owned()),
            ("x/zarr.json", array(&[2, 2], SLASH)),
        ],
    )
    .await;
    for (key, reason) in [
        (
            "foo",
            "cannot store \"foo\", which is neither metadata nor a chunk of an array: no part of it is the path of an array",
        ),
        (
            "x/c/0",
            "neither metadata nor a chunk of an array: chunks of the array /x have keys such as \"x/c/0/0\": it has 1 coordinates, and the array 2 dimensions",
        ),
        ("x/c/0/00", "\"00\" is not a decimal number"),
        ("x/c/0/+1", "\"+1\" is not a decimal number"),
        ("x/c/0/1e0", "\"1e0\" is not a decimal number"),
        ("x/c/0/4294967296", "\"4294967296\" is not a decimal number"),
        (
            "x/0.0",
            "it has not the form of the array's chunk key encoding",
        ),
        ("xc/0/0", "no part of it is the path of an array"),
        ("c/0/0", "no part of it is the path of an array"),
        ("missing/c/0", "no part of it is the path of an array"),
    ] {
        assert_eq!(store.get(key).await.unwrap(), None, "{key}");
        assert!(!store.exists(key).await.unwrap());
        assert_eq!(store.size(key).await.unwrap(), None);
        store.delete(key).await.unwrap();
        let story = story(store.set(key, "value".into()).await);
        assert!(story.contains(reason), "{key}: {story}");
        assert!(story.contains(&format!("{key:?}")), "{story}");
    }
}

#[tokio::test]
async fn v2_metadata_is_absent_refused_and_erased() {
    let store = store().await;
    set_all(&store, [("zarr.json", GROUP)]).await;
    for key in [".zgroup", "a/.zarray", "a/b/.zattrs", ".zmetadata"] {
        assert_eq!(store.get(key).await.unwrap(), None);
        assert!(!store.exists(key).await.unwrap());
        store.delete(key).await.unwrap();
        let refused = store.set(key, "{}".into()).await;
        assert!(matches!(refused, Err(ZarrStoreError::V2Metadata { key: named }) if named == key));
    }
    assert_eq!(all_keys(&store).await, ["zarr.json"]);
}

#[tokio::test]
async fn every_encoding_stores_under_its_own_keys_and_survives_the_commit() {
    let repository = repository().await;
    let store = writable(&repository).await;
    let spellings = [
        ("a", SLASH, "c/0/1", "c"),
        ("b", DOT, "c.0.1", "c"),
        ("d", V2_SLASH, "0/1", "0"),
        ("e", V2_DOT, "0.1", "0"),
    ];
    for (name, encoding, matrix, scalar) in spellings {
        set_all(
            &store,
            [
                (format!("{name}/m/zarr.json"), array(&[2, 2], encoding)),
                (format!("{name}/s/zarr.json"), array(&[], encoding)),
                (format!("{name}/m/{matrix}"), format!("m of {name}")),
                (format!("{name}/s/{scalar}"), format!("s of {name}")),
            ],
        )
        .await;
    }
    committed(&store).await;
    let store = writable(&repository).await;
    for (name, _, matrix, scalar) in spellings {
        for (array, key) in [("m", matrix), ("s", scalar)] {
            let key = format!("{name}/{array}/{key}");
            let value = store.get(&key).await.unwrap().unwrap();
            assert_eq!(value, format!("{array} of {name}"));
            assert_eq!(
                keys_below(&store, &format!("{name}/{array}/")).await,
                [key, format!("{name}/{array}/zarr.json"),]
            );
        }
    }
}

#[tokio::test]
async fn an_array_at_the_root_has_keys_without_a_path() {
    let store = store().await;
    set_all(
        &store,
        [("zarr.json", array(&[2], SLASH)), ("c/0", "zero".into())],
    )
    .await;
    assert_eq!(store.get("c/0").await.unwrap().unwrap(), "zero");
    assert_eq!(store.get("c").await.unwrap(), None);
    assert_eq!(all_keys(&store).await, ["c/0", "zarr.json"]);

    store.delete("zarr.json").await.unwrap();
    set_all(
        &store,
        [("zarr.json", array(&[], SLASH)), ("c", "scalar".into())],
    )
    .await;
    assert_eq!(store.get("c").await.unwrap().unwrap(), "scalar");
    assert_eq!(store.get("c/0").await.unwrap(), None);
}

#[tokio::test]
async fn a_node_named_c_is_a_node() {
    let store = store().await;
    set_all(
        &store,
        [
            ("zarr.json", GROUP.to_owned()),
            ("c/zarr.json", array(&[2], SLASH)),
            ("c/c/1", "of c".into()),
            ("g/c/zarr.json", GROUP.into()),
            ("g/c/c/zarr.json", array(&[2], V2_SLASH)),
            ("g/c/c/0", "of g/c/c".into()),
        ],
    )
    .await;
    assert_eq!(store.get("c/c/1").await.unwrap().unwrap(), "of c");
    assert_eq!(store.get("g/c/c/0").await.unwrap().unwrap(), "of g/c/c");
    assert_eq!(store.get("c/1").await.unwrap(), None);
    assert_eq!(store.get("g/c/0").await.unwrap(), None);
    assert!(matches!(
        store.set("c/1", "x".into()).await,
        Err(ZarrStoreError::NothingNamed { .. })
    ));
}

#[tokio::test]
async fn a_chunk_outside_the_grid_is_absent_and_cannot_be_set() {
    let store = store().await;
    set_all(
        &store,
        [
            ("x/zarr.json", array(&[2], SLASH)),
            ("z/zarr.json", array(&[0], SLASH)),
        ],
    )
    .await;
    for key in ["x/c/2", "x/c/4294967295", "z/c/0"] {
        assert_eq!(store.get(key).await.unwrap(), None, "{key}");
        assert!(!store.exists(key).await.unwrap());
        store.delete(key).await.unwrap();
        let refused = store.set(key, "x".into()).await;
        assert!(
            matches!(
                refused,
                Err(ZarrStoreError::Session(SessionError::OutOfGrid { .. }))
            ),
            "{key}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn errors_name_the_key_and_the_rule() {
    let store = store().await;
    let told = story(store.get("a//b").await);
    assert_eq!(
        told,
        "\"a//b\" is not a key of a Zarr store: no segment is empty: a `/` stands between two segments only"
    );
    let error = store.list_dir("a").await.unwrap_err();
    let ZarrStoreError::InvalidPrefix { prefix, source } = error else {
        panic!("{error:?}");
    };
    assert_eq!((prefix.as_str(), source), ("a", KeyError::NoFinalSlash));
}

async fn reads_and_writes_with(encodings: [(&str, &str); 2]) {
    let store = store().await;
    for (encoding, key) in encodings {
        set_all(
            &store,
            [
                ("x/zarr.json", array(&[1, 2], encoding).as_str()),
                (key, "value"),
            ],
        )
        .await;
        assert!(store.exists(key).await.unwrap());
        store.delete_dir("x").await.unwrap();
    }
}

#[tokio::test]
async fn an_encoding_has_a_default_separator() {
    reads_and_writes_with([
        (r#"{"name": "default"}"#, "x/c/0/1"),
        (r#"{"name": "v2", "configuration": {}}"#, "x/0.1"),
    ])
    .await;
}

/// Zarr v3.1 lets an extension without configuration be written as its name alone, and `zarrs` writes it so.
#[tokio::test]
async fn an_encoding_may_be_a_name_alone() {
    reads_and_writes_with([(r#""default""#, "x/c/0/1"), (r#""v2""#, "x/0.1")]).await;
}

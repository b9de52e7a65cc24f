//! Getting, setting and asking for values.

use bytes::Bytes;
use icefield_core::{BranchName, ByteRange, SessionError};

use super::*;

#[tokio::test]
async fn metadata_is_kept_byte_for_byte() {
    let store = store().await;
    let odd = "{ \"node_type\" :\"group\",\n \"zarr_format\":3, \"consolidated_metadata\": {\"kind\": 1} }\n";
    set_all(&store, [("g/zarr.json", odd)]).await;
    assert_eq!(store.get("g/zarr.json").await.unwrap().unwrap(), odd);
    assert_eq!(
        store.size("g/zarr.json").await.unwrap(),
        Some(odd.len() as u64)
    );
    assert!(store.exists("g/zarr.json").await.unwrap());
    // A parent that was not written does not exist by itself.
    assert!(!store.exists("zarr.json").await.unwrap());
}

#[tokio::test]
async fn what_is_no_zarr_v3_metadata_is_refused() {
    let store = store().await;
    for document in [
        "",
        "{}",
        "[]",
        r#"{"zarr_format": 2}"#,
        r#"{"zarr_format": 3, "node_type": "tree"}"#,
    ] {
        let refused = store.set("zarr.json", document.into()).await;
        assert!(
            matches!(
                refused,
                Err(ZarrStoreError::Session(SessionError::Metadata(_)))
            ),
            "{document}"
        );
    }
    assert_eq!(store.get("zarr.json").await.unwrap(), None);
}

#[tokio::test]
async fn a_value_is_replaced_as_a_whole() {
    let store = store().await;
    set_all(
        &store,
        [
            ("x/zarr.json", array(&[1], SLASH)),
            ("x/c/0", "longer".into()),
            ("x/c/0", "short".into()),
        ],
    )
    .await;
    assert_eq!(store.get("x/c/0").await.unwrap().unwrap(), "short");
    assert_eq!(store.size("x/c/0").await.unwrap(), Some(5));
}

#[tokio::test]
async fn an_empty_chunk_is_refused() {
    let store = store().await;
    set_all(&store, [("x/zarr.json", array(&[1], SLASH))]).await;
    let refused = store.set("x/c/0", Bytes::new()).await;
    assert!(matches!(
        refused,
        Err(ZarrStoreError::Session(SessionError::EmptyChunk { .. }))
    ));
}

#[tokio::test]
async fn chunks_too_long_to_be_inline_read_back_before_and_after_the_commit() {
    let repository = repository().await;
    let store = writable(&repository).await;
    let long = Bytes::from(vec![7; 100_000]);
    set_all(&store, [("x/zarr.json", array(&[2], SLASH))]).await;
    store.set("x/c/1", long.clone()).await.unwrap();
    assert_eq!(store.get("x/c/1").await.unwrap().unwrap(), long);
    committed(&store).await;
    let store = ZarrStore::new(repository.read_session(BranchName::main()).await.unwrap());
    assert_eq!(store.get("x/c/1").await.unwrap().unwrap(), long);
    assert_eq!(store.size("x/c/1").await.unwrap(), Some(100_000));
    assert_eq!(store.get("x/c/0").await.unwrap(), None);
}

#[tokio::test]
async fn set_if_not_exists_stores_once() {
    let store = store().await;
    assert!(
        store
            .set_if_not_exists("zarr.json", GROUP.into())
            .await
            .unwrap()
    );
    assert!(
        !store
            .set_if_not_exists("zarr.json", array(&[1], SLASH).into())
            .await
            .unwrap()
    );
    assert_eq!(store.get("zarr.json").await.unwrap().unwrap(), GROUP);

    set_all(&store, [("x/zarr.json", array(&[1], SLASH))]).await;
    assert!(
        store
            .set_if_not_exists("x/c/0", "first".into())
            .await
            .unwrap()
    );
    assert!(
        !store
            .set_if_not_exists("x/c/0", "second".into())
            .await
            .unwrap()
    );
    assert_eq!(store.get("x/c/0").await.unwrap().unwrap(), "first");
    store.delete("x/c/0").await.unwrap();
    assert!(
        store
            .set_if_not_exists("x/c/0", "third".into())
            .await
            .unwrap()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sixteen_that_set_if_not_exists_one_wins() {
    let store = store().await;
    set_all(&store, [("x/zarr.json", array(&[1], SLASH))]).await;
    for length in [10, 10_000] {
        store.delete("x/c/0").await.unwrap();
        let tasks: Vec<_> = (0..16_u8)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move {
                    store
                        .set_if_not_exists("x/c/0", vec![number; length].into())
                        .await
                })
            })
            .collect();
        let mut winners = 0;
        for task in tasks {
            winners += usize::from(task.await.unwrap().unwrap());
        }
        assert_eq!(winners, 1);
    }
}

#[tokio::test]
async fn several_keys_come_in_order_with_none_for_the_absent() {
    let store = store().await.with_concurrency(2);
    set_all(&store, [("x/zarr.json", array(&[9], SLASH))]).await;
    set_all(
        &store,
        (0..8).map(|i| (format!("x/c/{i}"), format!("value {i}"))),
    )
    .await;
    let requests = [
        ("x/c/7", ByteRange::All),
        ("x/c/8", ByteRange::All),
        ("x/c/0", ByteRange::Suffix { length: 1 }),
        ("nothing", ByteRange::All),
        ("x/c/7", ByteRange::All),
        (".zgroup", ByteRange::All),
        ("x/c/7", ByteRange::Range { start: 0, end: 5 }),
        ("x/zarr.json", ByteRange::Range { start: 0, end: 1 }),
    ];
    let values = store.get_partial_values(&requests).await.unwrap();
    let texts: Vec<Option<&str>> = values
        .iter()
        .map(|value| {
            value
                .as_deref()
                .map(|bytes| std::str::from_utf8(bytes).unwrap())
        })
        .collect();
    assert_eq!(
        texts,
        [
            Some("value 7"),
            None,
            Some("0"),
            None,
            Some("value 7"),
            None,
            Some("value"),
            Some("{"),
        ]
    );
    assert!(
        store
            .get_partial_values::<&str>(&[])
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .get_partial_values(&[("a//b", ByteRange::All)])
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_read_only_session_reads_and_refuses_every_write() {
    let repository = repository().await;
    let store = writable(&repository).await;
    set_all(
        &store,
        [
            ("zarr.json", GROUP.to_owned()),
            ("x/zarr.json", array(&[1], SLASH)),
            ("x/c/0", "v".into()),
        ],
    )
    .await;
    committed(&store).await;
    let store = ZarrStore::new(repository.read_session(BranchName::main()).await.unwrap());
    assert!(store.is_read_only());
    assert_eq!(store.get("x/c/0").await.unwrap().unwrap(), "v");
    let refused = |result: Result<(), ZarrStoreError>| {
        assert!(
            matches!(result, Err(ZarrStoreError::Session(SessionError::ReadOnly))),
            "{result:?}"
        );
    };
    for key in ["zarr.json", "x/c/0"] {
        refused(store.set(key, GROUP.into()).await);
        refused(store.set_if_not_exists(key, GROUP.into()).await.map(drop));
    }
    for key in [
        "zarr.json",
        "missing/zarr.json",
        "x/c/0",
        "x/c/7",
        "nothing",
        ".zgroup",
    ] {
        refused(store.delete(key).await);
    }
    for prefix in ["", "x/", "x/c/", "nothing/"] {
        refused(store.erase_prefix(prefix).await);
        refused(store.delete_dir(prefix).await);
    }
}

#[tokio::test]
async fn without_a_runtime_a_blocking_call_is_an_error() {
    let store = store().await;
    let waited = store.wait(async { Ok(1) });
    assert!(matches!(
        waited,
        Err(ZarrStoreError::Blocking(
            icefield_zarr_store::BlockingError::NoRuntime
        ))
    ));
}

#[tokio::test]
async fn reads_that_need_no_network_need_no_runtime() {
    let repository = repository().await;
    let store = writable(&repository).await;
    set_all(
        &store,
        [
            ("x/zarr.json", array(&[2], SLASH)),
            ("x/c/0", "inline".into()),
        ],
    )
    .await;
    store.set("x/c/1", vec![1; 5000].into()).await.unwrap();
    committed(&store).await;
    let store = ZarrStore::new(repository.read_session(BranchName::main()).await.unwrap());
    let get = |key| store.try_get_range(key, ByteRange::All).map(Result::unwrap);
    assert_eq!(get("x/c/0"), Some(Some("inline".into())));
    assert_eq!(get("x/c/1"), Some(Some(vec![1; 5000].into())));
    assert_eq!(get("x/c/2"), Some(None));
    assert_eq!(get("nothing"), Some(None));
    assert_eq!(
        get("x/zarr.json").flatten().map(|document| document.len()),
        Some(array(&[2], SLASH).len())
    );
    assert!(
        store
            .try_get_range("a//b", ByteRange::All)
            .unwrap()
            .is_err()
    );
    let outside = store.try_get_range("x/c/0", ByteRange::Suffix { length: 7 });
    assert!(matches!(
        outside,
        Some(Err(ZarrStoreError::RangeOutOfValue { length: 6, .. }))
    ));
}

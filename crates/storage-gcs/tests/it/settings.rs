//! The settings of a user, as they arrive at the server; and the work that the backend spares itself.

use icefield_storage::{
    GetOptions, GetRange, ObjectClass, PutMode, PutOptions, Storage, StorageError, StorageExt,
};
use icefield_testservers::{Fault, Verb};

use crate::support::*;

#[tokio::test]
async fn a_state_that_is_known_is_read_in_one_request() {
    let server = server();
    let storage = open(&server).await;
    let version = written(put(&storage, "a", "0123456789", PutMode::Overwrite).await);
    let options = GetOptions::range(GetRange::Bounded(2..5)).with_if_match(version);
    let object = storage.get(&key("a"), options).await.expect("read");
    assert_eq!(object.bytes().await.expect("bytes"), "234");
    assert_eq!(asked(&server, Verb::Head).len(), 0);
    assert_eq!(asked(&server, Verb::Read).len(), 1);
}

#[tokio::test]
async fn a_name_that_the_store_does_not_take_is_refused_before_it() {
    let server = server();
    let storage = open(&server).await;
    let stored = put(&storage, "a\nb", "one", PutMode::Overwrite).await;
    assert!(
        matches!(stored, Err(StorageError::Unsupported { .. })),
        "{stored:?}"
    );
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn who_pays_and_what_it_costs_is_sent() {
    let server = server();
    let storage = builder(&server)
        .user_project("payer")
        .storage_class(ObjectClass::Chunk, "NEARLINE");
    let storage = opened(storage).await;
    let options = PutOptions::default().with_class(ObjectClass::Chunk);
    written(storage.put(&key("a"), "one".into(), options).await);
    storage.read(&key("a")).await.expect("read");
    storage.list_all(&Default::default()).await.expect("listed");
    let stored = server.world().get(server.bucket(), "a").expect("there");
    let class = stored.attributes.storage_class.as_deref();
    assert_eq!(class, Some("NEARLINE"));
    let _ = storage.delete_one(key("a").into()).await.expect("deleted");
    for request in server.requests() {
        let payer = request.header("x-goog-user-project");
        assert_eq!(payer, Some("payer"), "{request:?}");
    }
}

#[tokio::test]
async fn a_copy_keeps_what_is_said_about_the_source() {
    let server = server();
    let storage = open(&server).await;
    let options = PutOptions::default()
        .with_content_type("application/json")
        .with_user_metadata("ic_spec_ver", "1");
    written(storage.put(&key("a"), "one".into(), options).await);
    next(&server, Verb::Copy, Fault::ResetAfter);
    let (from, to) = (key("a"), key("copy"));
    written(storage.copy(&from, &to, PutMode::Create.into()).await);
    let object = |at: &str| server.world().get(server.bucket(), at).expect("there");
    let (source, copy) = (object("a"), object("copy"));
    let metadata = &copy.attributes.metadata;
    assert_eq!(metadata.get("ic_spec_ver").map(String::as_str), Some("1"));
    assert_ne!(
        metadata.get("icefield-write-id"),
        source.attributes.metadata.get("icefield-write-id"),
        "a copy is another write"
    );
}

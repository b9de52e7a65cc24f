//! What is sent to Azure, and what becomes of its answers.
#![cfg(feature = "azure")]

use std::time::Duration;

use icefield_storage::remote::{RemoteSettings, RetrySettings};
use icefield_storage::{Key, PutMode, Storage, StorageError, StorageExt};
use icefield_storage_object_store::AzureBuilder;
use icefield_testservers::{Answer, Fault, FileServer, Rule, Verb};

fn key(text: &str) -> Key {
    Key::parse(text).expect("a key")
}

#[tokio::test]
async fn a_conflict_that_names_no_blob_is_no_refusal() {
    let server = FileServer::in_memory();
    let conflict = Rule::new(Fault::Refuse(Answer::new(409, "Conflict")));
    server.switches().inject(conflict.on(Verb::Other).times(2));
    let retry = RetrySettings::default().with_pauses(Duration::ZERO, Duration::ZERO);
    let settings = RemoteSettings::default().with_retry(retry);
    let storage = AzureBuilder::new("acc", "box")
        .endpoint(server.url("acc"))
        .settings(settings.trusting_conditions())
        .open()
        .expect("opened");
    let put = storage
        .put(&key("a"), "one".into(), PutMode::Create.into())
        .await;
    // The third answer is 405.
    assert!(put.is_err(), "{put:?}");
    let writes = server.requests();
    let writes = writes.iter().filter(|it| it.method == "PUT");
    assert_eq!(writes.count(), 3);
}

#[tokio::test]
async fn f90_a_redirect_is_not_followed() {
    let (server, elsewhere) = (FileServer::in_memory(), FileServer::in_memory());
    for status in [302, 307] {
        server.redirect("acc/box", status, &elsewhere.url("acc/box/a"));
        let azure = AzureBuilder::new("acc", "box").endpoint(server.url("acc"));
        for azure in [
            azure.clone().sas_token("sv=1&sig=SECRET"),
            azure.access_key("U0VDUkVU"),
        ] {
            let storage = azure.open().expect("opened");
            let read = storage.read(&key("a")).await.expect_err("not followed");
            let written = storage
                .put(&key("a"), "one".into(), PutMode::Overwrite.into())
                .await
                .expect_err("not followed");
            let deleted = storage.delete_one(key("a").into()).await;
            let listed = storage.list_all(&Default::default()).await;
            for error in [
                read,
                written,
                deleted.expect_err("not followed"),
                listed.expect_err("not followed"),
            ] {
                assert!(
                    matches!(
                        error,
                        StorageError::Misconfigured {
                            setting: "endpoint",
                            ..
                        }
                    ),
                    "{error:?}"
                );
                assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
            }
        }
    }
    assert!(!server.requests().is_empty());
    assert!(elsewhere.requests().is_empty());
}

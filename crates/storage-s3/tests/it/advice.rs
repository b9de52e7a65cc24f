//! The effects that the rules of a bucket would have on a repository.

use std::collections::BTreeMap;

use icefield_storage::{ObjectClass, Prefix, Storage};
use icefield_testservers::{Behaviour, LifecycleRule};

use crate::support::{builder, open, server};

fn cold() -> LifecycleRule {
    LifecycleRule {
        name: "cold data".to_owned(),
        tags: BTreeMap::from([("tier".to_owned(), "cold".to_owned())]),
        delete_after: Some(30),
        ..LifecycleRule::default()
    }
}

#[tokio::test]
async fn rules_that_delete_or_archive_are_warned_of() {
    let server = server();
    let prefix = Prefix::parse("sea").expect("a prefix");
    let plain = builder(&server).prefix(prefix.clone());
    let tagged = plain.clone().tag(ObjectClass::Chunk, "tier", "cold");
    let texts = async |builder: &icefield_storage_s3::S3Builder| {
        let storage = builder.clone().open().expect("sound");
        let advice = storage.advice().await.expect("told");
        let line = |it: icefield_storage::Advice| format!("{:?} {}", it.weight, it.text);
        advice.into_iter().map(line).collect::<Vec<_>>()
    };
    let none = texts(&plain).await;
    assert_eq!(none.len(), 1, "{none:?}");
    assert!(none[0].starts_with("Hint") && none[0].contains("AbortIncomplete"));

    let rules = vec![
        cold(),
        LifecycleRule {
            name: "old uploads".to_owned(),
            end_uploads_after: Some(7),
            ..LifecycleRule::default()
        },
        LifecycleRule {
            name: "elsewhere".to_owned(),
            prefix: "logs/".to_owned(),
            delete_after: Some(1),
            ..LifecycleRule::default()
        },
        LifecycleRule {
            name: "archive".to_owned(),
            prefix: "sea/snapshots/".to_owned(),
            archive_after: Some(1),
            ..LifecycleRule::default()
        },
    ];
    server
        .switches()
        .set(|it: &mut Behaviour| it.lifecycle = rules.clone());
    let untagged = texts(&plain).await;
    assert_eq!(untagged.len(), 1, "{untagged:?}");
    assert!(
        untagged[0].contains("\"archive\"")
            && untagged[0].contains("moves metadata to GLACIER a day"),
        "{untagged:?}"
    );
    let both = texts(&tagged).await;
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(
        both[0].starts_with("Warning") && both[0].contains("\"cold data\""),
        "{both:?}"
    );
    assert!(both[0].contains("deletes chunks 30 days"), "{both:?}");
}

#[tokio::test]
async fn rules_that_may_not_be_read_are_a_hint() {
    let server = server();
    let storage = builder(&server).anonymous().open().expect("sound");
    let advice = storage.advice().await.expect("told");
    assert_eq!(advice.len(), 1, "{advice:?}");
    assert_eq!(advice[0].weight, icefield_storage::Weight::Hint);
    assert!(advice[0].text.contains("s3:GetLifecycleConfiguration"));
    assert!(open(&server).advice().await.is_ok());
}

//! Names: used verbatim, whatever is in them, or refused with an error that leaves all as it was.

use super::trial::{Trial, key, refused, written};
use crate::{Key, KeyError, PutMode, PutOptions, PutOutcome, StorageError, StorageExt};

/// Stores an object at each key, holding its own name, and looks at all of them in every way.
async fn come_back(t: &Trial, keys: &[&str]) {
    for at in keys {
        t.store(at, (*at).to_owned()).await;
    }
    let mut listed: Vec<&str> = keys.to_vec();
    listed.sort_unstable();
    assert_eq!(t.keys("").await, listed);
    for at in keys {
        assert_eq!(t.head(at).await.key.as_str(), *at);
        t.expect(at, at.as_bytes()).await;
        if t.store.capabilities().conditional_create {
            refused(&t.put(at, "other", PutMode::Create).await);
        }
        written(
            t.store
                .copy(&key(at), &key("copied"), PutMode::Overwrite.into())
                .await
                .expect(at),
        );
        t.expect("copied", at.as_bytes()).await;
        let _ = t.store.delete_one(key(at).into()).await.expect(at);
        t.expect_absent(at).await;
    }
    assert_eq!(t.keys("").await, ["copied"]);
}

/// Stores an object or is told that the name cannot be used here.
async fn stored_or_refused(t: &Trial, at: &str) -> bool {
    match t
        .store
        .put(&key(at), at.to_owned().into(), PutOptions::default())
        .await
    {
        Ok(outcome) => {
            written(outcome);
            t.expect(at, at.as_bytes()).await;
            true
        }
        Err(
            StorageError::InvalidKey(_)
            | StorageError::Unsupported { .. }
            | StorageError::NotAnObject { .. },
        ) => {
            assert!(!t.keys("").await.iter().any(|listed| listed == at));
            false
        }
        Err(error) => panic!("{at:?} must be stored or refused for its name, got {error:?}"),
    }
}

pub(super) async fn odd_characters_come_back_verbatim(t: Trial) {
    come_back(
        &t,
        &[
            "a b/c d",
            "a#b/c",
            "a?b=c&d",
            "a+b",
            "a\\b/c",
            "c:/x",
            "x:y",
            "*",
            "a<b>|c",
            "\"quoted\"",
            "it's",
            "~home/x",
            "$HOME/`x`",
            "!x",
            "(x)",
            "{x}/[y]",
            "a,b;c",
            "@/x",
            "=x",
            "^",
            "-rf/-x",
            "_",
            "é/ü",
            "日本/語",
            "🧊/🏔",
            "مرحبا",
            ".../x",
            "..a/b..",
            ".hidden/.x",
        ],
    )
    .await;
}

pub(super) async fn percent_signs_are_not_decoded(t: Trial) {
    come_back(
        &t,
        &[
            "%2e%2e/x", "%2E%2E/x", "a%20b", "a b", "a+b", "%", "%%", "100%", "%2F", "a%2Fb",
            "a/b", "%00",
        ],
    )
    .await;
}

pub(super) async fn names_of_temporary_files_are_ordinary(t: Trial) {
    come_back(
        &t,
        &[
            "a/x.tmp",
            "a/.x.swp",
            "a/x~",
            "a/x.lock",
            "a/#1",
            "tmp/x",
            "lock",
            "CON",
            "nul.txt",
            "a/trailing.",
            "a/trailing ",
            " leading",
            "a/x.part",
            "icefield/x",
        ],
    )
    .await;
}

/// Stores two names that some file systems take for one. Either both are there, or the second was refused.
async fn kept_apart(t: &Trial, first: &str, second: &str) {
    t.store(first, "first").await;
    let both = stored_or_refused(t, second).await;
    t.expect(first, b"first").await;
    assert_eq!(t.keys("").await.len(), 1 + usize::from(both));
    for at in [first, second] {
        let _ = t.store.delete_one(key(at).into()).await.expect("deleted");
    }
    assert!(t.keys("").await.is_empty());
}

pub(super) async fn unicode_forms_are_kept_apart(t: Trial) {
    // `é` as one character, and as `e` with an accent.
    kept_apart(&t, "a/\u{e9}", "a/e\u{301}").await;
    kept_apart(&t, "e\u{301}/x", "\u{e9}/x").await;
}

pub(super) async fn upper_and_lower_case_are_kept_apart(t: Trial) {
    kept_apart(&t, "refs/branch.Main/ref.json", "refs/branch.main/ref.json").await;
    kept_apart(&t, "x/a", "x/A").await;
}

pub(super) async fn control_characters_come_back_or_are_refused(t: Trial) {
    for at in [
        "a\nb",
        "a/b\n",
        "tab\there",
        "\r",
        "a\u{1b}[31mred",
        "del\u{7f}",
        "\u{1}",
        "a\u{85}b",
    ] {
        if stored_or_refused(&t, at).await {
            assert_eq!(t.keys("").await, [at]);
            let _ = t.store.delete_one(key(at).into()).await.expect("deleted");
        }
        assert!(t.keys("").await.is_empty());
    }
}

pub(super) async fn long_keys_are_ordinary(t: Trial) {
    let segment = "s".repeat(255);
    let accents = format!("{}x", "é".repeat(127));
    let longest = vec!["l".repeat(204); 5].join("/");
    assert_eq!(
        (segment.len(), accents.len(), longest.len()),
        (255, 255, 1024)
    );
    let folder = format!("{segment}/{segment}");
    come_back(&t, &[&format!("x/{segment}"), &accents, &longest, &folder]).await;
}

pub(super) async fn too_long_keys_are_refused_before_the_store(t: Trial) {
    let long = format!("{}/12345", vec!["l".repeat(203); 5].join("/"));
    assert_eq!(long.len(), 1025);
    assert!(matches!(
        Key::parse(&long),
        Err(KeyError::TooLong { length: 1025, .. })
    ));
    let segment = format!("a/{}", "s".repeat(256));
    assert!(matches!(
        Key::parse(&segment),
        Err(KeyError::SegmentTooLong { length: 256, .. })
    ));
    assert!(t.keys("").await.is_empty());
}

pub(super) async fn object_and_folder_of_one_name(t: Trial) {
    for (first, second) in [("a/b", "a/b/c"), ("x/y/z", "x/y"), ("p", "p/q/r/s")] {
        t.store(first, "first").await;
        let mut both = false;
        for mode in [PutMode::Overwrite, PutMode::Create] {
            if mode == PutMode::Create && !t.store.capabilities().conditional_create {
                continue;
            }
            match t
                .store
                .put(&key(second), "second".into(), mode.clone().into())
                .await
            {
                Ok(PutOutcome::Written(_)) => both = true,
                Ok(PutOutcome::Refused) if both && mode == PutMode::Create => {}
                Err(StorageError::NotAnObject { .. } | StorageError::Unsupported { .. })
                    if !both => {}
                other => panic!("{second:?} beside {first:?}: {other:?}"),
            }
        }
        t.expect(first, b"first").await;
        if both {
            t.expect(second, b"second").await;
        } else {
            t.expect_absent(second).await;
        }
        let _ = t
            .store
            .delete_one(key(second).into())
            .await
            .expect("nothing to delete is no error");
        t.expect(first, b"first").await;
        let _ = t
            .store
            .delete_one(key(first).into())
            .await
            .expect("deleted");
        assert!(t.keys("").await.is_empty());
    }
}

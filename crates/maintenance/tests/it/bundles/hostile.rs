//! Bundles of objects, names and orders that no bundle has.

use bytes::Bytes;
use icefield_core::SnapshotId;
use icefield_format::{SpecVersion, layout};
use icefield_maintenance::{BundleRepository, CopyError};
use icefield_testkit::stores;

use super::forged::{Entries, forged};
use super::{bundle, unbundle};
use crate::copies::empty;
use crate::source::Source;

#[tokio::test]
async fn a_hostile_bundle_is_refused_and_writes_nothing() {
    let source = Source::with_history().await;
    let dump = stores::dump(&source.storage()).await;
    let initial = format!("snapshots/{}", SnapshotId::INITIAL);
    let initial = (initial.as_str(), &dump[initial.as_str()][..]);
    let tip = format!("snapshots/{}", source.tip("main").await);
    let tip = (tip.as_str(), &dump[tip.as_str()][..]);
    let main: (&str, &[u8]) = (
        "refs/branch.main/ref.json",
        &dump["refs/branch.main/ref.json"],
    );
    let chunk = |name: &'static str| (name, &b"x"[..]);
    let (one, two) = (
        chunk("chunks/00000000000000000000"),
        chunk("chunks/ZZZZZZZZZZZZZZZZZZZG"),
    );
    let cases: &[&[(&str, &[u8])]] = &[
        &[initial, chunk("../outside")],
        &[initial, chunk("/etc/passwd")],
        &[initial, chunk("chunks/../../x")],
        &[initial, chunk("chunks/not-an-id")],
        &[initial, chunk("chunks/zzzzzzzzzzzzzzzzzzzg")],
        &[initial, chunk("icefield/leases/x")],
        &[initial, chunk("refs/branch.a/b/ref.json")],
        &[initial, chunk("refs/branch.a%2Fb/ref.json")],
        &[initial, chunk("refs/branch.%2e%2e/ref.json")],
        &[initial, chunk("repo")],
        &[initial, chunk("")],
        &[initial, two, one],
        &[initial, one, one],
        &[one, initial],
        &[initial, initial],
        &[initial, tip],
        &[initial, main],
        &[main],
        &[initial, ("refs/branch.main/ref.json", b"{")],
        &[initial, ("config.yaml", b"[")],
        &[(initial.0, b"x")],
        &[initial, (tip.0, initial.1)],
        &[("icefield-bundle.json", b"{}")],
    ];
    for case in cases {
        let to = empty();
        let error = unbundle(&forged(case), &to).await.expect_err("hostile");
        assert!(
            matches!(
                error,
                CopyError::BadBundle { .. } | CopyError::Dangling { .. }
            ),
            "{:?}: {error:?}",
            case.iter().map(|it| it.0).collect::<Vec<_>>()
        );
        assert_eq!(stores::keys(&to).await, [""; 0], "{error:?}");
    }
    // The forge itself is sound.
    unbundle(&forged(&[initial]), &empty()).await.unwrap();
    for other in [&b""[..], b"x", &[0; 1024], &[0xff; 4096]] {
        let other = Bytes::copy_from_slice(other);
        assert!(unbundle(&other, &empty()).await.is_err());
    }
}

#[tokio::test]
async fn a_hostile_bundle_of_version_2_is_refused_and_writes_nothing() {
    let source = Source::new_in(SpecVersion::V2).await;
    let (file, _) = bundle(&source.repository, BundleRepository::new()).await;
    let whole = Entries::of(&file);
    let names: Vec<_> = whole.all.iter().map(|it| it.0.clone()).collect();
    let initial = layout::snapshot_key(SnapshotId::INITIAL);
    assert_eq!(names.first(), Some(&initial));
    assert_eq!(names.last().map(String::as_str), Some(layout::REPO));
    let repo = whole.clone().bytes(layout::REPO).clone();
    let strange: &[(&str, &[u8])] = &[
        ("../outside", b"x"),
        ("/etc/passwd", b"x"),
        ("chunks/../../x", b"x"),
        ("chunks/not-an-id", b"x"),
        ("chunks/00000000000000000000", b"x"),
        ("icefield/leases/x", b"x"),
        (
            "overwritten/repo.30708448901444.WEAJR90VHSKJEVR0SJY0",
            &repo,
        ),
        ("refs/branch.main/ref.json", b"{}"),
        ("refs/branch.%2e%2e/ref.json", b"{}"),
        ("config.yaml", b"{}"),
        ("repo/x", &repo),
        ("", b"x"),
        (&initial, b"x"),
        ("icefield-bundle.json", b"{}"),
    ];
    let mut hostile = Vec::new();
    for (name, bytes) in strange {
        for at in [0, 1, whole.all.len()] {
            let mut entries = whole.clone();
            entries.all.insert(at, ((*name).to_owned(), bytes.to_vec()));
            hostile.push((format!("{name} at {at}"), entries));
        }
    }
    let mut with = |what: &str, change: &dyn Fn(&mut Entries)| {
        let mut entries = whole.clone();
        change(&mut entries);
        hostile.push((what.to_owned(), entries));
    };
    with("repo twice", &|it| {
        it.all.push((layout::REPO.to_owned(), repo.clone()))
    });
    with("repo first", &|it| it.all.rotate_right(1));
    with("no repo", &|it| it.remove(layout::REPO));
    with("repo is none", &|it| {
        *it.bytes(layout::REPO) = b"{}".to_vec()
    });
    with("no first snapshot", &|it| it.remove(&initial));
    with("an index of version 1", &|it| {
        let mut index: serde_json::Value = serde_json::from_slice(&it.index).unwrap();
        index["spec_version"] = 1.into();
        it.index = index.to_string().into();
    });
    for (what, entries) in hostile {
        let to = empty();
        let Err(error) = unbundle(&entries.file(), &to).await else {
            panic!("{what} was taken");
        };
        assert!(
            matches!(
                error,
                CopyError::BadBundle { .. } | CopyError::Dangling { .. }
            ),
            "{what}: {error:?}"
        );
        assert_eq!(stores::keys(&to).await, [""; 0], "{what}: {error:?}");
    }
    // The forge itself is sound.
    unbundle(&whole.file(), &empty()).await.unwrap();
}

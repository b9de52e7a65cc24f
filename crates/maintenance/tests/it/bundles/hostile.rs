//! Bundles of objects, names and orders that no bundle has.

use bytes::Bytes;
use icefield_core::SnapshotId;
use icefield_maintenance::CopyError;
use icefield_testkit::stores;

use super::forged::forged;
use super::unbundle;
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

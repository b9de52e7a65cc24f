//! The repositories that the reference implementation wrote are sound.

use icefield_maintenance::FindingKind;
use icefield_testkit::fixtures;

use super::{check, kinds, memory};

#[tokio::test]
async fn the_repositories_of_the_reference_implementation_are_clean() {
    let names = fixtures::names("v1-");
    assert!(names.len() > 10);
    for name in names {
        let storage = memory();
        fixtures::load(&name, &storage).await;
        let report = check(&storage).await;
        assert_eq!(kinds(&report), [], "{name}: {report:#?}");
        // Snapshots that were released, or lost their branch, are what is left to tell of.
        let notes = [FindingKind::Garbage, FindingKind::VirtualCounted];
        assert!(
            report.kinds.keys().all(|kind| notes.contains(kind)),
            "{name}: {report:#?}"
        );
    }
}

#[tokio::test]
async fn repositories_of_spec_version_2_are_refused_by_name() {
    for name in fixtures::names("v2-") {
        let storage = memory();
        fixtures::load(&name, &storage).await;
        let result = icefield_maintenance::Check::new(storage).run(&()).await;
        match result {
            Err(icefield_maintenance::CheckError::NewerSpecVersion { .. }) => {}
            // Also where refs of the version before were kept: a repair would take `repo` for a stray.
            other => panic!("{name}: {other:?}"),
        }
    }
}

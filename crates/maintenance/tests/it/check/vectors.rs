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
async fn so_are_those_of_spec_version_2() {
    let names = fixtures::names("v2-");
    assert!(names.len() > 10);
    for name in names {
        let storage = memory();
        fixtures::load(&name, &storage).await;
        let report = check(&storage).await;
        assert_eq!(kinds(&report), [], "{name}: {report:#?}");
        // One was set to read-only.
        let is_read_only = report.kinds.contains_key(&FindingKind::RepoNotOnline);
        assert_eq!(is_read_only, name == "v2-operations", "{name}");
        let notes = [
            FindingKind::Garbage,
            FindingKind::VirtualCounted,
            FindingKind::RepoNotOnline,
        ];
        assert!(
            report.kinds.keys().all(|kind| notes.contains(kind)),
            "{name}: {report:#?}"
        );
        assert_eq!(report.spec_version, 2, "{name}");
        assert!(report.transaction_logs >= report.snapshots - 1, "{name}");
    }
}

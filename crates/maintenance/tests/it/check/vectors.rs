//! The repositories that the reference implementation wrote are sound.

use icefield_testkit::fixtures;

use super::{check, memory};

#[tokio::test]
async fn the_repositories_of_the_reference_implementation_are_clean() {
    for name in fixtures::names("v1-") {
        let storage = memory();
        fixtures::load(&name, &storage).await;
        let report = check(&storage).await;
        for it in &report.findings {
            println!(
                "{name}: {:?} {:?} {} {:?} {:?} {} x{}",
                it.severity, it.kind, it.key, it.path, it.index, it.rule, it.count
            );
        }
    }
}

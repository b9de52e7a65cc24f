//! Every crash of every scenario, on the local disk.

use icefield::Fsync;
use icefield_core::test_suite::crash::{Fault, Scenario, every_fault, scenarios};
use icefield_core::test_suite::{Trial, block_on};
use icefield_format::SpecVersion;

use crate::suite::local;

/// Survival of a loss of power is the backend's own test; here each operation is whole, so that nothing is
/// gained by waiting for the disk.
fn trial() -> Trial {
    Trial::new("crash-local", SpecVersion::V1, |_| async {
        local(Fsync::None)
    })
}

fn stopped_anywhere(scenario: &Scenario) {
    let report = block_on(every_fault(&trial(), scenario, &Fault::STOPS));
    println!("{}: {report:?}", scenario.name);
    assert!(report.operations > 0 && report.runs >= report.operations);
}

macro_rules! stopped_tests {
    ($($name:ident: $scenario:ident;)*) => {
        $(
            #[test]
            fn $name() {
                stopped_anywhere(&scenarios::$scenario);
            }
        )*
    };
}

stopped_tests! {
    a1_create_stopped_anywhere: CREATE;
    a1_open_or_create_stopped_anywhere: OPEN_OR_CREATE;
    a1_create_with_a_configuration_stopped_anywhere: CREATE_WITH_CONFIG;
    a1_a16_commits_stopped_anywhere: COMMITS;
    a1_saves_of_the_configuration_stopped_anywhere: SAVE_CONFIG;
    a1_the_creation_of_a_branch_stopped_anywhere: CREATE_BRANCH;
    a1_the_reset_of_a_branch_stopped_anywhere: RESET_BRANCH;
    a1_the_deletion_of_a_branch_stopped_anywhere: DELETE_BRANCH;
    a1_the_creation_of_a_tag_stopped_anywhere: CREATE_TAG;
    a1_the_deletion_of_a_tag_stopped_anywhere: DELETE_TAG;
}

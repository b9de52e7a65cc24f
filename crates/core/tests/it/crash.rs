//! Every crash of every scenario, on memory.

use std::sync::Arc;

use icefield_core::test_suite::crash::{
    Fault, Report, Scenario, every_fault, every_pair_of_stops, scenarios, some_pairs_of_stops,
};
use icefield_core::test_suite::{Trial, block_on};
use icefield_format::SpecVersion;
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;

fn every(trial: &Trial, scenario: &Scenario, faults: &[Fault]) {
    report(scenario, block_on(every_fault(trial, scenario, faults)));
}

fn report(scenario: &Scenario, report: Report) {
    println!("{}: {report:?}", scenario.name);
    assert!(report.operations > 0 && report.runs >= report.operations);
}

/// Makes a test for each scenario in each way.
macro_rules! crash_tests {
    ($($scenario:ident: $stop:ident $cancel:ident $panic:ident $hiccup:ident $pair:ident;)*) => {
        $(
            #[test]
            fn $stop() {
                every(&trial(), &scenarios::$scenario, &Fault::STOPS);
            }

            #[test]
            fn $cancel() {
                every(&trial(), &scenarios::$scenario, &Fault::CANCELS);
            }

            #[test]
            fn $panic() {
                every(&trial(), &scenarios::$scenario, &[Fault::Panic]);
            }

            #[test]
            fn $hiccup() {
                every(&trial(), &scenarios::$scenario, &Fault::HICCUPS);
            }

            crash_tests! { @pair $scenario $pair }
        )*
    };
    (@pair $scenario:ident too_long) => {};
    (@pair $scenario:ident $pair:ident) => {
        #[test]
        fn $pair() {
            let scenario = &scenarios::$scenario;
            report(scenario, block_on(every_pair_of_stops(&trial(), scenario)));
        }
    };
}

/// Makes the tests of one version.
macro_rules! every_scenario {
    ($spec:expr) => {
        fn trial() -> Trial {
            Trial::new("crash", $spec, |_| async {
                Arc::new(MemoryStorage::new()) as Arc<dyn Storage>
            })
        }

        crash_tests! {
            CREATE:
                a1_create_stopped_anywhere
                a17_create_cancelled_anywhere
                h106_create_with_a_panic_anywhere
                create_with_one_failure_anywhere
                create_stopped_and_its_recovery_stopped;
            OPEN_OR_CREATE:
                a1_open_or_create_stopped_anywhere
                a17_open_or_create_cancelled_anywhere
                h106_open_or_create_with_a_panic_anywhere
                open_or_create_with_one_failure_anywhere
                open_or_create_stopped_and_its_recovery_stopped;
            CREATE_WITH_CONFIG:
                a1_create_with_a_configuration_stopped_anywhere
                a17_create_with_a_configuration_cancelled_anywhere
                h106_create_with_a_configuration_with_a_panic_anywhere
                create_with_a_configuration_with_one_failure_anywhere
                create_with_a_configuration_stopped_and_its_recovery_stopped;
            COMMITS:
                a1_a16_commits_stopped_anywhere
                a17_commits_cancelled_anywhere
                h106_commits_with_a_panic_anywhere
                commits_with_one_failure_anywhere
                too_long;
            SAVE_CONFIG:
                a1_saves_of_the_configuration_stopped_anywhere
                a17_saves_of_the_configuration_cancelled_anywhere
                h106_saves_of_the_configuration_with_a_panic_anywhere
                saves_of_the_configuration_with_one_failure_anywhere
                saves_of_the_configuration_stopped_and_their_recovery_stopped;
            CREATE_BRANCH:
                a1_the_creation_of_a_branch_stopped_anywhere
                a17_the_creation_of_a_branch_cancelled_anywhere
                h106_the_creation_of_a_branch_with_a_panic_anywhere
                the_creation_of_a_branch_with_one_failure_anywhere
                the_creation_of_a_branch_stopped_and_its_recovery_stopped;
            RESET_BRANCH:
                a1_the_reset_of_a_branch_stopped_anywhere
                a17_the_reset_of_a_branch_cancelled_anywhere
                h106_the_reset_of_a_branch_with_a_panic_anywhere
                the_reset_of_a_branch_with_one_failure_anywhere
                the_reset_of_a_branch_stopped_and_its_recovery_stopped;
            DELETE_BRANCH:
                a1_the_deletion_of_a_branch_stopped_anywhere
                a17_the_deletion_of_a_branch_cancelled_anywhere
                h106_the_deletion_of_a_branch_with_a_panic_anywhere
                the_deletion_of_a_branch_with_one_failure_anywhere
                the_deletion_of_a_branch_stopped_and_its_recovery_stopped;
            CREATE_TAG:
                a1_the_creation_of_a_tag_stopped_anywhere
                a17_the_creation_of_a_tag_cancelled_anywhere
                h106_the_creation_of_a_tag_with_a_panic_anywhere
                the_creation_of_a_tag_with_one_failure_anywhere
                the_creation_of_a_tag_stopped_and_its_recovery_stopped;
            DELETE_TAG:
                a1_the_deletion_of_a_tag_stopped_anywhere
                a17_the_deletion_of_a_tag_cancelled_anywhere
                h106_the_deletion_of_a_tag_with_a_panic_anywhere
                the_deletion_of_a_tag_with_one_failure_anywhere
                the_deletion_of_a_tag_stopped_and_its_recovery_stopped;
        }
    };
}

every_scenario!(SpecVersion::V1);

/// Makes the tests of commits with small chunks in packs.
macro_rules! packed_commits {
    ($spec:expr, $($scenario:ident)*) => {
        fn trial() -> Trial {
            let memory = |_| async { Arc::new(MemoryStorage::new()) as Arc<dyn Storage> };
            Trial::new("crash", $spec, memory).packed()
        }

        #[test]
        fn commits_of_packs_stopped_anywhere() {
            $(every(&trial(), &scenarios::$scenario, &Fault::STOPS);)*
        }

        #[test]
        fn commits_of_packs_cancelled_anywhere() {
            $(every(&trial(), &scenarios::$scenario, &Fault::CANCELS);)*
        }

        #[test]
        fn commits_of_packs_with_a_panic_anywhere() {
            $(every(&trial(), &scenarios::$scenario, &[Fault::Panic]);)*
        }

        #[test]
        fn commits_of_packs_with_one_failure_anywhere() {
            $(every(&trial(), &scenarios::$scenario, &Fault::HICCUPS);)*
        }
    };
}

mod packed {
    use super::*;

    packed_commits! { SpecVersion::V1, COMMITS }
}

mod packed_v2 {
    use super::*;

    packed_commits! { SpecVersion::V2, COMMITS AMEND }
}

crash_tests! {
    UPGRADE:
        an_upgrade_stopped_anywhere
        an_upgrade_cancelled_anywhere
        an_upgrade_with_a_panic_anywhere
        an_upgrade_with_one_failure_anywhere
        too_long;
}

/// All pairs take minutes. They are tried if the variable is set.
#[test]
fn an_upgrade_stopped_and_its_recovery_stopped() {
    let (trial, scenario) = (trial(), &scenarios::UPGRADE);
    let pairs = match std::env::var_os("ICEFIELD_EVERY_PAIR") {
        Some(_) => block_on(every_pair_of_stops(&trial, scenario)),
        None => block_on(some_pairs_of_stops(&trial, scenario, 0x00C2_A5E5, 120)),
    };
    report(scenario, pairs);
}

mod spec_v2 {
    use super::*;

    every_scenario!(SpecVersion::V2);

    crash_tests! {
        AMEND:
            a1_amends_stopped_anywhere
            a17_amends_cancelled_anywhere
            h106_amends_with_a_panic_anywhere
            amends_with_one_failure_anywhere
            too_long;
    }
}

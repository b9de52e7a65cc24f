//! The suite itself is tested: a correct store passes all of it, and each of many stores that are broken in
//! one way fails the cases about that way.

#[path = "broken_stores/flawed.rs"]
mod flawed;

use std::collections::BTreeSet;
use std::sync::Arc;

use flawed::{Flaw, Flawed};
use icefield_storage::Storage;
use icefield_storage::conformance::{Effort, cases, failures};
use icefield_storage_memory::MemoryStorage;

/// Runs the suite against stores with `flaw` and asserts that at least these cases fail.
async fn assert_caught(flaw: Flaw, by: &[&str]) {
    // Small objects and few rounds suffice to be caught; lists still need their second page.
    let effort = Effort {
        rounds: 20,
        many: 1010,
        large: 2 << 20,
        ..Effort::default()
    };
    let make = |_| async move { Arc::new(Flawed::new(flaw)) as Arc<dyn Storage> };
    let failed: BTreeSet<&str> = failures(make, &effort)
        .await
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let known: BTreeSet<&str> = cases().iter().map(|case| case.name).collect();
    for case in by {
        assert!(known.contains(case), "there is no case {case}");
        assert!(
            failed.contains(case),
            "{flaw:?} must fail {case}, fails only {failed:?}"
        );
    }
    assert!(
        failed.len() < known.len() * 3 / 4,
        "one flaw, yet nearly all fails: {failed:?}"
    );
}

macro_rules! caught {
    ($($test:ident: $flaw:ident by [$($case:ident),* $(,)?];)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                assert_caught(Flaw::$flaw, &[$(stringify!($case)),*]).await;
            }
        )*
    };
}

caught! {
    ignored_update_condition_is_caught: IgnoresUpdate by [
        update_loses_to_a_newer_state,
        update_of_a_missing_object_is_refused,
        update_with_a_foreign_version_is_refused,
        a_state_never_comes_back,
        conditions_hold_for_streams,
        racing_updates_have_one_winner,
        counted_updates_are_never_lost,
    ];
    ignored_create_condition_is_caught: IgnoresCreate by [
        create_loses_to_an_existing_object,
        put_immutable_accepts_its_own_bytes_only,
        conditions_hold_for_streams,
        racing_creates_have_one_winner,
    ];
    check_then_write_is_caught: ChecksThenWrites by [
        racing_creates_have_one_winner,
        racing_updates_have_one_winner,
        counted_updates_are_never_lost,
    ];
    unordered_list_is_caught: UnorderedList by [
        list_is_in_byte_order,
        list_compares_whole_segments,
        list_beyond_one_page,
    ];
    list_of_one_page_is_caught: ListsOnePage by [list_beyond_one_page];
    prefix_by_text_is_caught: ListsByText by [
        list_compares_whole_segments,
        list_of_an_absent_prefix_is_empty,
    ];
    short_bodies_are_caught: ShortBodies by [
        put_makes_the_object_readable,
        large_object_comes_back,
        range_reaches_both_ends,
        ranged_read_describes_the_whole_object,
    ];
    ranges_cut_at_the_end_are_caught: CutsRanges by [
        range_past_the_end_is_an_error,
        ranges_of_an_empty_object,
    ];
    ignored_read_conditions_are_caught: IgnoresReadConditions by [
        if_match_reads_only_the_named_state,
        if_none_match_reads_only_news,
        if_unmodified_since_compares_the_stores_time,
    ];
    versions_from_content_are_caught: VersionsFromContent by [
        versions_change_when_the_same_bytes_are_written_again,
        a_state_never_comes_back,
        a_recreated_object_is_another_state,
    ];
    broken_streams_kept_are_caught: KeepsBrokenStreams by [
        failed_stream_stores_nothing,
        failed_stream_leaves_the_old_object,
        short_stream_stores_nothing,
        long_stream_stores_nothing,
    ];
    writes_in_two_steps_are_caught: WritesInTwoSteps by [
        readers_see_old_or_new_never_a_mix,
        dropped_put_leaves_old_or_new,
    ];
    deleting_the_missing_as_an_error_is_caught: FailsToDeleteMissing by [
        delete_of_the_missing_succeeds,
        delete_answers_in_order_of_input,
    ];
    ignored_delete_condition_is_caught: IgnoresDeleteCondition by [
        delete_of_one_state,
        delete_of_one_state_of_the_missing_is_refused,
        racing_deletes_have_one_winner,
    ];
    decoded_percent_signs_are_caught: DecodesPercent by [percent_signs_are_not_decoded];
    careless_blocking_reads_are_caught: BlockingReadsAll by [blocking_read_agrees_with_get];
    folded_case_is_caught: FoldsCase by [upper_and_lower_case_are_kept_apart];
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn correct_store_passes() {
    let make = |_| async { Arc::new(MemoryStorage::new()) as Arc<dyn Storage> };
    assert_eq!(failures(make, &Effort::default()).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrapper_without_flaw_passes() {
    let make = |_| async { Arc::new(Flawed::new(Flaw::None)) as Arc<dyn Storage> };
    assert_eq!(failures(make, &Effort::default()).await, []);
}

/// The suite passes by, without asking for a store, where its variable is not set.
mod skipped {
    use super::*;

    async fn nowhere(case: &str) -> Arc<dyn Storage> {
        panic!("{case} must not run")
    }

    icefield_storage::conformance_tests! {
        nowhere,
        skip_unless_env = "ICEFIELD_TEST_VARIABLE_THAT_NOBODY_SETS",
        effort = Effort::slow(),
        except = [put_makes_the_object_readable],
    }
}

#[test]
fn case_names_are_unique() {
    let names: BTreeSet<&str> = cases().iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases().len());
}

//! The suite itself is tested: a correct store passes all of it, and each of many stores that are broken in
//! one way fails the cases about that way. So do stores that are broken below the layer for networks, save in what
//! the layer makes good.

mod flawed;
mod remote;

use std::collections::BTreeSet;
use std::sync::Arc;

use flawed::{Flaw, Flawed};
use futures::{StreamExt, TryStreamExt};
use icefield_storage::conformance::{Effort, Subject, cases, failures};
use icefield_storage::remote::{RemoteSettings, RemoteStorage, RetrySettings};
use icefield_storage::{ListOptions, Payload, PutMode, PutOutcome, Storage, StorageError};
use icefield_storage_memory::MemoryStorage;
use remote::{Broken, RemoteFlaw};

/// Small objects and few rounds suffice to be caught; lists still need their second page.
fn effort() -> Effort {
    Effort {
        rounds: 20,
        many: 1010,
        large: 2 << 20,
        ..Effort::default()
    }
}

fn flawed(flaw: Flaw) -> Subject {
    let store = Flawed::new(flaw);
    let planted = store.clone();
    // The names that are planted into stores without this flaw are no part of theirs.
    let plants = matches!(
        flaw,
        Flaw::None | Flaw::DropsUnreadable | Flaw::StopsAtUnreadable
    );
    Subject::with_plant(Arc::new(store), move |name| {
        std::future::ready(plants && planted.plant(&name))
    })
}

/// Runs the suite against stores with `flaw` and asserts that at least these cases fail.
async fn assert_caught(flaw: Flaw, by: &[&str]) {
    let failed = failures(|_| async move { flawed(flaw) }, &effort()).await;
    assert_fails(&format!("{flaw:?}"), failed, by);
}

fn assert_fails(flaw: &str, failed: Vec<(&'static str, String)>, by: &[&str]) {
    let failed: BTreeSet<&str> = failed.into_iter().map(|(name, _)| name).collect();
    let known: BTreeSet<&str> = cases().iter().map(|case| case.name).collect();
    for case in by {
        assert!(known.contains(case), "there is no case {case}");
        assert!(
            failed.contains(case),
            "{flaw} must fail {case}, fails only {failed:?}"
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
    unreadable_names_left_out_are_caught: DropsUnreadable by [
        list_names_what_is_no_object_and_goes_on,
        list_names_what_is_no_object_below_a_prefix,
        list_names_what_is_no_object_after_a_key,
        list_names_what_is_no_object_beyond_a_page,
        what_is_no_object_outlives_the_objects_around_it,
    ];
    lists_that_end_at_an_unreadable_name_are_caught: StopsAtUnreadable by [
        list_names_what_is_no_object_and_goes_on,
        list_names_what_is_no_object_beyond_a_page,
    ];
    prefix_by_text_is_caught: ListsByText by [
        list_compares_whole_segments,
        list_of_an_absent_prefix_is_empty,
    ];
    lists_that_end_by_text_are_caught: EndsByText by [list_that_may_end_has_all_keys_before];
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

/// Parts of both ways, no pauses.
fn settings(trusting: bool) -> RemoteSettings {
    let pause = std::time::Duration::ZERO;
    // As many attempts as by default: with few of them, eight writers of one object may replace it each time that one
    // of them reads it.
    let retry = RetrySettings::default()
        .with_pauses(pause, pause)
        .with_rate(1_000_000, 1_000_000);
    let mut settings = RemoteSettings::default()
        .with_retry(retry)
        .with_multipart(1 << 20, 1 << 18)
        .with_parallel_reads(1 << 20);
    settings.trust_conditions = trusting;
    settings
}

/// Returns a storage over a store behind a network.
fn over_network(flaw: RemoteFlaw, trusting: bool) -> RemoteStorage {
    RemoteStorage::new(Broken::new(flaw), settings(trusting))
}

/// Returns a storage with `settings` over a store behind a network into which names can be planted.
fn planting(flaw: RemoteFlaw, settings: RemoteSettings) -> Subject {
    let store = Broken::new(flaw);
    let storage = RemoteStorage::new(store.clone(), settings);
    Subject::with_plant(Arc::new(storage), move |name| {
        std::future::ready(store.plant(&name))
    })
}

/// Runs the suite against stores that are broken below the layer for networks, and that are trusted.
async fn remote_failures(flaw: RemoteFlaw) -> Vec<(&'static str, String)> {
    let make = |_| async move { planting(flaw, settings(true)) };
    failures(make, &effort()).await
}

macro_rules! caught_below {
    ($($test:ident: $flaw:ident by [$($case:ident),* $(,)?];)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                let failed = remote_failures(RemoteFlaw::$flaw).await;
                assert_fails(stringify!($flaw), failed, &[$(stringify!($case)),*]);
            }
        )*
    };
}

caught_below! {
    if_match_ignored_below_is_caught: IgnoresIfMatch by [
        update_loses_to_a_newer_state,
        update_of_a_missing_object_is_refused,
        conditions_hold_for_large_objects,
        racing_updates_have_one_winner,
        counted_updates_are_never_lost,
    ];
    a_gap_between_check_and_write_below_is_caught: ChecksThenWrites by [
        racing_creates_have_one_winner,
        racing_updates_have_one_winner,
        counted_updates_are_never_lost,
    ];
    conditions_forgotten_by_uploads_are_caught: ForgetsConditionsOfUploads by [
        conditions_hold_for_large_objects,
        racing_large_creates_have_one_winner,
    ];
    unordered_pages_below_are_caught: UnorderedLaterPages by [
        list_beyond_one_page,
    ];
    unreadable_names_left_out_below_are_caught: DropsUnreadable by [
        list_names_what_is_no_object_and_goes_on,
        list_names_what_is_no_object_beyond_a_page,
    ];
    repeated_pages_are_caught: RepeatsPages by [
        list_beyond_one_page,
        list_starts_after_beyond_a_page,
    ];
    ignored_ranges_are_caught: IgnoresRanges by [
        range_reaches_both_ends,
        ranges_across_the_parts_of_a_large_object,
    ];
    parts_of_another_state_are_caught: IgnoresIfMatchOfReads by [
        if_match_reads_only_the_named_state,
        a_large_object_that_is_replaced_is_never_mixed,
    ];
    own_writes_refused_and_forgotten_are_caught: RefusesAndForgets by [
        create_makes_a_missing_object,
        update_replaces_the_named_state,
        racing_creates_have_one_winner,
    ];
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bodies_truncated_below_are_never_shorter_data() {
    let failed = remote_failures(RemoteFlaw::TruncatesReads).await;
    let said = |case: &str| failed.iter().find(|(name, _)| *name == case);
    for case in ["put_makes_the_object_readable", "large_object_comes_back"] {
        assert!(said(case).is_some(), "{case} must fail: {failed:?}");
    }
}

/// A flaw that the layer makes good is none any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_layer_makes_good_what_it_can() {
    for flaw in [
        RemoteFlaw::None,
        RemoteFlaw::TruncatesFirstReads,
        RemoteFlaw::RefusesItsOwnWrites,
        // The first page shows it, and the list is sorted.
        RemoteFlaw::UnorderedList,
    ] {
        assert_eq!(remote_failures(flaw).await, [], "{flaw:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lists_are_sorted_by_the_layer_where_it_is_told() {
    for flaw in [RemoteFlaw::UnorderedList, RemoteFlaw::UnorderedLaterPages] {
        let make = |_| async move { planting(flaw, settings(true).sorting_lists(2000)) };
        assert_eq!(failures(make, &effort()).await, [], "{flaw:?}");
    }
}

#[tokio::test]
async fn lists_that_are_too_long_to_be_sorted_are_refused() {
    let settings = settings(true).sorting_lists(3);
    let storage = RemoteStorage::new(Broken::new(RemoteFlaw::UnorderedList), settings);
    for (count, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let listed = storage.list(ListOptions::default()).try_collect::<Vec<_>>();
        assert_eq!(listed.await.expect("short enough").len(), count);
        let at = icefield_storage::Key::parse(name).expect("a key");
        let put = storage.put(&at, "x".into(), PutMode::Create.into()).await;
        assert!(matches!(put, Ok(PutOutcome::Written(_))), "{put:?}");
    }
    let listed = storage.list(ListOptions::default()).try_collect::<Vec<_>>();
    let error = listed.await.expect_err("too long").to_string();
    assert!(error.contains("`list_entries`"), "{error}");
}

/// A store that is not trusted is found out by the probe of the layer, where a probe can tell.
#[tokio::test]
async fn the_layer_finds_out_who_ignores_conditions() {
    for (flaw, found_out) in [
        (RemoteFlaw::None, false),
        (RemoteFlaw::IgnoresIfMatch, true),
        // A gap shows in races only.
        (RemoteFlaw::ChecksThenWrites, false),
    ] {
        let storage = over_network(flaw, false);
        let at = icefield_storage::Key::parse("a").expect("a key");
        let put = storage.put(&at, "x".into(), PutMode::Create.into()).await;
        let refused = matches!(put, Err(StorageError::Unsupported { .. }));
        assert_eq!(refused, found_out, "{flaw:?}: {put:?}");
    }
}

/// The store takes 4 MiB in one put, and a hundred parts of 256 KiB or more.
#[tokio::test]
async fn f96_the_limits_of_a_store_decide_how_many_parts_there_are() {
    let store = Broken::new(RemoteFlaw::None);
    let settings = RemoteSettings::default()
        .with_multipart(u64::MAX, 1)
        .trusting_conditions();
    let storage = RemoteStorage::new(store.clone(), settings);
    let at = icefield_storage::Key::parse("a").expect("a key");
    let payload = |size: usize, known: bool| {
        let parts = (0..size / 1000).map(|_| Ok(vec![7_u8; 1000].into()));
        let rest = Ok(vec![7_u8; size % 1000].into());
        let stream = futures::stream::iter(parts.chain([rest]));
        Payload::Stream {
            size: known.then_some(size as u64),
            stream: stream.boxed(),
        }
    };
    let mut finished = Vec::new();
    for (size, parts) in [
        (0, None),
        (4 << 20, None),
        ((4 << 20) + 1, Some(17)),
        // As many parts as there may be, each larger than it need be.
        (30 << 20, Some(100)),
    ] {
        for payload in [Payload::from(vec![7; size]), payload(size, true)] {
            let put = storage.put(&at, payload, PutMode::Overwrite.into()).await;
            assert!(matches!(put, Ok(PutOutcome::Written(_))), "{put:?}");
            finished.extend(parts);
            assert_eq!(store.uploads(), (finished.clone(), 0), "{size} bytes");
            assert_eq!(storage.head(&at).await.expect("there").size, size as u64);
        }
    }
    // Whether a stream of unknown size fits cannot be told beforehand: an error, and nothing is left.
    let put = storage.put(&at, payload(30 << 20, false), PutMode::Overwrite.into());
    let put = put.await;
    assert!(
        matches!(put, Err(StorageError::Unsupported { .. })),
        "{put:?}"
    );
    assert_eq!(store.uploads(), (finished, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn correct_store_passes() {
    let make = |_| async { Arc::new(MemoryStorage::new()) as Arc<dyn Storage> };
    assert_eq!(failures(make, &Effort::default()).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn wrapper_without_flaw_passes() {
    let make = |_| async { flawed(Flaw::None) };
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

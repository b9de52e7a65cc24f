//! The one list of cases, from which the tests and the table are made.

use super::case::Case;

/// Calls another macro of this crate with its arguments and all cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_cases {
    ($callback:ident $arguments:tt) => {
        $crate::$callback! {
            $arguments
            puts:
                put_makes_the_object_readable
                put_replaces_the_whole_object
                create_makes_a_missing_object
                create_loses_to_an_existing_object
                create_succeeds_after_delete
                update_replaces_the_named_state
                update_loses_to_a_newer_state
                update_of_a_missing_object_is_refused
                update_with_a_foreign_version_is_refused
                update_chain_follows_returned_versions
                versions_agree_in_put_get_head_and_list
                versions_change_when_the_same_bytes_are_written_again
                a_state_never_comes_back
                a_recreated_object_is_another_state
                last_modified_never_goes_back
                put_immutable_accepts_its_own_bytes_only
                metadata_and_classes_are_accepted
                capabilities_are_constant
                sync_keeps_everything
                store_says_what_it_is;
            reads:
                missing_object_is_not_found
                ranged_read_describes_the_whole_object
                if_match_reads_only_the_named_state
                if_none_match_reads_only_news
                if_unmodified_since_compares_the_stores_time
                conditions_on_a_missing_object_are_not_found
                head_agrees_with_get_and_list
                blocking_read_agrees_with_get
                an_object_beyond_the_limit_is_not_read;
            ranges:
                range_reaches_both_ends
                empty_range_is_empty
                range_past_the_end_is_an_error
                range_backwards_is_an_error
                open_range_reads_to_the_end
                suffix_reads_the_last_bytes
                ranges_of_an_empty_object
                ranges_across_the_parts_of_a_large_object;
            payloads:
                empty_object_is_an_object
                large_object_comes_back
                sized_stream_is_stored
                unsized_stream_is_stored
                large_stream_is_stored
                empty_stream_is_an_empty_object
                failed_stream_stores_nothing
                failed_stream_leaves_the_old_object
                short_stream_stores_nothing
                long_stream_stores_nothing
                conditions_hold_for_streams
                conditions_hold_for_large_objects
                dropped_put_leaves_old_or_new;
            lists:
                list_compares_whole_segments
                list_is_in_byte_order
                list_of_all_keys
                list_beyond_one_page
                list_starts_after_a_key
                list_starts_after_beyond_a_page
                list_that_may_end_has_all_keys_before
                list_of_an_absent_prefix_is_empty
                list_of_an_object_as_a_prefix_is_empty
                list_describes_like_head
                list_without_versions_says_the_rest
                list_forgets_the_deleted
                list_can_be_dropped_midway;
            unreadable:
                list_names_what_is_no_object_and_goes_on
                list_names_what_is_no_object_below_a_prefix
                list_names_what_is_no_object_after_a_key
                list_names_what_is_no_object_beyond_a_page
                what_is_no_object_outlives_the_objects_around_it;
            deletes:
                delete_removes_the_object_alone
                delete_of_the_missing_succeeds
                delete_answers_in_order_of_input
                delete_of_one_state
                delete_of_one_state_of_the_missing_is_refused
                delete_of_nothing_answers_nothing
                delete_twice_in_one_call;
            copies:
                copy_leaves_the_source
                copy_of_the_missing_names_the_source
                copy_replaces
                copy_creates_or_is_refused
                copy_updates_or_is_refused
                copy_of_one_state
                copy_of_a_large_object_has_the_version_of_head;
            keys:
                odd_characters_come_back_verbatim
                percent_signs_are_not_decoded
                names_of_temporary_files_are_ordinary
                unicode_forms_are_kept_apart
                upper_and_lower_case_are_kept_apart
                control_characters_come_back_or_are_refused
                long_keys_are_ordinary
                too_long_keys_are_refused_before_the_store
                object_and_folder_of_one_name;
            races:
                racing_creates_have_one_winner
                racing_updates_have_one_winner
                racing_deletes_have_one_winner
                racing_update_and_delete_have_one_winner
                racing_create_and_overwrite_agree
                counted_updates_are_never_lost
                racing_large_creates_have_one_winner
                readers_see_old_or_new_never_a_mix
                a_large_object_that_is_replaced_is_never_mixed
                many_objects_at_once
                list_during_writes_shows_what_stays;
        }
    };
}

/// Makes the table.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_table {
    (() $($module:ident: $($case:ident)*;)*) => {
        vec![$($(
            $crate::conformance::Case {
                name: stringify!($case),
                run: |trial| ::std::boxed::Box::pin($crate::conformance::$module::$case(trial)),
            },
        )*)*]
    };
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    crate::__conformance_cases! { __conformance_table () }
}

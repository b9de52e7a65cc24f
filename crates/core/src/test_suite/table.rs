//! The one list of cases, from which the tests and the table are made.

use super::Case;

/// Calls another macro of this crate with its arguments and all cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __session_cases {
    ($callback:ident $arguments:tt) => {
        $crate::$callback! {
            $arguments
            repositories:
                an_empty_store_holds_no_repository
                what_is_created_is_there
                create_over_a_repository_is_refused
                open_or_create_does_what_is_needed
                create_refuses_a_store_in_use
                create_among_other_objects_only_if_asked
                create_finishes_a_creation_that_was_stopped
                racing_creates_have_one_winner
                a_newer_repository_is_refused_by_name
                an_upgrade_meanwhile_stops_a_commit
                a_handle_of_a_repository_is_cheap_to_share;
            sessions:
                a_read_session_refuses_every_write
                a_committed_session_refuses_every_write
                a_write_session_needs_a_branch
                a_read_session_keeps_its_snapshot
                clones_of_a_session_share_its_edits
                sessions_do_not_see_each_others_edits
                a_session_reads_its_edits_over_its_base
                discard_forgets_every_edit
                status_is_the_net_effect
                blocking_reads_agree_with_reads
                missing_nodes_are_absent_or_named
                an_open_session_comes_with_the_repository;
            nodes:
                metadata_comes_back_byte_for_byte
                equal_metadata_is_no_change
                a_write_if_absent_keeps_what_is_there
                an_update_keeps_the_node_id_and_the_chunks
                a_recreated_node_is_another_node
                a_group_and_an_array_do_not_become_each_other
                arrays_have_no_children
                parents_may_be_implicit
                a_delete_takes_the_subtree_alone
                delete_below_needs_no_node
                children_are_listed_by_segment
                invalid_metadata_is_refused_with_its_path
                an_array_can_be_the_root;
            chunks:
                chunks_come_back_whole_and_in_ranges
                ranges_outside_a_chunk_are_refused
                the_threshold_decides_between_inline_and_native
                a_chunk_is_stored_before_it_can_be_committed
                a_scalar_has_one_chunk
                a_dimension_of_length_zero_has_no_chunk
                chunks_outside_the_grid_are_absent_and_cannot_be_written
                h113_an_empty_chunk_is_refused
                deleted_chunks_are_absent
                the_last_write_of_a_chunk_wins
                chunks_belong_to_arrays
                many_chunks_of_many_arrays_come_back;
            boxes:
                a_box_goes_as_its_chunks_one_by_one
                a_box_has_the_rank_of_its_array;
            resizes:
                a_shrink_drops_what_is_outside
                a_growth_keeps_everything
                shrinking_and_growing_in_one_session_brings_nothing_back
                shrinking_and_growing_across_commits_brings_nothing_back
                a_shrink_drops_pending_chunks_too
                a_shrink_to_nothing_leaves_no_manifest
                each_dimension_is_cut_on_its_own
                another_number_of_dimensions_drops_every_chunk;
            shifts:
                shifted_chunks_are_where_they_were_shifted_to
                what_left_the_grid_does_not_come_back
                a_window_rolls_in_one_commit
                pending_chunks_and_deletions_move_along
                every_dimension_is_shifted_on_its_own
                resizes_and_shifts_follow_one_another
                a_log_tells_of_every_chunk_that_moved
                a_shift_and_another_commit_to_the_array_collide
                chunks_of_others_move_along_with_a_shift
                what_cannot_be_shifted_is_refused
                edits_follow_a_window_that_moved
                forks_do_not_mix_what_one_of_them_shifted
                edits_that_cannot_follow_are_refused
                chunks_are_given_other_places_one_by_one;
            grids:
                chunks_of_several_lengths_come_back;
            virtuals:
                locations_are_spelt_as_their_version_has_them;
            moves:
                a_log_names_net_moves
                edits_beside_a_move_are_carried_over
                edits_of_a_moved_node_collide_or_follow
                nothing_at_the_target_of_a_move_is_lost
                two_moves_of_one_node_collide_unless_they_agree
                a_rearranging_session_only_moves;
            commits:
                what_is_committed_is_read_back
                message_and_metadata_come_back
                a15_an_empty_commit_is_refused_unless_allowed
                a15_a_session_is_committed_once
                writes_in_flight_belong_to_the_commit
                an_array_that_changes_under_a_write_refuses_it
                h111_times_rise_whatever_the_clock_does
                untouched_arrays_keep_their_manifests
                a15_of_two_writers_one_is_refused_and_keeps_its_edits
                a_writer_of_another_process_is_noticed
                b22_a_branch_deleted_under_a_writer_stays_deleted
                b22_a_branch_reset_under_a_writer_is_noticed
                b23_a_branch_moved_away_and_back_is_noticed
                branches_are_committed_to_independently
                every_commit_of_many_writers_lands_once
                edits_pass_a_reset_of_their_branch
                racing_edits_of_one_ref_have_one_winner
                edits_discarded_after_a_lost_race_stay_discarded;
            files:
                a_rich_history_is_sound
                nodes_are_sorted_by_the_bytes_of_their_paths
                manifest_lists_and_extents_are_exact
                objects_lie_where_the_format_says
                equal_seeds_make_equal_bytes
                reading_writes_nothing;
            logs:
                a_log_names_new_nodes_and_their_chunks
                a_log_names_updates_once
                a_log_names_every_node_of_a_deleted_group
                a_log_names_both_of_a_recreated_node
                a_log_names_a_resize_as_an_update
                a_log_of_an_empty_commit_is_empty;
            refs:
                a_branch_is_created_moved_and_deleted
                main_cannot_be_deleted
                a_tag_is_for_ever_and_its_name_stays_taken
                a_ref_needs_a_snapshot
                odd_names_are_names
                invalid_names_are_refused
                strays_and_damaged_refs_leave_the_others_usable
                a_tombstone_decides_whatever_it_holds;
            revisions:
                a_revision_is_a_branch_a_tag_or_an_id
                a_revision_can_be_as_of_a_time
                a_history_has_an_end
                a_revision_that_is_not_there_is_named
                a_word_is_a_branch_else_a_tag_else_an_id
                ancestry_goes_from_the_newest_to_the_first;
            diffs:
                a_diff_is_the_net_effect
                a_diff_backwards_is_the_reverse
                what_is_changed_back_is_no_difference
                branches_are_compared_whatever_their_histories
                a_resize_shows_in_the_diff
                the_status_names_what_a_shift_moves
                a_status_of_shifts_is_the_diff_of_their_commit;
            configs:
                a_default_configuration_is_not_stored
                a_configuration_is_stored_and_obeyed
                settings_of_the_call_go_before_stored_ones
                a_configuration_can_be_changed
                b28_a_lost_update_of_the_configuration_is_refused
                unknown_keys_of_the_configuration_are_kept
                a_damaged_configuration_is_named;
        }
    };
}

/// Makes the table.
#[doc(hidden)]
#[macro_export]
macro_rules! __session_table {
    (() $($module:ident: $($case:ident)*;)*) => {
        vec![$($(
            $crate::test_suite::Case {
                name: stringify!($case),
                run: |trial| ::std::boxed::Box::pin($crate::test_suite::$module::$case(trial)),
            },
        )*)*]
    };
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    crate::__session_cases! { __session_table () }
}

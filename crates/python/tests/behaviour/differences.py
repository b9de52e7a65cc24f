"""Where a module under test deliberately differs from what a case expects, and why.

The cases state the right behaviour. A difference is named by the id of its case relative to this
directory, as pytest prints it; a name that ends in `*` covers every case that begins so. Some
differ in repositories of one format version only. Each
case named here is expected to fail on that module, because it sees something else than it expects
or, where that is said, by an exception that the module raises: a difference that has gone, or that
fails otherwise, fails the suite, and so does a name that covers no case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Difference(NamedTuple):
    """Why a case fails."""

    reason: str
    raised: tuple[str, ...] = ()
    """By what it may fail beside what it expects: classes of the module under test, of Python, or `Panic`."""
    always: bool = True
    """Whether it fails each time."""
    version: int | None = None
    """The format version whose repositories differ; None for all."""


def raising(reason: str, *raised: str) -> Difference:
    """A difference for which the module raises what the case does not expect."""
    return Difference(reason, raised)


def only_in(version: int, difference: str | Difference) -> Difference:
    """A difference in repositories of one format version."""
    return (Difference(difference) if isinstance(difference, str) else difference)._replace(
        version=version
    )


def covering(case: str, named: Mapping[str, Difference]) -> str | None:
    """The name that covers a case: the first that does."""
    for name in named:
        if case == name or (name.endswith("*") and case.startswith(name[:-1])):
            return name
    return None

_PARTS = raising(
    "a missing or faulty part of get_partial_values breaks the wrapper with a TypeError",
    "TypeError",
)
_GRID = "the grid check compares coordinates pairwise and so accepts too few and too many"

ICECHUNK: dict[str, str | Difference] = {
    "test_keys.py::test_exists_of_zarr_2_metadata_is_false*": raising(
        "exists raises a key error for the names of Zarr 2 metadata", "NodeNotFoundError"
    ),
    "test_keys.py::test_set_with_a_wrong_number_of_coordinates_is_an_error*": _GRID,
    "test_keys.py::test_set_of_an_index_of_a_scalar_is_an_error": _GRID,
    "test_keys.py::test_set_in_an_array_without_elements_is_an_error": (
        "index 0 of a dimension of length 0 is accepted and committed"
    ),
    "test_keys.py::test_a_name_that_ends_in_c_is_not_split*": (
        "a key is split at the last letter c, so abc/0/0 is read as a chunk of ab"
    ),
    "test_ranges.py::test_an_empty_range_of_a_chunk[stored*": raising(
        "an empty range of a chunk that is not inline is sent to the storage, which refuses it",
        "StorageError",
    ),
    "test_ranges.py::test_an_empty_suffix_of_a_chunk[stored]": raising(
        "an empty suffix of a chunk that is not inline is sent to the storage, which refuses it",
        "StorageError",
    ),
    "test_ranges.py::test_a_range_that_ends_before_it_starts_is_an_error*": raising(
        "a range that ends before it starts panics, or is an error of the storage",
        "Panic",
        "StorageError",
    ),
    "test_ranges.py::test_a_suffix_of_a_document*": (
        "a suffix of metadata is everything but the last n bytes"
    ),
    "test_ranges.py::test_a_part_beyond_a_document_is_an_error*": raising(
        "a range beyond the end of metadata panics", "Panic"
    ),
    "test_ranges.py::test_a_missing_part_is_nothing*": _PARTS,
    "test_ranges.py::test_a_missing_document_among_parts_is_nothing*": _PARTS,
    "test_ranges.py::test_what_was_written_is_not_changed_by_its_writer": (
        "a written buffer is kept by reference, so its writer can change what was stored"
    ),
    "test_documents.py::test_shrinking_and_growing_in_one_session_does_not_bring_chunks_back": (
        "chunks that fell outside a shrunken grid come back when it grows in the same session"
    ),
    "test_refs.py::test_branch_names_with_other_characters*": only_in(
        1, "branches are listed by their percent-encoded names, which then cannot be looked up"
    ),
    "test_refs.py::test_a_name_with_a_slash_is_answered_by_another": (
        "the message names the branch, and neither the rule nor a name that would do"
    ),
    "test_sessions.py::test_a_store_knows_that_it_is_readonly_after_the_commit": (
        "the property of the store is cached when the store is made"
    ),
    "test_sessions.py::test_with_read_only_refuses_to_write": (
        "the store that with_read_only(True) gives still writes"
    ),
    "test_commits.py::test_metadata_without_a_json_form_is_refused*": (
        "numbers without a JSON form are stored as null"
    ),
    "test_repositories.py::test_saving_a_config_twice[memory]": only_in(
        1,
        raising("a handle that saved its config in memory cannot save it again", "ConflictError"),
    ),
    "test_repositories.py::test_what_the_storage_does_by_itself_is_not_saved": (
        "defaults of a storage are saved as if they had been set"
    ),
    "test_pickling.py::test_an_in_memory_*": (
        "what lies in memory is pickled, and comes back without its data"
    ),
    "test_pickling.py::test_a_local_storage": raising("storages are not pickled", "TypeError"),
    "test_forks.py::test_two_forks_that_write_the_same_chunk_are_refused": (
        "the last merged writer of a chunk wins in silence"
    ),
    "test_forks.py::test_two_forks_that_make_equal_groups_are_merged": raising(
        "equal new groups of two forks have different ids and so fail to merge",
        "SessionStateError",
    ),
    "test_forks.py::test_a_group_and_an_array_at_one_path_are_refused": (
        "a group and an array at one path are both kept"
    ),
    "test_virtual.py::test_a_reference_that_ends_past_all_numbers": (
        "a reference whose end does not fit 64 bits is accepted"
    ),
    "test_virtual.py::test_a_reference_with_a_wrong_number_of_coordinates*": _GRID,
    "test_virtual_many.py::test_many_references_with_a_wrong_number_of_coordinates*": _GRID,
    "test_virtual_many.py::test_references_from_arrays_with_a_wrong_number_of_dimensions": _GRID,
    "test_maintenance.py::test_collecting_during_an_open_session_loses_no_data*": raising(
        "chunks of open sessions are collected, and their commit succeeds all the same",
        "StorageError",
    ),
    "test_inspection.py::test_coordinates_of_uncommitted_chunks": (
        "coordinates of deleted chunks are given, and of new ones twice"
    ),
    "test_inspection.py::test_coordinates_in_batches_of_nothing": raising(
        "batches of length 0 panic", "Panic"
    ),
    "test_shift.py::test_the_offset_has_a_number_per_dimension*": raising(
        "an offset with too few numbers panics, one with too many is cut off", "Panic"
    ),
    "test_shift.py::test_reindex_to_a_wrong_number_of_coordinates": _GRID,
    "test_async.py::test_a_process_opens_again_after_fork": Difference(
        "a forked process waits for the threads of its parent for ever, if these hold a lock",
        ("TimeoutExpired",),
        always=False,
    ),
}

_SNAPSHOT = raising(
    "a snapshot that does not exist is told as that, not as a missing object",
    "SnapshotNotFoundError",
)
_SNAPSHOT_1 = only_in(1, _SNAPSHOT)
_FOREIGN = "reading, asking for and deleting what is no key is the same as for a missing key"
_PREFIX = "any prefix is listed, as the contract of Zarr's stores says"
_NO_ARRAY = raising("a key below no array is no key of a chunk", "InvalidInputError")
_CHUNKS = "the conflict names the chunks that were written, too, and not the array only"
_SHIFT = raising(
    "a shift is one edit of the whole array, which collides with every other edit of it",
    "RebaseFailedError",
)
_OLD_POSITIONS = "what could be given by position in icechunk 1.x still can"
_NAME_IS_TAKEN = only_in(
    1,
    raising(
        "a name that is taken is told as that, in every version of the format", "AlreadyExistsError"
    ),
)

ICEFIELD: dict[str, str | Difference] = {
    "test_commits.py::test_a_commit_to_a_deleted_branch": only_in(
        2,
        raising("a branch that is gone has moved, in every version of the format", "ConflictError"),
    ),
    "test_commits.py::test_options_are_given_by_name": _OLD_POSITIONS,
    "test_conflicts.py::test_detected[a new node below a new array]": (
        "the conflict names the new node, not the array above it"
    ),
    "test_conflicts.py::test_unsolvable[a new node below a new array]": (
        "the conflict names the new node, not the array above it"
    ),
    "test_conflicts.py::test_detected[chunks of*": _CHUNKS,
    "test_conflicts.py::test_detected[several at once]": _CHUNKS,
    "test_conflicts.py::test_unsolvable[chunks of*": _CHUNKS,
    "test_conflicts.py::test_unsolvable[several at once]": _CHUNKS,
    "test_forks.py::test_a_fork_of_a_changed_session_sees_the_changes": (
        "a fork takes the changes along instead of writing them to a snapshot first"
    ),
    "test_forks.py::test_a_fork_merges_after_its_parent_was_rebased": raising(
        "a rebase looks at what the session has, so what is merged after it would escape the "
        "detector: merge, then commit with rebase_with",
        "SessionStateError",
    ),
    "test_forks.py::test_a_fork_merges_into_another_session_of_the_branch": raising(
        "a fork is merged where it comes from, since another session may be based on other data",
        "SessionStateError",
    ),
    "test_forks.py::test_two_forks_with_the_same_new_array": (
        "equal new arrays of two forks are one array"
    ),
    "test_history.py::test_the_root_says_so": only_in(
        1, "the first snapshot of format version 1 is marked as icechunk 1.x marks it"
    ),
    "test_history.py::test_lookup_of_a_missing_snapshot": _SNAPSHOT_1,
    "test_inspection.py::test_manifests_of_a_missing_snapshot": _SNAPSHOT,
    "test_inspection.py::test_inspect_what_is_missing[snapshot]": _SNAPSHOT,
    "test_history.py::test_a_diff_goes_forwards*": "any two snapshots can be compared",
    "test_history.py::test_a_diff_needs_an_ancestor*": "any two snapshots can be compared",
    "test_keys.py::test_get_of_what_is_no_key_is_an_error[foo]": _FOREIGN,
    "test_keys.py::test_get_of_what_is_no_key_is_an_error[a/*": _FOREIGN,
    "test_keys.py::test_get_of_what_is_no_key_is_an_error[zarr*": _FOREIGN,
    "test_keys.py::test_exists_of_what_is_no_key_is_an_error[foo]": _FOREIGN,
    "test_keys.py::test_exists_of_what_is_no_key_is_an_error[a/*": _FOREIGN,
    "test_keys.py::test_exists_of_what_is_no_key_is_an_error[zarr*": _FOREIGN,
    "test_keys.py::test_delete_of_what_is_no_key_is_an_error[foo]": _FOREIGN,
    "test_keys.py::test_delete_of_what_is_no_key_is_an_error[a/*": _FOREIGN,
    "test_keys.py::test_delete_of_what_is_no_key_is_an_error[zarr*": _FOREIGN,
    "test_keys.py::test_size_of_what_is_no_key_is_an_error*": raising(
        _FOREIGN, "FileNotFoundError"
    ),
    "test_keys.py::test_an_invalid_key_is_also_a_value_error": _FOREIGN,
    "test_keys.py::test_the_error_names_the_key": _FOREIGN,
    "test_keys.py::test_get_with_coordinates_that_are_no_numbers_is_an_error[a/c/-1]": _FOREIGN,
    "test_keys.py::test_get_with_coordinates_that_are_no_numbers_is_an_error[a/c/1.5]": _FOREIGN,
    "test_keys.py::test_get_with_coordinates_that_are_no_numbers_is_an_error[a/c/9*": _FOREIGN,
    "test_keys.py::test_get_with_coordinates_that_are_no_numbers_is_an_error[a/c/ 1]": _FOREIGN,
    "test_keys.py::test_size_of_zarr_2_metadata_is_not_found": (
        "there is no node of such a name, whose document could have a size"
    ),
    "test_keys.py::test_set_of_a_chunk_without_array_is_not_found*": _NO_ARRAY,
    "test_keys.py::test_set_of_a_chunk_of_a_group_is_an_error": _NO_ARRAY,
    "test_keys.py::test_get_of_a_chunk_of_a_group_is_an_error": _NO_ARRAY,
    "test_keys.py::test_a_leading_slash_is_ignored_by_get": raising(
        "keys do not begin with a slash", "InvalidInputError"
    ),
    "test_keys.py::test_chunks_of_another_key_encoding_are_refused": (
        "chunks are stored whatever the array's chunk key encoding is"
    ),
    "test_listing.py::test_list_prefix_wants_the_path_of_a_node*": _PREFIX,
    "test_listing.py::test_the_size_below_what_is_no_node_is_an_error*": _PREFIX,
    "test_listing.py::test_the_size_of_an_absent_chunk_is_zero*": raising(
        "the size of what is absent is an error, as the contract of Zarr's stores says",
        "FileNotFoundError",
    ),
    "test_listing.py::test_an_array_without_chunks_lists_c": "only what is there is listed",
    "test_listing.py::test_children_of_a_path_without_a_node_are_not_listed": (
        "names between the root and a node are listed, whether they are nodes or not"
    ),
    "test_maintenance.py::test_expire_keeps_tags_and_branches*": only_in(
        1,
        "a snapshot that stays gets the nearest ancestor that stays as its parent, not the root",
    ),
    "test_maintenance.py::test_a_tag_deleted_by_expiry_is_never_made_again*": _NAME_IS_TAKEN,
    "test_maintenance.py::test_a_collected_snapshot_is_gone*": _SNAPSHOT_1,
    "test_ranges.py::test_an_offset_past_the_end_of_a_chunk_is_an_error[inline-0]": (
        "what begins at the end is empty"
    ),
    "test_ranges.py::test_an_offset_past_the_end_of_a_chunk_is_an_error[stored-0]": (
        "what begins at the end is empty"
    ),
    "test_rebase.py::test_a_failed_rebase_stops_at_the_last_good_commit": (
        "a rebase that fails changes nothing"
    ),
    "test_rebase.py::test_a_commit_records_its_attempts": (
        "what was given as metadata is what is stored"
    ),
    "test_refs.py::test_a_branch_cannot_be_made_twice*": _NAME_IS_TAKEN,
    "test_refs.py::test_main_cannot_be_made_again*": _NAME_IS_TAKEN,
    "test_refs.py::test_a_ref_needs_a_snapshot_that_exists*": _SNAPSHOT_1,
    "test_refs.py::test_a_deleted_tag_is_never_made_again*": _NAME_IS_TAKEN,
    "test_refs.py::test_reset_to_a_missing_snapshot*": _SNAPSHOT_1,
    "test_sessions.py::test_a_readonly_session_of_a_missing_snapshot": _SNAPSHOT_1,
    "test_shift.py::test_a_shift_conflicts_like_writes": _SHIFT,
    "test_shift.py::test_a_shift_does_not_conflict_elsewhere": _SHIFT,
    "test_splitting.py::test_rewriting_records_its_rules": raising(
        "what was given as metadata is what is stored", "KeyError"
    ),
    "test_version_2.py::test_an_ordinary_session_moves_nothing": (
        "ordinary sessions move nodes beside other changes"
    ),
    "test_virtual.py::test_a_named_container_that_moved": only_in(
        1, "locations name no container in version 1, where icechunk 1.x could not read them"
    ),
    "test_virtual.py::test_a_reference_past_the_end_of_the_file": (
        "the kind tells that the file is too short, not only that it could not be read"
    ),
}

DIFFERENCES: dict[str, dict[str, Difference]] = {
    module: {
        name: it if isinstance(it, Difference) else Difference(it) for name, it in named.items()
    }
    for module, named in (("icechunk", ICECHUNK), ("icefield", ICEFIELD))
}

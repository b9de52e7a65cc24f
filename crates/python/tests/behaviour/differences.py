"""Where a module under test deliberately differs from what a case expects, and why.

The cases state the right behaviour. A difference is named by the id of its case relative to this
directory, as pytest prints it; a name that ends in `*` covers every case that begins so. Each
case named here is expected to fail on that module: a difference that has gone fails the suite.
"""

from __future__ import annotations

_PARTS = "a missing or faulty part of get_partial_values breaks the wrapper with a TypeError"
_GRID = "the grid check compares coordinates pairwise and so accepts too few and too many"

ICECHUNK: dict[str, str] = {
    "test_keys.py::test_exists_of_zarr_2_metadata_is_false*": (
        "exists raises a key error for the names of Zarr 2 metadata"
    ),
    "test_keys.py::test_set_with_a_wrong_number_of_coordinates_is_an_error*": _GRID,
    "test_keys.py::test_set_of_an_index_of_a_scalar_is_an_error": _GRID,
    "test_keys.py::test_set_in_an_array_without_elements_is_an_error": (
        "index 0 of a dimension of length 0 is accepted and committed"
    ),
    "test_keys.py::test_a_name_that_ends_in_c_is_not_split*": (
        "a key is split at the last letter c, so abc/0/0 is read as a chunk of ab"
    ),
    "test_ranges.py::test_an_empty_range_of_a_chunk[stored*": (
        "an empty range of a chunk that is not inline is sent to the storage, which refuses it"
    ),
    "test_ranges.py::test_an_empty_suffix_of_a_chunk[stored]": (
        "an empty suffix of a chunk that is not inline is sent to the storage, which refuses it"
    ),
    "test_ranges.py::test_a_range_that_ends_before_it_starts_is_an_error*": (
        "a range that ends before it starts panics, or is an error of the storage"
    ),
    "test_ranges.py::test_a_suffix_of_a_document*": (
        "a suffix of metadata is everything but the last n bytes"
    ),
    "test_ranges.py::test_a_part_beyond_a_document_is_an_error*": (
        "a range beyond the end of metadata panics"
    ),
    "test_ranges.py::test_a_missing_part_is_nothing*": _PARTS,
    "test_ranges.py::test_a_missing_document_among_parts_is_nothing*": _PARTS,
    "test_ranges.py::test_what_was_written_is_not_changed_by_its_writer": (
        "a written buffer is kept by reference, so its writer can change what was stored"
    ),
    "test_documents.py::test_shrinking_and_growing_in_one_session_does_not_bring_chunks_back": (
        "chunks that fell outside a shrunken grid come back when it grows in the same session"
    ),
    "test_refs.py::test_branch_names_with_other_characters*": (
        "branches are listed by their percent-encoded names, which then cannot be looked up"
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
    "test_repositories.py::test_saving_a_config_twice[memory]": (
        "a handle that saved its config in memory cannot save it again"
    ),
    "test_pickling.py::test_an_in_memory_*": (
        "what lies in memory is pickled, and comes back without its data"
    ),
    "test_pickling.py::test_a_local_storage": "storages are not pickled",
    "test_forks.py::test_two_forks_that_write_the_same_chunk_are_refused": (
        "the last merged writer of a chunk wins in silence"
    ),
    "test_forks.py::test_two_forks_that_make_equal_groups_are_merged": (
        "equal new groups of two forks have different ids and so fail to merge"
    ),
    "test_forks.py::test_a_group_and_an_array_at_one_path_are_refused": (
        "a group and an array at one path are both kept"
    ),
    "test_virtual.py::test_a_reference_that_ends_past_all_numbers": (
        "a reference whose end does not fit 64 bits is accepted"
    ),
    "test_virtual.py::test_a_reference_with_a_wrong_number_of_coordinates*": _GRID,
    "test_virtual.py::test_many_references_with_a_wrong_number_of_coordinates*": _GRID,
    "test_virtual.py::test_references_from_arrays_with_a_wrong_number_of_dimensions": _GRID,
    "test_maintenance.py::test_collecting_during_an_open_session_loses_no_data*": (
        "chunks of open sessions are collected, and their commit succeeds all the same"
    ),
    "test_history.py::test_coordinates_of_uncommitted_chunks": (
        "coordinates of deleted chunks are given, and of new ones twice"
    ),
    "test_history.py::test_coordinates_in_batches_of_nothing": "batches of length 0 panic",
    "test_shift.py::test_the_offset_has_a_number_per_dimension*": (
        "an offset with too few numbers panics, one with too many is cut off"
    ),
    "test_shift.py::test_reindex_to_a_wrong_number_of_coordinates": _GRID,
    "test_async.py::test_a_process_opens_again_after_fork": (
        "a forked process waits for the threads of its parent for ever"
    ),
}

ICEFIELD: dict[str, str] = {}

DIFFERENCES: dict[str, dict[str, str]] = {"icechunk": ICECHUNK, "icefield": ICEFIELD}

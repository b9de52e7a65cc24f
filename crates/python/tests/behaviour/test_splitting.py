"""Manifests: how arrays are split over them, and rewriting them."""

from __future__ import annotations

from typing import Any

import pytest
from making import array_document, commit, create, group_document, keys_of, small_array
from under_test import ic, raises

ARRAY, DIMENSION = ic.ManifestSplitCondition, ic.ManifestSplitDimCondition
TEN = {**small_array("a", 10), **{f"a/c/{i}": bytes([i]) for i in range(10)}}
SQUARES = {
    "zarr.json": group_document(),
    **{
        f"{name}/zarr.json": array_document((4, 4), (1, 1), dimension_names=["y", "x"])
        for name in "abc"
    },
    **{f"{n}/c/{i}/{j}": b"x" for n in "abc" for i in range(4) for j in range(4)},
}


def config(sizes: dict[Any, dict[Any, int]]) -> Any:
    splitting = ic.ManifestSplittingConfig.from_dict(sizes)
    return ic.RepositoryConfig(manifest=ic.ManifestConfig(splitting=splitting))


def every(size: int) -> Any:
    return config({ARRAY.AnyArray(): {DIMENSION.Any(): size}})


def counts(repo: Any, snapshot: str) -> list[int]:
    return sorted(file.num_chunk_refs for file in repo.list_manifest_files(snapshot))


def test_one_manifest_by_default(storage: Any) -> None:
    repo = create(storage)
    assert counts(repo, commit(repo, TEN)) == [10]


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, [1] * 10), (2, [2] * 5), (3, [1, 3, 3, 3]), (9, [1, 9]), (10, [10]), (1000, [10])],
)
def test_splits_of_a_size(memory: Any, size: int, expected: list[int]) -> None:
    repo = create(memory, every(size))
    assert counts(repo, commit(repo, TEN)) == expected
    keys = keys_of(repo)
    assert [keys.get(f"a/c/{i}") for i in range(10)] == [bytes([i]) for i in range(10)]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({ARRAY.AnyArray(): {DIMENSION.Axis(0): 1}}, [4] * 12),
        ({ARRAY.AnyArray(): {DIMENSION.Axis(1): 2}}, [8] * 6),
        ({ARRAY.AnyArray(): {DIMENSION.DimensionName("x"): 1}}, [4] * 12),
        ({ARRAY.AnyArray(): {DIMENSION.Any(): 2}}, [4] * 12),
        ({ARRAY.AnyArray(): {DIMENSION.Axis(0): 1, DIMENSION.Any(): 2}}, [2] * 24),
        ({ARRAY.path_matches("^/a$"): {DIMENSION.Any(): 1}}, [1] * 16 + [32]),
        ({ARRAY.name_matches("[ab]"): {DIMENSION.Axis(0): 2}}, [8, 8, 8, 8, 16]),
        (
            {ARRAY.path_matches("a") & ARRAY.name_matches("b"): {DIMENSION.Any(): 1}},
            [48],
        ),
        (
            {ARRAY.path_matches("a") | ARRAY.name_matches("b"): {DIMENSION.Axis(0): 2}},
            [8, 8, 8, 8, 16],
        ),
        (
            {
                ARRAY.path_matches("^/a$"): {DIMENSION.DimensionName("x"): 1},
                ARRAY.name_matches("b"): {DIMENSION.Axis(1): 2},
            },
            [4, 4, 4, 4, 8, 8, 16],
        ),
        ({}, [48]),
    ],
    ids=[
        "axis 0", "axis 1", "dimension name", "any", "axis and any", "path", "name", "and", "or",
        "two rules", "no rule",
    ],
)  # fmt: skip
def test_splits_by_rule(memory: Any, sizes: dict[Any, dict[Any, int]], expected: list[int]) -> None:
    repo = create(memory, config(sizes))
    made = commit(repo, SQUARES)
    assert sum(counts(repo, made)) == 48
    # what is not split may share a manifest or have one of its own
    assert [c for c in counts(repo, made) if c < 16] == [c for c in expected if c < 16]
    assert keys_of(repo).get("c/c/3/3") == b"x"


def test_a_small_commit_rewrites_only_its_split(memory: Any) -> None:
    repo = create(memory, every(2))
    before = {file.id for file in repo.list_manifest_files(commit(repo, TEN))}
    after = {file.id for file in repo.list_manifest_files(commit(repo, {"a/c/0": b"x"}))}
    assert len(before & after) == 4
    assert len(after) == 5


def test_splits_of_a_grown_array(memory: Any) -> None:
    repo = create(memory, every(4))
    commit(repo, TEN)
    made = commit(repo, {"a/zarr.json": array_document((14,)), "a/c/13": b"\x0d"})
    assert counts(repo, made) == [1, 2, 4, 4]
    assert keys_of(repo).get("a/c/13") == b"\x0d"


def test_another_size_later(memory: Any) -> None:
    repo = create(memory, every(2))
    commit(repo, TEN)
    other = repo.reopen(every(5))
    made = commit(other, {"a/c/9": b"y"})
    assert sum(counts(other, made)) == 10
    keys = keys_of(other)
    assert [keys.get(f"a/c/{i}") for i in (0, 5, 9)] == [b"\x00", b"\x05", b"y"]


def test_rewriting(storage: Any) -> None:
    repo = create(storage, every(2))
    before = commit(repo, TEN)
    other = repo.reopen(every(5))
    made = other.rewrite_manifests("rewritten", branch="main")
    assert counts(other, made) == [5, 5]
    assert other.lookup_branch("main") == made
    snapshot = other.lookup_snapshot(made)
    assert (snapshot.message, snapshot.parent_id) == ("rewritten", before)


def test_rewriting_keeps_the_data(memory: Any) -> None:
    repo = create(memory, every(2))
    commit(repo, TEN)
    repo.reopen(every(3)).rewrite_manifests("rewritten", branch="main")
    keys = keys_of(repo)
    assert [keys.get(f"a/c/{i}") for i in range(10)] == [bytes([i]) for i in range(10)]


def test_rewriting_records_its_rules(memory: Any) -> None:
    repo = create(memory, every(5))
    commit(repo, TEN)
    made = repo.rewrite_manifests("rewritten", branch="main", metadata={"mine": 1})
    metadata = repo.lookup_snapshot(made).metadata
    assert metadata["mine"] == 1
    sizes = metadata["__icechunk"]["splitting_config"]["split_sizes"]
    assert sizes == [["any_array", [{"num_chunks": 5, "condition": "Any"}]]]


def test_rewriting_a_missing_branch(repo: Any) -> None:
    with raises("RefNotFoundError", "ref-not-found"):
        repo.rewrite_manifests("x", branch="nope")


def test_rewriting_needs_a_branch(repo: Any) -> None:
    with pytest.raises(TypeError):
        repo.rewrite_manifests("x")


def test_rewriting_in_an_unknown_way(repo: Any) -> None:
    with pytest.raises(ValueError, match="zonk"):
        repo.rewrite_manifests("x", branch="main", commit_method="zonk")


def test_rewriting_changes_no_chunk(memory: Any) -> None:
    repo = create(memory, every(2))
    before = commit(repo, TEN)
    made = repo.reopen(every(5)).rewrite_manifests("rewritten", branch="main")
    found = repo.diff(from_snapshot_id=before, to_snapshot_id=made)
    assert found.is_empty()


def test_a_negative_size() -> None:
    with pytest.raises((OverflowError, ValueError)):
        every(-1)


def test_a_split_config_knows_itself() -> None:
    sizes = {ARRAY.AnyArray(): {DIMENSION.Any(): 3}}
    made = ic.ManifestSplittingConfig.from_dict(sizes)
    assert made == ic.ManifestSplittingConfig.from_dict(sizes)
    assert made != ic.ManifestSplittingConfig.from_dict({ARRAY.AnyArray(): {DIMENSION.Any(): 4}})
    back = made.to_dict()
    assert list(back) == [ARRAY.AnyArray()]
    assert list(back[ARRAY.AnyArray()].values()) == [3]


def test_conditions_compare() -> None:
    assert ARRAY.AnyArray() == ARRAY.AnyArray()
    assert hash(ARRAY.AnyArray()) == hash(ARRAY.AnyArray())
    assert ARRAY.path_matches("x") == ARRAY.path_matches("x")
    assert ARRAY.path_matches("x") != ARRAY.name_matches("x")
    assert ARRAY.path_matches("x") != ARRAY.path_matches("y")
    assert (ARRAY.path_matches("x") | ARRAY.AnyArray()) == ARRAY.or_conditions(
        [ARRAY.path_matches("x"), ARRAY.AnyArray()]
    )
    assert (ARRAY.path_matches("x") & ARRAY.AnyArray()) == ARRAY.and_conditions(
        [ARRAY.path_matches("x"), ARRAY.AnyArray()]
    )


def test_split_config_survives_saving(memory: Any) -> None:
    sizes = {
        ARRAY.path_matches("^/a$") | ARRAY.name_matches("b"): {DIMENSION.DimensionName("x"): 1},
        ARRAY.AnyArray(): {DIMENSION.Axis(1): 2, DIMENSION.Any(): 7},
    }
    create(memory, config(sizes)).save_config()
    saved = ic.Repository.open(memory).config
    assert saved.manifest.splitting == ic.ManifestSplittingConfig.from_dict(sizes)

"""Hypothesis strategies for hierarchies with easily confused names, and for moves in them."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Literal, TypeAlias

import hypothesis.strategies as st
import numpy as np
from zarr.testing.strategies import node_names, zarr_key_chars

from icefield.testing.models import ArrayNode, GroupNode, Node
from icefield.testing.utils import update_paths_after_move

__all__ = [
    "ERR_MISSING_PARENT",
    "ERR_OVERWRITE",
    "ERR_PARENT_NOT_GROUP",
    "ERR_SELF_OR_DESCENDANT",
    "ERR_SOURCE_MISSING",
    "InvalidMoveReason",
    "MixedMove",
    "absolute",
    "affix",
    "child_names_at",
    "fresh_name",
    "fresh_names",
    "invalid_move",
    "invalid_moves",
    "is_descendant",
    "separators",
    "similar_name",
    "skeletons",
    "tree_and_invalid_moves",
    "tree_and_mixed_moves",
    "tree_and_valid_moves",
    "trees",
    "valid_and_invalid_moves",
    "valid_move",
    "valid_moves",
    "wrap_tolerant",
]

InvalidMoveReason: TypeAlias = Literal[
    "self", "descendant", "missing_parent", "parent_not_group", "overwrite", "source_missing"
]
"""The reason why a move is refused."""
MixedMove: TypeAlias = tuple[str, str, str | None]
"""Two paths, and the regular expression that the error must match; None if the move is allowed."""

ERR_SELF_OR_DESCENDANT = "into itself or its own descendant"
ERR_OVERWRITE = "overwrite existing node"
ERR_MISSING_PARENT = "destination's parent group"
ERR_SOURCE_MISSING = "node not found|could not create path"
ERR_PARENT_NOT_GROUP = "is an array, not a group"

_FEW = st.integers(min_value=1, max_value=10)
_SHARE = st.floats(min_value=0.0, max_value=1.0)
_LEAVES = st.integers(min_value=5, max_value=50)
_CHILDREN = st.integers(min_value=1, max_value=4)

affix = st.text(zarr_key_chars, min_size=1, max_size=3)
"""A few characters to put before or after a name."""
separators = st.sampled_from(["_", "-", "."])
"""The separator between a name and its prefix or suffix."""


def similar_name(non_sibling_names: set[str], sibling_names: set[str]) -> st.SearchStrategy[str]:
    """A name similar to others: the name of a sibling with a prefix or suffix, or a name from another group."""
    choices: list[st.SearchStrategy[str]] = []
    if sibling_names:
        parts = st.tuples(st.sampled_from(sorted(sibling_names)), separators, affix)
        longer = st.tuples(parts, st.booleans())
        choices.append(longer.map(lambda it: "".join(it[0] if it[1] else reversed(it[0]))))
    if elsewhere := sorted(non_sibling_names - sibling_names):
        choices.append(st.sampled_from(elsewhere))
    return st.one_of(choices).filter(lambda name: name not in sibling_names)


def fresh_name(pool: set[str], exclude: set[str]) -> st.SearchStrategy[str]:
    """A name that is not excluded: an arbitrary one, or one similar to those in the pool."""
    choices = [node_names]
    if pool or exclude:
        choices.append(similar_name(pool, exclude))
    return st.one_of(choices).filter(lambda name: name not in exclude)


@st.composite
def fresh_names(draw: st.DrawFn, pool: set[str], exclude: set[str], n: int) -> list[str]:
    """So many distinct names of `fresh_name`."""
    names: list[str] = []
    while len(names) < n:
        names.append(draw(fresh_name(pool, exclude.union(names))))
    return names


def skeletons(*, max_leaves: int = 50, max_children: int = 4) -> st.SearchStrategy[GroupNode]:
    """Hierarchies with nodes named by their numbers: "0", "1", …"""

    def group(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[GroupNode]:
        children = st.lists(nodes, min_size=1, max_size=max_children)
        return children.map(lambda all_: GroupNode({str(at): it for at, it in enumerate(all_)}))

    array: st.SearchStrategy[Node] = st.just(ArrayNode((1,), np.dtype("i4")))
    return group(st.recursive(array, group, max_leaves=max_leaves))


@st.composite
def trees(
    draw: st.DrawFn,
    *,
    max_leaves: st.SearchStrategy[int] = _LEAVES,
    max_children: st.SearchStrategy[int] = _CHILDREN,
) -> GroupNode:
    """Hierarchies of groups and small arrays.

    The shape comes first and the names after it, so that Hypothesis can make a failing example smaller in both ways.
    """
    shape = draw(skeletons(max_leaves=draw(max_leaves), max_children=draw(max_children)))
    used: set[str] = set()

    def named(group: GroupNode) -> GroupNode:
        names = draw(fresh_names(set(used), set(), len(group.children)))
        used.update(names)
        pairs = zip(names, group.children.values(), strict=True)
        return GroupNode({k: named(v) if isinstance(v, GroupNode) else v for k, v in pairs})

    return named(shape)


def child_names_at(parent: str, all_paths: set[str]) -> set[str]:
    """The names of the nodes right below a path; "" is the root."""
    start = f"{parent}/" if parent else ""
    below = (it.removeprefix(start) for it in all_paths if it.startswith(start))
    return {it.split("/", 1)[0] for it in below}


def is_descendant(path: str, ancestor: str) -> bool:
    """Whether a path is below another one."""
    return path.startswith(f"{ancestor}/")


def absolute(path: str) -> str:
    """A path with a slash before it; "" is the root."""
    return f"/{path}"


def wrap_tolerant(pattern: str) -> str:
    """A regular expression whose spaces also match line ends, with a bar after them."""
    return re.sub(" +", r"\\s+\\|?\\s*", pattern)


def _joined(parent: str, name: str) -> str:
    return f"{parent}/{name}" if parent else name


def _apart(one: str, other: str) -> bool:
    return one != other and not is_descendant(one, other) and not is_descendant(other, one)


def _possible(nodes: set[str], arrays: set[str]) -> list[InvalidMoveReason]:
    """The reasons for which a move can be refused in a hierarchy."""
    reasons: list[InvalidMoveReason] = ["self", "descendant", "source_missing"]
    if nodes:
        reasons.append("missing_parent")
    if any(_apart(one, other) for one, other in permutations(nodes, 2)):
        reasons.append("overwrite")
    if any(it != array and not is_descendant(array, it) for array in arrays for it in nodes):
        reasons.append("parent_not_group")
    return reasons


@st.composite
def invalid_move(
    draw: st.DrawFn,
    all_nodes: set[str],
    all_arrays: set[str],
    name_pool: set[str],
    *,
    eligible: list[InvalidMoveReason] | None = None,
) -> tuple[str, str, str]:
    """A move that is refused, and the regular expression that its error must match."""
    nodes = sorted(all_nodes)
    reason = draw(st.sampled_from(eligible or _possible(all_nodes, all_arrays)))
    if reason in ("self", "descendant"):
        source = draw(st.sampled_from(["", *nodes]))
        if reason == "self":
            return source, source, ERR_SELF_OR_DESCENDANT
        name = draw(fresh_name(name_pool, child_names_at(source, all_nodes)))
        return source, _joined(source, name), ERR_SELF_OR_DESCENDANT
    if reason == "source_missing":
        first, end, *below = draw(
            fresh_names(name_pool, name_pool, 2 + draw(st.integers(min_value=0, max_value=3)))
        )
        return "/".join([first, *below]), end, ERR_SOURCE_MISSING
    if reason == "missing_parent":
        parent, name = draw(fresh_names(name_pool, name_pool, 2))
        return draw(st.sampled_from(nodes)), _joined(parent, name), ERR_MISSING_PARENT
    if reason == "overwrite":
        pairs = [it for it in permutations(nodes, 2) if _apart(*it)]
        return (*draw(st.sampled_from(pairs)), ERR_OVERWRITE)
    pairs = [
        (it, array)
        for array in sorted(all_arrays)
        for it in nodes
        if it != array and not is_descendant(array, it)
    ]
    source, array = draw(st.sampled_from(pairs))
    return source, _joined(array, draw(fresh_name(name_pool, set()))), ERR_PARENT_NOT_GROUP


@st.composite
def valid_move(
    draw: st.DrawFn, all_nodes: set[str], all_groups: set[str], name_pool: set[str]
) -> tuple[str, str]:
    """A move that is allowed: of any node, into a group that is not in it, under a new name."""
    source = draw(st.sampled_from(sorted(all_nodes)))
    groups = [it for it in sorted(all_groups) if it != source and not is_descendant(it, source)]
    parent = draw(st.sampled_from(groups))
    name = draw(fresh_name(name_pool, child_names_at(parent, all_nodes)))
    return source, _joined(parent, name)


@st.composite
def valid_and_invalid_moves(
    draw: st.DrawFn,
    tree: GroupNode,
    n_moves: st.SearchStrategy[int] = _FEW,
    p_invalid: st.SearchStrategy[float] = _SHARE,
) -> list[MixedMove]:
    """Moves one after the other, of which about the share `p_invalid` is refused. Paths begin with a slash."""
    groups = set(tree.groups(include_root=True))
    arrays = set(tree.arrays())
    share = draw(p_invalid)
    moves: list[MixedMove] = []
    for _ in range(draw(n_moves)):
        nodes = arrays | (groups - {""})
        names = {path.rpartition("/")[2] for path in nodes}
        if draw(st.floats(min_value=0.0, max_value=1.0, exclude_max=True)) < share:
            source, end, pattern = draw(invalid_move(nodes, arrays, names))
            moves.append((absolute(source), absolute(end), pattern))
        else:
            source, end = draw(valid_move(nodes, groups, names))
            moves.append((absolute(source), absolute(end), None))
            arrays, groups = update_paths_after_move(source, end, arrays, groups)
    return moves


@st.composite
def valid_moves(
    draw: st.DrawFn, tree: GroupNode, n_moves: st.SearchStrategy[int] = _FEW
) -> list[tuple[str, str]]:
    """Moves one after the other, all of which are allowed."""
    moves = draw(valid_and_invalid_moves(tree, n_moves, st.just(0.0)))
    return [(source, end) for source, end, _ in moves]


@st.composite
def invalid_moves(
    draw: st.DrawFn, tree: GroupNode, n_moves: st.SearchStrategy[int] = _FEW
) -> list[tuple[str, str, str]]:
    """Moves that are all refused."""
    moves = draw(valid_and_invalid_moves(tree, n_moves, st.just(1.0)))
    return [(source, end, pattern) for source, end, pattern in moves if pattern is not None]


def _tree(
    leaves: st.SearchStrategy[int] | None, children: st.SearchStrategy[int] | None
) -> st.SearchStrategy[GroupNode]:
    return trees(max_leaves=leaves or _LEAVES, max_children=children or _CHILDREN)


@st.composite
def tree_and_valid_moves(
    draw: st.DrawFn,
    max_leaves: st.SearchStrategy[int] | None = None,
    max_children: st.SearchStrategy[int] | None = None,
    n_moves: st.SearchStrategy[int] = _FEW,
) -> tuple[GroupNode, list[tuple[str, str]]]:
    """A hierarchy and moves in it that are allowed."""
    tree = draw(_tree(max_leaves, max_children))
    return tree, draw(valid_moves(tree, n_moves))


@st.composite
def tree_and_invalid_moves(
    draw: st.DrawFn,
    max_leaves: st.SearchStrategy[int] | None = None,
    max_children: st.SearchStrategy[int] | None = None,
    n_moves: st.SearchStrategy[int] = _FEW,
) -> tuple[GroupNode, list[tuple[str, str, str]]]:
    """A hierarchy and moves in it that are refused."""
    tree = draw(_tree(max_leaves, max_children))
    return tree, draw(invalid_moves(tree, n_moves))


@st.composite
def tree_and_mixed_moves(
    draw: st.DrawFn,
    max_leaves: st.SearchStrategy[int] | None = None,
    max_children: st.SearchStrategy[int] | None = None,
    n_moves: st.SearchStrategy[int] = _FEW,
    p_invalid: st.SearchStrategy[float] = _SHARE,
) -> tuple[GroupNode, list[MixedMove]]:
    """A hierarchy and moves in it, of which about the share `p_invalid` is refused."""
    tree = draw(_tree(max_leaves, max_children))
    return tree, draw(valid_and_invalid_moves(tree, n_moves, p_invalid))

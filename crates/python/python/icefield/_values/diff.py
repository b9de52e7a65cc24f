"""The differences between two snapshots, or between a session and its base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from icefield._display import escape
from icefield._values.value import Value

__all__ = ["Diff"]

_MOST_CHUNKS_SHOWN = 10
_TITLES = (
    ("new_groups", "Groups created"),
    ("new_arrays", "Arrays created"),
    ("updated_groups", "Group definitions updated"),
    ("updated_arrays", "Array definitions updated"),
    ("deleted_groups", "Groups deleted"),
    ("deleted_arrays", "Arrays deleted"),
)


class Diff(Value):
    """The nodes and chunks that were created, changed, deleted and moved. Paths begin with a slash."""

    __slots__ = (
        "_deleted_arrays",
        "_deleted_groups",
        "_moved_nodes",
        "_new_arrays",
        "_new_groups",
        "_updated_arrays",
        "_updated_chunks",
        "_updated_groups",
    )
    _names = (
        "new_groups",
        "new_arrays",
        "deleted_groups",
        "deleted_arrays",
        "updated_groups",
        "updated_arrays",
        "updated_chunks",
        "moved_nodes",
    )

    def __init__(
        self,
        *,
        new_groups: Iterable[str] = (),
        new_arrays: Iterable[str] = (),
        deleted_groups: Iterable[str] = (),
        deleted_arrays: Iterable[str] = (),
        updated_groups: Iterable[str] = (),
        updated_arrays: Iterable[str] = (),
        updated_chunks: Mapping[str, Iterable[Iterable[int]]] | None = None,
        moved_nodes: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._new_groups = frozenset(new_groups)
        self._new_arrays = frozenset(new_arrays)
        self._deleted_groups = frozenset(deleted_groups)
        self._deleted_arrays = frozenset(deleted_arrays)
        self._updated_groups = frozenset(updated_groups)
        self._updated_arrays = frozenset(updated_arrays)
        self._updated_chunks = {
            path: [list(index) for index in chunks]
            for path, chunks in sorted((updated_chunks or {}).items())
        }
        self._moved_nodes = [(start, end) for start, end in moved_nodes]

    @property
    def new_groups(self) -> set[str]:
        """Paths of created groups."""
        return set(self._new_groups)

    @property
    def new_arrays(self) -> set[str]:
        """Paths of created arrays."""
        return set(self._new_arrays)

    @property
    def deleted_groups(self) -> set[str]:
        """Paths of deleted groups."""
        return set(self._deleted_groups)

    @property
    def deleted_arrays(self) -> set[str]:
        """Paths of deleted arrays."""
        return set(self._deleted_arrays)

    @property
    def updated_groups(self) -> set[str]:
        """Paths of groups with changed metadata."""
        return set(self._updated_groups)

    @property
    def updated_arrays(self) -> set[str]:
        """Paths of arrays with changed metadata."""
        return set(self._updated_arrays)

    @property
    def updated_chunks(self) -> dict[str, list[list[int]]]:
        """The indices of written and deleted chunks, by the path of their array."""
        return {
            path: [list(index) for index in chunks]
            for path, chunks in self._updated_chunks.items()
        }

    @property
    def moved_nodes(self) -> list[tuple[str, str]]:
        """Old and new paths of moved nodes (spec version 2)."""
        return list(self._moved_nodes)

    def is_empty(self) -> bool:
        """Whether there are no differences."""
        return not any(getattr(self, f"_{name}") for name in self._names)

    def __reduce__(self) -> tuple[Any, ...]:
        return Diff._from_native, ({name: getattr(self, name) for name in self._names},)

    @classmethod
    def _from_native(cls, row: Mapping[str, Any]) -> Diff:
        return cls(**{name: row[name] for name in cls._names if name in row})

    def _sections(self) -> list[tuple[str, list[str]]]:
        """Titles and lines of the non-empty parts."""
        shown = []
        if self._moved_nodes:
            shown.append(
                ("Nodes moved/renamed", [f"{start} -> {end}" for start, end in self._moved_nodes])
            )
        for name, title in _TITLES:
            if paths := getattr(self, f"_{name}"):
                shown.append((title, sorted(paths)))
        if self._updated_chunks:
            listed = []
            for path, chunks in self._updated_chunks.items():
                listed.append(f"{path}:")
                listed.extend(f"    {index}" for index in chunks[:_MOST_CHUNKS_SHOWN])
                if len(chunks) > _MOST_CHUNKS_SHOWN:
                    listed.append(f"    ... {len(chunks) - _MOST_CHUNKS_SHOWN} more")
            shown.append(("Chunks updated", listed))
        return shown

    def __str__(self) -> str:
        return "\n".join(
            f"{title}:\n" + "".join(f"    {line}\n" for line in found)
            for title, found in self._sections()
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if self.is_empty():
            return '<div class="icefield">no differences</div>'
        shown = "".join(
            f'<details open=""><summary>{escape(title)} ({len(found)})</summary>'
            f"<pre>{escape(chr(10).join(found))}</pre></details>"
            for title, found in self._sections()
        )
        return f'<div class="icefield">{shown}</div>'

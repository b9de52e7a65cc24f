"""The base class of all parts of a repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from icefield._late import OpenedLate

if TYPE_CHECKING:
    from icefield import _native
    from icefield._place import Place

__all__ = ["Handle"]


class Handle(OpenedLate):
    """An open repository: its native side, its `Place`, and the default metadata of its commits."""

    _native_side = "_repository"
    _repository: _native.Repository
    _place: Place | None
    _defaults: dict[str, Any]

    def _with_defaults(self, metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The metadata of a commit: the defaults, replaced key by key."""
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"`metadata` must be a dict, not {type(metadata).__name__}")
        return {**self._defaults, **(metadata or {})} or None

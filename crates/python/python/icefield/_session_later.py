"""What sessions have only since version 2 of the format: the names are here, and say so."""

from __future__ import annotations

from typing import Any

from icefield._late import OpenedLate
from icefield._repository.handle import needs_version_2


class _Later(OpenedLate, connects=False):
    def amend(
        self,
        message: str,
        *,
        metadata: dict[str, Any] | None = None,
        allow_empty: bool = False,
    ) -> str:
        """Replaces the last commit.

        Needs format version 2, so it raises a `FormatError` for now.
        """
        needs_version_2("amending a commit")

    async def amend_async(
        self,
        message: str,
        *,
        metadata: dict[str, Any] | None = None,
        allow_empty: bool = False,
    ) -> str:
        """As `amend`, to be awaited."""
        needs_version_2("amending a commit")

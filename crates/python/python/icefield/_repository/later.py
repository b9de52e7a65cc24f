"""What the format has since its version 2 and this package has not yet: the names are here, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icefield._repository.handle import Handle, needs_version_2

if TYPE_CHECKING:
    from icefield.session import Session

__all__ = ["Later"]


class Later(Handle, connects=False):
    """Sessions that move nodes.

    They raise a `FormatError` ("unsupported-spec-version").
    """

    def rearrange_session(self, branch: str) -> Session:
        """A session that moves nodes."""
        needs_version_2("moving nodes")

    async def rearrange_session_async(self, branch: str) -> Session:
        """As `rearrange_session`, to be awaited."""
        needs_version_2("moving nodes")

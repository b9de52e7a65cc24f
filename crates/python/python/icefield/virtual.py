"""Virtual chunks: ranges of bytes of objects that are not part of the repository."""

from __future__ import annotations

from icefield._config.containers import VirtualChunkContainer
from icefield._values import VirtualChunkSpec

__all__ = ["VirtualChunkContainer", "VirtualChunkSpec"]

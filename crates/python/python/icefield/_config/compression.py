"""The compression of metadata objects."""

from __future__ import annotations

from enum import EnumType, IntEnum
from typing import Any

from icefield._config.section import Section, choice, whole

__all__ = ["CompressionAlgorithm", "CompressionConfig"]


class _DefaultsToZstd(EnumType):
    def __call__(cls, value: Any = 0) -> Any:  # type: ignore[override]
        return super().__call__(value)


class CompressionAlgorithm(IntEnum, metaclass=_DefaultsToZstd):
    """A compression of metadata objects. Chunks are compressed by the codecs of their arrays."""

    Zstd = 0

    @staticmethod
    def default() -> CompressionAlgorithm:
        """The default: Zstd."""
        return CompressionAlgorithm.Zstd

    def __repr__(self) -> str:
        return f"CompressionAlgorithm.{self.name}"

    __str__ = __repr__


CompressionAlgorithm.__module__ = "icefield"


class CompressionConfig(Section):
    """The compression of snapshots, manifests and transaction logs."""

    __slots__ = ()

    algorithm = choice(
        CompressionAlgorithm, CompressionAlgorithm.Zstd, doc="The algorithm; Zstd if unset."
    )
    level = whole(255, 3, doc="The level of the algorithm: of zstd, from 0 to 22; 3 if unset.")

    def __init__(
        self, algorithm: CompressionAlgorithm | None = None, level: int | None = None
    ) -> None:
        self.algorithm = algorithm
        self.level = level

    @staticmethod
    def default() -> CompressionConfig:
        """A configuration without settings."""
        return CompressionConfig()

"""The operations log of a repository."""

from __future__ import annotations

from icefield._values import GCSummary, Update, UpdateType

__all__ = ["GCSummary", "Update", "UpdateType"]

"""For tests of programs that use repositories: slow storages, models to compare with, and Hypothesis strategies.

The modules `models`, `strategies`, `trees`, `invariants` and `utils` need the packages `hypothesis` and `numpy`; this
one does not.
"""

from __future__ import annotations

from icefield.storage import LatencyStorage

__all__ = ["LatencyStorage"]

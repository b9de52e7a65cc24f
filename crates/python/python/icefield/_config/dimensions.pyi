from typing import Any as Anything

__all__ = ["ManifestSplitDimCondition"]

class ManifestSplitDimCondition:
    """Which dimension of an array a number of chunks is for: one of its nested classes."""

    class Axis(ManifestSplitDimCondition):
        """The dimension at a place, from 0."""
        def __init__(self, axis: int) -> None: ...

    class DimensionName(ManifestSplitDimCondition):
        """The dimensions whose names match a regular expression."""
        def __init__(self, regex: str) -> None: ...

    class Any(ManifestSplitDimCondition):
        """Every dimension that no other condition of the rule is for."""
        def __init__(self) -> None: ...

    def _to_document(self) -> Anything: ...
    @staticmethod
    def _from_document(document: Anything) -> ManifestSplitDimCondition: ...

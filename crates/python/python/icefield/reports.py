"""What checks, retention, imports, exports and moves of windows report."""

from icefield._values.imports import (
    ImportGap,
    ImportPlan,
    ImportReport,
    PlannedArray,
    PlannedSource,
)
from icefield._values.reports import (
    ExportReport,
    Finding,
    FsckReport,
    RepairReport,
    RetentionReport,
    Window,
)

__all__ = [
    "ExportReport",
    "Finding",
    "FsckReport",
    "ImportGap",
    "ImportPlan",
    "ImportReport",
    "PlannedArray",
    "PlannedSource",
    "RepairReport",
    "RetentionReport",
    "Window",
]

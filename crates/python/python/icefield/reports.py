"""What checks, retention, copies, imports, exports and moves of windows report."""

from icefield._values.imports import (
    ImportGap,
    ImportPlan,
    ImportReport,
    PlannedArray,
    PlannedSource,
)
from icefield._values.reports import (
    BundleReport,
    CopyReport,
    DowngradeReport,
    ExportReport,
    Finding,
    FsckReport,
    NotCarried,
    RepairReport,
    RetentionReport,
    Window,
)

__all__ = [
    "BundleReport",
    "CopyReport",
    "DowngradeReport",
    "ExportReport",
    "Finding",
    "FsckReport",
    "ImportGap",
    "ImportPlan",
    "ImportReport",
    "NotCarried",
    "PlannedArray",
    "PlannedSource",
    "RepairReport",
    "RetentionReport",
    "Window",
]

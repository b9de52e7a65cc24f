"""What checks, retention, imports, exports and moves of windows report."""

from icefield._values.reports import (
    ExportReport,
    Finding,
    FsckReport,
    ImportReport,
    RepairReport,
    RetentionReport,
    Window,
)

__all__ = [
    "ExportReport",
    "Finding",
    "FsckReport",
    "ImportReport",
    "RepairReport",
    "RetentionReport",
    "Window",
]

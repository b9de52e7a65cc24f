"""Reports of checks, retention, copies, imports, rechunkings, repackings, exports and window changes."""

from icefield._values.imports import (
    AbandonedImport,
    DifferingAttribute,
    ImportGap,
    ImportPlan,
    ImportReport,
    LackingArray,
    OmittedNode,
    PlannedArray,
    PlannedSource,
)
from icefield._values.rechunk import ArrayLayout, RechunkPlan, RechunkReport
from icefield._values.repack import RepackReport
from icefield._values.reports import (
    BundleReport,
    CopyReport,
    DowngradeReport,
    ExportReport,
    Finding,
    FsckReport,
    MaterializeReport,
    NotCarried,
    RepairReport,
    RetentionReport,
    Window,
)

__all__ = [
    "AbandonedImport",
    "ArrayLayout",
    "BundleReport",
    "CopyReport",
    "DifferingAttribute",
    "DowngradeReport",
    "ExportReport",
    "Finding",
    "FsckReport",
    "ImportGap",
    "ImportPlan",
    "ImportReport",
    "LackingArray",
    "MaterializeReport",
    "NotCarried",
    "OmittedNode",
    "PlannedArray",
    "PlannedSource",
    "RechunkPlan",
    "RechunkReport",
    "RepackReport",
    "RepairReport",
    "RetentionReport",
    "Window",
]

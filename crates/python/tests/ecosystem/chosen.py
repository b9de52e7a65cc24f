"""The module that the tests of this folder run on.

They run unchanged on the reference implementation (`ICEFIELD_PYTHON_UNDER_TEST=icechunk`), which proves that a
test demands what its users have today, and not merely what this package happens to do.
"""

import importlib
import os
from typing import TYPE_CHECKING

__all__ = ["NAME", "compat_line", "ic", "import_lines", "store_dask", "to_icechunk"]

NAME = os.environ.get("ICEFIELD_PYTHON_UNDER_TEST", "icefield")

if TYPE_CHECKING:
    import icefield as ic
    from icefield.dask import store_dask
    from icefield.xarray import to_icechunk
else:
    ic = importlib.import_module(NAME)
    to_icechunk = importlib.import_module(f"{NAME}.xarray").to_icechunk
    store_dask = importlib.import_module(f"{NAME}.dask").store_dask


def import_lines() -> str:
    """The first line of a script for another process that wants the same module as `ic`."""
    return f"import {NAME} as ic\n"


def compat_line() -> str:
    """The first line of a script whose third-party code imports `icechunk`."""
    return "" if NAME == "icechunk" else "import icefield.compat\n"

"""Versions: of this package, and of the format of repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icefield._exceptions import ErrorKind, FormatError
from icefield._values.enums import SpecVersion

if TYPE_CHECKING:
    from icefield.repository import Repository

__all__ = [
    "print_debug_info",
    "spec_version",
    "supported_spec_versions",
    "upgrade_icechunk_repository",
    "user_agent",
]

_PACKAGES = ("zarr", "numcodecs", "numpy", "xarray", "dask", "virtualizarr")


def spec_version() -> SpecVersion:
    """The version of the format of new repositories: that of `SpecVersion.current()`."""
    return SpecVersion.current()


def supported_spec_versions() -> list[SpecVersion]:
    """The versions of the format that this package opens and makes: v2 and v1."""
    return [SpecVersion.v2, SpecVersion.v1]


def user_agent() -> str:
    """What requests to storages name as their software."""
    from icefield import _native

    return f"icefield/{_native.__version__}"


def print_debug_info() -> None:
    """Prints the versions of the system, of Python, and of packages that matter here, for reports of problems."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from icefield import _native

    print(f"platform:  {platform.platform()}")
    print(f"python:  {platform.python_version()}")
    print(f"icefield:  {_native.__version__}{'' if _native._optimized else ' (not optimized)'}")
    for package in _PACKAGES:
        try:
            print(f"{package}:  {version(package)}")
        except PackageNotFoundError:
            continue


def upgrade_icechunk_repository(
    repo: Repository,
    *,
    dry_run: bool,
    delete_unused_v1_files: bool = True,
    prefetch_concurrency: int | None = None,
) -> Repository:
    """Raises `FormatError`: this package does not upgrade repositories yet.

    The arguments are those of the function that the reference has: whether nothing is to be written, whether objects
    that only version 1 needs are to be deleted, and how many snapshots are to be read at once.
    """
    raise FormatError(
        "this package makes repositories of both versions of the format and upgrades none; to upgrade one, use "
        "icechunk.upgrade_icechunk_repository of the reference implementation",
        ErrorKind.UNSUPPORTED_OPERATION_FOR_VERSION,
    )

"""Versions: of this package, and of the format of repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icefield._checks import truth, whole
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
    """The versions of the format that this package reads and writes: v2 and v1."""
    return [SpecVersion.v2, SpecVersion.v1]


def user_agent() -> str:
    """The user agent of requests to storages."""
    from icefield import _native

    return f"icefield/{_native.__version__}"


def print_debug_info() -> None:
    """Prints the versions of the system, of Python, and of related packages, for bug reports."""
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
    """Upgrades a repository of version 1 of the format to version 2, in place, and opens it again.

    Other programs may write to it during the upgrade: their commits are carried over, or refused. A
    second call continues a stopped upgrade. A repository of version 2 raises an error of the kind
    `INVALID_REPOSITORY_MIGRATION`.

    With `dry_run`, the call writes nothing and returns `repo`; it raises the errors that the
    upgrade would raise. Without `delete_unused_v1_files`, the refs of version 1 stay beside the new
    ones, where programs that know only version 1 continue to write; opening the repository then
    raises an error that names their commits. `prefetch_concurrency` is the number of snapshots that
    the reference implementation reads concurrently; here it has no effect.
    """
    from icefield._place import Place, missing

    if prefetch_concurrency is not None:
        whole(prefetch_concurrency, "prefetch_concurrency", "not-allowed", 1, 2**16 - 1)
    place = repo._place
    if place is None:
        raise missing()
    dry_run = truth(dry_run, "dry_run")
    keep = not truth(delete_unused_v1_files, "delete_unused_v1_files")
    repo._repository.upgrade(dry_run, keep).wait()
    if dry_run:
        return repo
    opened = Place(place.storage, place._used_config, place.access)._begin(repo._cache).wait()
    again = type(repo)._of(
        opened, place.storage, place.access, repo._attribution, repo._cache
    )
    again._defaults = dict(repo._defaults)
    return again

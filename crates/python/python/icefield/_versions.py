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
    """Makes a repository of version 2 of the format out of one of version 1, in place, and opens it again.

    Other programs may write to it meanwhile: what they commit is carried over, or refused. Called again, an upgrade that
    was stopped goes on; a repository of version 2 raises an error of the kind `INVALID_REPOSITORY_MIGRATION`.

    With `dry_run`, nothing is written, and `repo` is what comes back: the call raises what the upgrade would find.
    Without `delete_unused_v1_files`, the refs of version 1 stay beside the new ones, where programs that know version 1
    alone go on to write; opening the repository then raises an error that names what is there and not here.
    `prefetch_concurrency` is how many snapshots the reference reads at once; here it changes nothing.
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
    opened = Place(place.storage, place._used_config, place.access)._begin().wait()
    again = type(repo)._of(opened, place.storage, place.access, repo._attribution)
    again._defaults = dict(repo._defaults)
    return again

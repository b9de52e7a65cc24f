"""The package itself: its names, what importing it loads, and what it says about its versions."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import zarr

import icefield
from icefield import UpdateType

SOURCE = Path(icefield.__file__)


def for_type_checkers() -> dict[str, str]:
    """The names that the package imports for type checkers, and their modules."""
    found = {}
    for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for it in node.body:
                assert isinstance(it, ast.ImportFrom) and it.module is not None
                found.update(dict.fromkeys((name.name for name in it.names), it.module))
    return found


def test_type_checkers_see_what_is_there_at_run_time() -> None:
    at_run_time = {name: f"icefield.{module}" for name, module in icefield._MODULE_OF.items()}
    assert for_type_checkers() == at_run_time
    assert set(icefield.__all__) <= set(at_run_time)


@pytest.mark.parametrize("name", sorted(icefield._MODULE_OF))
def test_every_name_is_found(name: str) -> None:
    module = import_module(f"icefield.{icefield._MODULE_OF[name]}")
    assert getattr(icefield, name) is getattr(module, name)
    assert name in dir(icefield)


@pytest.mark.parametrize("name", [it for it in icefield._MODULES if it != "compat"])
def test_modules_are_attributes(name: str) -> None:
    assert getattr(icefield, name) is import_module(f"icefield.{name}")


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        icefield.nothing  # noqa: B018


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        # Who asks for logs from outside loads what writes them.
        env={name: value for name, value in os.environ.items() if not name.endswith("_LOG")},
    )
    return set(ran.stdout.split())


def test_importing_loads_nothing_heavy() -> None:
    loaded = loaded_after("import icefield")
    assert not loaded & {"numpy", "zarr", "xarray", "dask", "hypothesis", "icefield._native"}


def test_using_it_loads_nothing_that_zarr_does_not() -> None:
    heavy = {"xarray", "dask", "distributed", "hypothesis", "pandas", "tqdm", "virtualizarr"}
    loaded = loaded_after(
        "import icefield\nicefield.Repository.create(icefield.in_memory_storage(), "
        "icefield.RepositoryConfig()).writable_session('main').store"
    )
    assert not loaded & heavy


def test_the_debug_information_names_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    icefield.print_debug_info()
    printed = capsys.readouterr().out
    assert f"icefield:  {icefield.__version__}" in printed
    assert "zarr:  3." in printed


def test_versions() -> None:
    assert icefield.user_agent() == f"icefield/{icefield.__version__}"
    assert icefield.spec_version() in icefield.supported_spec_versions()


def test_an_upgrade_keeps_the_history_and_ends_what_was_open() -> None:
    storage = icefield.in_memory_storage()
    repository = icefield.Repository.create(storage, spec_version=1)
    session = repository.writable_session("main")
    zarr.create_group(session.store)
    first = session.commit("one")
    repository.create_tag("v1", first)
    late = repository.writable_session("main")
    zarr.create_group(late.store, path="late")

    assert icefield.upgrade_icechunk_repository(repository, dry_run=True) is repository
    assert icefield.Repository.fetch_spec_version(storage) == icefield.SpecVersion.v1
    upgraded = icefield.upgrade_icechunk_repository(repository, dry_run=False, prefetch_concurrency=8)
    assert upgraded.spec_version == icefield.SpecVersion.v2
    assert [it.id for it in upgraded.ancestry(tag="v1")][0] == first
    kinds = [update.kind for update in upgraded.ops_log()]
    assert isinstance(kinds[0], UpdateType.RepoMigrated)
    assert isinstance(kinds[-1], UpdateType.RepoInitialized)

    with pytest.raises(icefield.IcechunkError, match="upgraded to spec version 2") as refused:
        late.commit("late")
    assert refused.value.kind == icefield.ErrorKind.UNSUPPORTED_SPEC_VERSION
    session = upgraded.writable_session("main")
    zarr.create_group(session.store, path="new")
    session.commit("two")
    with pytest.raises(icefield.IcechunkError, match="already") as refused:
        icefield.upgrade_icechunk_repository(upgraded, dry_run=False)
    assert refused.value.kind == icefield.ErrorKind.INVALID_REPOSITORY_MIGRATION
    assert len(list(upgraded.ancestry(branch="main"))) == 3


def test_logs() -> None:
    icefield.initialize_logs()
    icefield.initialize_logs()
    icefield.set_logs_filter("icefield=debug,error")
    icefield.set_logs_filter(None)
    icefield.shutdown_telemetry()
    with pytest.raises(icefield.InvalidInputError):
        icefield.set_logs_filter("icefield=no such level")
    with pytest.raises(TypeError, match="log_filter_directive"):
        icefield.set_logs_filter(3)  # type: ignore[arg-type]

"""The command `icefield`, which an installed wheel puts beside the interpreter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

import icefield

COMMAND = Path(sys.executable).with_name("icefield")
# Both ways to start it.
STARTS = {"command": [str(COMMAND)], "module": [sys.executable, "-m", "icefield"]}


@pytest.fixture(params=STARTS)
def start(request: pytest.FixtureRequest) -> list[str]:
    """The words that start the command."""
    return STARTS[request.param]


def run(*words: str | bytes | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a command that ends with this code."""
    # The output has names that are not text.
    ran = subprocess.run(
        words, capture_output=True, check=False, encoding="utf-8", errors="surrogateescape"
    )
    assert ran.returncode == code, ran
    return ran


def tree(path: Path, chunks: int = 4) -> Path:
    """A Zarr directory with the array `/a` of so many chunks, each too large to lie in a manifest."""
    group = zarr.open_group(path, mode="w")
    array = group.create_array(
        "a", shape=(chunks, 1000), chunks=(1, 1000), dtype="i4", compressors=None
    )
    array[:] = np.arange(chunks)[:, None]
    return path


def test_version_and_help(start: list[str]) -> None:
    assert run(*start, "--version").stdout == f"icefield {icefield.__version__}\n"
    assert "Usage: icefield [OPTIONS] <COMMAND>" in run(*start, "--help").stdout


def test_a_repository_is_made_filled_and_looked_at(start: list[str], tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    run(*start, "init", repository)
    run(*start, "import", tree(tmp_path / "a.zarr"), repository, "-m", "four numbers")
    log = json.loads(run(*start, "log", repository, "--json").stdout)
    assert [it["message"] for it in log["snapshots"]] == ["four numbers", "Repository initialized"]
    # All bytes come out, also those behind the last end of a line.
    shown = run(*start, "cat", repository, "a/zarr.json").stdout
    assert shown and not shown.endswith("\n")
    opened = icefield.Repository.open(icefield.local_filesystem_storage(str(repository)))
    store = opened.readonly_session("main").store
    first = np.asarray(zarr.open_array(store, path="a", mode="r")[:, 0])
    assert first.tolist() == [0, 1, 2, 3]


def test_exit_codes_are_those_of_the_program(start: list[str], tmp_path: Path) -> None:
    assert run(*start, "no-such-command", code=2).stderr.startswith("error: unrecognized")
    missing = run(*start, "log", tmp_path / "nothing", code=4)
    assert missing.stdout == ""
    assert "hint: `icefield init LOCATION` creates one" in missing.stderr
    run(*start, "init", tmp_path / "repository")
    run(*start, "branch", "create", tmp_path / "repository", "main", code=3)


def test_arguments_need_not_be_text(start: list[str], tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9"
    run(*start, "cat", tmp_path, name, code=2)
    failed = run(*start, "log", tmp_path / "caf\N{LATIN SMALL LETTER E WITH ACUTE}", code=4)
    assert "caf\N{LATIN SMALL LETTER E WITH ACUTE}" in failed.stderr


def test_a_closed_pipe_is_no_error(
    start: list[str], disk: icefield.Repository, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        words = [*start, "log", str(tmp_path / "repository")]
        ran = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_closed_streams_are_no_files_of_the_repository(start: list[str], tmp_path: Path) -> None:
    repository, source = tmp_path / "repository", tree(tmp_path / "a.zarr")
    run(*start, "init", repository)
    words = [*start, "import", str(source), str(repository)]
    ran = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words], check=False)
    assert ran.returncode == 0
    run(*start, "fsck", repository)


def test_logs_are_asked_for_as_ever(
    start: list[str], disk: icefield.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ICEFIELD_LOG", raising=False)
    monkeypatch.delenv("ICECHUNK_LOG", raising=False)
    location = tmp_path / "repository"
    assert run(*start, "log", location).stderr == ""
    assert "icefield_core" in run(*start, "-v", "log", location).stderr
    monkeypatch.setenv("ICEFIELD_LOG", "icefield_core=debug")
    assert "icefield_core" in run(*start, "log", location).stderr


def heed_ctrl_c() -> None:
    """Undoes, in a child, what a shell does that started the tests in the background: it ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(words: list[str], chunks: Path) -> subprocess.Popen[str]:
    """Starts an import and sends Ctrl-C when it has written some chunks."""
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=heed_ctrl_c,
    )
    while process.poll() is None and len(list(chunks.glob("*"))) < 50:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    return process


def test_ctrl_c_ends_an_import_where_that_does_no_harm(start: list[str], tmp_path: Path) -> None:
    repository, source = tmp_path / "repository", tree(tmp_path / "a.zarr", chunks=2000)
    run(*start, "init", repository)
    words = [*start, "import", str(source), str(repository), "--fsync", "each"]
    process = interrupted(words, repository / "chunks")
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "the branch is where it was" in said
    assert "Traceback" not in said
    log = json.loads(run(*start, "log", repository, "--json").stdout)
    assert len(log["snapshots"]) == 1


def test_ctrl_c_ends_all_other_commands_at_once(start: list[str], tmp_path: Path) -> None:
    run(*start, "init", tmp_path / "repository")
    pipe = tmp_path / "text.cdl"
    os.mkfifo(pipe)
    # It waits for a text that never comes.
    process = subprocess.Popen(
        [*start, "ncgen", str(pipe), str(tmp_path / "repository")],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=heed_ctrl_c,
    )
    # Opened for writing as soon as the command has opened it for reading.
    with pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (-signal.SIGINT, "")


def test_a_process_that_ignores_ctrl_c_goes_on(tmp_path: Path) -> None:
    code = (
        "import signal\nimport icefield._command as it\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\nit.sys.argv[1:] = ['--version']\n"
        "assert it.main() == 0\nassert signal.getsignal(signal.SIGINT) is signal.SIG_IGN\n"
    )
    assert run(sys.executable, "-c", code).stdout.startswith("icefield ")

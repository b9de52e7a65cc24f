"""Workers on other machines: processes with an empty environment, which have what the pickle brings and nothing else."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from bucket import Bucket, bucket
from chosen import NAME, ic
from processes import PATIENCE

_WORKER = """
import pickle, sys
path, sent, work = pickle.load(sys.stdin.buffer)
sys.path[:] = path
import warnings
warnings.simplefilter("ignore")
it = pickle.loads(sent)
found = {"it": it}
exec(work, found)
sys.stdout.buffer.write(pickle.dumps(found.get("answer")))
"""

IN_A_FORK = """
import zarr
zarr.open_array(it.store, path="a")[:2] = 7
assert zarr.open_array(it.store, path="virtual", mode="r")[:].tolist() == [3] * 1024
answer = it
"""

IN_A_STORE = """
import zarr
zarr.open_array(it, path="a")[:2] = 7
assert zarr.open_array(it, path="virtual", mode="r")[:].tolist() == [3] * 1024
answer = it.session
"""

IN_A_SESSION = """
import zarr
answer = [zarr.open_array(it.store, path=path, mode="r")[:].tolist() for path in ("a", "virtual")]
"""

IN_A_REPOSITORY = """
import zarr
session = it.writable_session("main")
zarr.open_array(session.store, path="a")[:2] = 7
answer = session.commit("from a worker")
"""


def ended(sent: Any, work: str, **environment: str) -> tuple[int, bytes, str]:
    """How a worker ends that is sent something: code, output, errors. Nothing of this environment reaches it."""
    done = subprocess.run(
        [sys.executable, "-c", _WORKER],
        input=pickle.dumps((sys.path, pickle.dumps(sent), work)),
        capture_output=True,
        env=environment,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode()


def answer_of(sent: Any, work: str, **environment: str) -> Any:
    """What a worker answers."""
    code, out, err = ended(sent, work, **environment)
    assert code == 0, err
    return pickle.loads(out)


@pytest.fixture(scope="module")
def server() -> Iterator[Bucket]:
    with bucket() as found:
        yield found


@pytest.fixture(autouse=True)
def no_keys_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment of this process says of S3 must not matter either."""
    for name in [it for it in os.environ if it.startswith("AWS_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def repository(server: Bucket, request: pytest.FixtureRequest) -> "ic.Repository":
    """`a`: four numbers in chunks of two; `virtual`: 1,024 bytes of 3, which are a chunk of another repository."""
    elsewhere = server.storage(f"{request.node.name}/elsewhere")
    session = ic.Repository.create(elsewhere).writable_session("main")
    plain: dict[str, Any] = {"compressors": None, "filters": None, "fill_value": 0}
    threes = zarr.create_array(
        session.store, name="threes", shape=(1024,), chunks=(1024,), dtype="u1", **plain
    )
    threes[:] = 3
    session.commit("threes")
    ((chunk, length),) = elsewhere.list_objects(prefix="chunks")
    assert length == 1024
    prefix = f"s3://{server.name}/{request.node.name}/elsewhere/"
    config = ic.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 0
    config.set_virtual_chunk_container(ic.VirtualChunkContainer(prefix, server.store()))
    # Here, the reader names the server that gets the keys.
    granted = prefix if NAME == "icechunk" else f"{prefix}?endpoint={server.endpoint}"
    access = ic.containers_credentials({granted: ic.s3_credentials(**server.key)})
    repository = ic.Repository.create(
        server.storage(f"{request.node.name}/repository"),
        config,
        authorize_virtual_chunk_access=access,
    )
    session = repository.writable_session("main")
    zarr.create_array(session.store, name="a", shape=(4,), chunks=(2,), dtype="i4", **plain)[:] = 1
    zarr.create_array(
        session.store, name="virtual", shape=(1024,), chunks=(1024,), dtype="u1", **plain
    )
    location = f"{prefix}chunks/{chunk.removeprefix('chunks/')}"
    session.store.set_virtual_ref("virtual/c/0", location, offset=0, length=1024)
    session.commit("two arrays")
    return repository


def numbers(repository: "ic.Repository") -> list[int]:
    store = repository.readonly_session("main").store
    return [int(it) for it in np.asarray(zarr.open_array(store, path="a", mode="r")[:])]


@pytest.mark.parametrize("work", [IN_A_FORK, IN_A_STORE], ids=["fork", "its store"])
def test_a_worker_writes_to_a_fork(repository: "ic.Repository", work: str) -> None:
    session = repository.writable_session("main")
    fork = session.fork()
    session.merge(answer_of(fork if work is IN_A_FORK else fork.store, work))
    session.commit("from a worker")
    assert numbers(repository) == [7, 7, 1, 1]


def test_a_worker_commits_to_a_repository(repository: "ic.Repository") -> None:
    snapshot = answer_of(repository, IN_A_REPOSITORY)
    assert repository.lookup_branch("main") == snapshot
    assert numbers(repository) == [7, 7, 1, 1]


def test_a_worker_reads_a_session(repository: "ic.Repository") -> None:
    session = repository.readonly_session("main")
    assert answer_of(session, IN_A_SESSION) == [[1, 1, 1, 1], [3] * 1024]
    # And it passes the session on to a worker of its own.
    assert numbers(answer_of(repository, "answer = it")) == [1, 1, 1, 1]


@pytest.mark.skipif(NAME == "icechunk", reason="its pickles always have the keys")
def test_without_secrets_a_worker_needs_keys_of_its_own(
    repository: "ic.Repository", server: Bucket
) -> None:
    """Those of its environment, for the storage and for virtual chunks."""
    plain = repository.storage.without_secrets_in_pickles()
    place: Any = repository._place
    reopened = ic.Repository.open(plain, authorize_virtual_chunk_access=place.access)
    fork = reopened.writable_session("main").fork()
    for it in (plain, reopened, fork, reopened.readonly_session("main").store):
        assert not any(secret.encode() in pickle.dumps(it) for secret in server.secrets)
    code, _, err = ended(fork, IN_A_FORK)
    assert code != 0 and "the environment has no credentials" in err, err
    own = {
        "AWS_ACCESS_KEY_ID": server.key["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": server.key["secret_access_key"],
    }
    session = reopened.writable_session("main")
    session.merge(answer_of(session.fork(), IN_A_FORK, **own))
    session.commit("from a worker with keys")
    assert numbers(repository) == [7, 7, 1, 1]


def test_nothing_but_pickles_shows_a_secret(repository: "ic.Repository", server: Bucket) -> None:
    session = repository.writable_session("main")
    fork = session.fork()
    shown = [f"{it!r}{it}{it._repr_html_()}" for it in (repository, session, fork)]
    shown += [f"{repository.storage!r}{repository.config!r}"] if NAME == "icefield" else []
    zarr.open_array(fork.store, path="a")[:2] = 7
    for secret in server.secrets:
        assert secret not in "".join(shown)
        assert secret.encode() in pickle.dumps(fork)
        if NAME == "icefield":
            assert secret.encode() not in fork._session.to_bytes().wait()
            assert secret.encode() not in pickle.dumps(fork.answer())


@pytest.mark.skipif(NAME == "icechunk", reason="it writes no such logs")
def test_logs_show_no_secret(repository: "ic.Repository", server: Bucket) -> None:
    """With all that any part has to say, the clients of clouds and their connections included."""
    session = repository.writable_session("main")
    shows = "import icefield; icefield.set_logs_filter('trace')\n"
    code, _, said = ended(session.fork(), shows + IN_A_FORK, ICEFIELD_LOG="trace")
    assert code == 0, said
    assert said.count("\n") > 100 and server.name in said
    for secret in server.secrets:
        assert secret not in said


class Elsewhere(Executor):
    """Does each task in a process with an empty environment, and keeps what goes back."""

    def __init__(self) -> None:
        self.returned: list[bytes] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        code, out, err = ended((fn, args, kwargs), "answer = it[0](*it[1], **it[2])")
        assert code == 0, err
        self.returned.append(out)
        future.set_result(pickle.loads(out))
        return future


@pytest.mark.skipif(NAME == "icechunk", reason="it imports nothing")
def test_workers_import_files_with_the_keys_of_the_fork(
    repository: "ic.Repository", server: Bucket, tmp_path: Path
) -> None:
    from icefield.dask import import_files

    places = []
    for number in range(4):
        places.append(tmp_path / f"{number}.zarr")
        root = zarr.create_group(str(places[-1]))
        made = root.create_array(
            "long", shape=(3,), chunks=(2,), dtype="i4", dimension_names=["t"]
        )
        made[:] = np.arange(3) + 3 * number
    session = repository.writable_session("main")
    elsewhere = Elsewhere()
    report = import_files(
        places, session, executor=elsewhere, shares=2, concat="t", group="new", message="by two"
    )
    assert report.snapshot_id == repository.lookup_branch("main")
    store = repository.readonly_session("main").store
    found = np.asarray(zarr.open_array(store, path="new/long", mode="r")[:])
    assert found.tolist() == list(range(12))
    assert len(elsewhere.returned) == 4
    for secret in server.secrets:
        assert not any(secret.encode() in each for each in elsewhere.returned)

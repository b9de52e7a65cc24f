"""Faults that only a Python process can show: secrets in pickles, forks, signals."""

import base64
import json
import pickle
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from chosen import ic
from processes import interrupted, run

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
TOKEN = "FwoGZXIvYXdzEBYaDsessiontoken"

# --- H 104: what is pickled carries secrets to workers, and none where that is switched off ---------------------------


S3_KEY: dict[str, Any] = {
    "access_key_id": "AKIAIOSFODNN7EXAMPLE",
    "secret_access_key": SECRET,
    "session_token": TOKEN,
}
SERVICE_ACCOUNT = json.dumps({"type": "service_account", "private_key": SECRET})
CLIENT = {
    "azure_client_id": "me",
    "azure_client_secret": SECRET,
    "azure_tenant_id": "mine",
}
HOURS = timedelta(hours=1)
BUCKET: dict[str, Any] = {"bucket": "bucket", "prefix": "prefix"}
CONTAINER: dict[str, Any] = {"account": "account", "container": "container", "prefix": "prefix"}

WITH_SECRETS: dict[str, Callable[[], "ic.Storage"]] = {
    "s3": lambda: ic.s3_storage(
        **BUCKET, **S3_KEY, region="us-east-1", expires_after=datetime.now(UTC) + HOURS
    ),
    "s3 object store": lambda: ic.storage.s3_object_store_storage(**BUCKET, **S3_KEY),
    "s3 headers": lambda: ic.s3_storage(**BUCKET, headers={"X-Api-Key": SECRET}),
    "s3 headers of reads": lambda: ic.s3_storage(**BUCKET, read_headers={"X-Session": SECRET}),
    "s3 headers of writes": lambda: ic.s3_storage(**BUCKET, write_headers={"Cookie": SECRET}),
    "tigris": lambda: ic.tigris_storage(**BUCKET, **S3_KEY, region="x"),
    "r2": lambda: ic.r2_storage(**BUCKET, **S3_KEY, account_id="me"),
    "hf": lambda: ic.storage.hf_storage(**BUCKET, **S3_KEY, namespace="me"),
    "gcs token": lambda: ic.gcs_storage(**BUCKET, bearer_token=SECRET),
    "gcs key": lambda: ic.gcs_storage(**BUCKET, service_account_key=SERVICE_ACCOUNT),
    "azure key": lambda: ic.azure_storage(**CONTAINER, access_key=SECRET),
    "azure signature": lambda: ic.azure_storage(**CONTAINER, sas_token=f"sv=1&sig={SECRET}"),
    "azure token": lambda: ic.azure_storage(**CONTAINER, bearer_token=SECRET),
    "azure client": lambda: ic.azure_storage(**CONTAINER, config=CLIENT),
    "web, query": lambda: ic.http_storage(f"https://host/x?token={SECRET}"),
    "web, fragment": lambda: ic.http_storage(f"https://host/x#{SECRET}"),
    "web, user": lambda: ic.http_storage(f"https://me:{SECRET}@host/x"),
    "web, headers": lambda: ic.http_storage("https://host/x", headers={"Authorization": SECRET}),
    "web, a login": lambda: ic.http_storage("https://host", headers={"X": f"Bearer {SECRET}"}),
    "redirect": lambda: ic.redirect_storage(f"https://host/x?token={SECRET}"),
    "from afar": lambda: ic.storage.LatencyStorage(ic.gcs_storage(**BUCKET, bearer_token=SECRET)),
}


def a_key() -> "ic.S3StaticCredentials":
    return ic.S3StaticCredentials(**S3_KEY)


def a_token() -> "ic.GcsBearerCredential":
    return ic.GcsBearerCredential(SECRET)


def an_azure_key() -> "ic.AzureRefreshableCredential.AccessKey":
    return ic.AzureRefreshableCredential.AccessKey(SECRET)


KEYS: dict[str, Callable[[], Any]] = {
    "s3": lambda: ic.s3_credentials(**S3_KEY),
    "gcs token": lambda: ic.gcs_credentials(bearer_token=SECRET),
    "gcs key": lambda: ic.gcs_credentials(service_account_key=SERVICE_ACCOUNT),
    "azure key": lambda: ic.azure_credentials(access_key=SECRET),
    "azure signature": lambda: ic.azure_credentials(sas_token=f"sv=1&sig={SECRET}"),
    "azure token": lambda: ic.azure_credentials(bearer_token=SECRET),
}
NO_KEYS: dict[str, Callable[[], Any]] = {
    "s3 anonymous": lambda: ic.s3_credentials(anonymous=True),
    "s3 environment": lambda: ic.s3_credentials(from_env=True),
    "s3 function": lambda: ic.s3_credentials(get_credentials=a_key),
    "gcs anonymous": lambda: ic.gcs_credentials(anonymous=True),
    "gcs environment": lambda: ic.gcs_credentials(from_env=True),
    "gcs function": lambda: ic.gcs_credentials(get_credentials=a_token),
    "azure anonymous": lambda: ic.azure_credentials(anonymous=True),
    "azure environment": lambda: ic.azure_credentials(from_env=True),
    "azure function": lambda: ic.azure_credentials(get_credentials=an_azure_key),
}


def _has_secret(pickled: bytes) -> bool:
    login = base64.b64encode(f"me:{SECRET}".encode())
    return any(it in pickled for it in (SECRET.encode(), TOKEN.encode(), login))


@pytest.mark.parametrize("name", WITH_SECRETS)
def test_h104_a_pickled_storage_without_secrets_carries_none(name: str) -> None:
    storage = WITH_SECRETS[name]().without_secrets_in_pickles()
    pickled = pickle.dumps(storage)
    again = pickle.loads(pickled)
    assert type(again) is type(storage)
    for it in (storage, again):
        assert not _has_secret(pickle.dumps(it))
        assert not _has_secret(f"{it!r}{it}{it._repr_html_()}".encode())


@pytest.mark.parametrize("name", WITH_SECRETS)
def test_h104_a_pickled_storage_carries_its_secrets(name: str) -> None:
    storage = WITH_SECRETS[name]()
    pickled = pickle.dumps(storage)
    assert _has_secret(pickled)
    again = pickle.loads(pickled)
    assert again._description == storage._description
    assert not _has_secret(f"{again!r}{again}{again._repr_html_()}".encode())
    # And it goes on from there: a worker may have workers.
    assert _has_secret(pickle.dumps(again))


def test_h104_keys_of_the_environment_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", TOKEN),
        ("AZURE_STORAGE_SAS_TOKEN", f"sv=1&sig={SECRET}"),
    ):
        monkeypatch.setenv(name, value)
    for storage in (
        ic.s3_storage(**BUCKET, region="us-east-1", from_env=True),
        ic.azure_storage(**CONTAINER, from_env=True),
    ):
        # Also once the native side has read them.
        storage._native().read_only().wait()
        assert not _has_secret(pickle.dumps(storage) + f"{storage!r}".encode())


def test_h104_what_a_function_handed_out_is_a_secret() -> None:
    storage = ic.s3_storage(**BUCKET, get_credentials=a_key, scatter_initial_credentials=True)
    assert _has_secret(pickle.dumps(storage))
    plain = storage.without_secrets_in_pickles()
    assert not _has_secret(pickle.dumps(plain))
    again = pickle.loads(pickle.dumps(plain))
    # The function is there, and is asked.
    assert SECRET in again._source()


def test_h104_what_holds_no_secret_is_pickled_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text(SERVICE_ACCOUNT)
    for made in (
        ic.s3_storage(**BUCKET, anonymous=True),
        ic.s3_storage(**BUCKET, get_credentials=a_key),
        ic.gcs_storage(**BUCKET, service_account_file=str(file)),
        ic.gcs_storage(**BUCKET, application_credentials=str(file)),
        ic.azure_storage(**CONTAINER, from_env=True),
    ):
        assert not _has_secret(pickle.dumps(made))
        assert pickle.loads(pickle.dumps(made))._description == made._description


@pytest.mark.parametrize("name", [*KEYS, *NO_KEYS])
def test_h104_pickles_of_sessions_carry_grants_of_virtual_chunks(
    tmp_path: Path, name: str
) -> None:
    """Whose keys are left out where those of the storage are."""
    service = name.split()[0]
    prefix, store = {
        "s3": ("s3://bucket/", ic.s3_store(region="us-east-1")),
        "gcs": ("gs://bucket/", ic.gcs_store()),
        "azure": ("az://box/", ic.storage.azure_store(account="account")),
    }[service]
    config = ic.RepositoryConfig.default()
    config.set_virtual_chunk_container(ic.VirtualChunkContainer(prefix, store))
    credentials = (KEYS | NO_KEYS)[name]()
    access = ic.containers_credentials({prefix: credentials})
    for carried in (False, True):
        path = tmp_path / f"repository-{carried}"
        storage = ic.local_filesystem_storage(str(path))
        if not carried:
            storage = storage.without_secrets_in_pickles()
        repository = ic.Repository.create(storage, config, authorize_virtual_chunk_access=access)
        reader, writer = repository.readonly_session("main"), repository.writable_session("main")
        fork = writer.fork()
        for value in (repository, reader, reader.store, fork, fork.store):
            pickled = pickle.dumps(value)
            assert _has_secret(pickled) == (carried and name in KEYS)
            assert SECRET not in repr(value)
            again = pickle.loads(pickled)
            assert _has_secret(pickle.dumps(again)) == (carried and name in KEYS)
        assert not _has_secret(pickle.dumps(fork.answer()))
        assert not _has_secret(fork._session.to_bytes().wait())
        repository.save_config()
        kept = [it.read_bytes() for it in path.rglob("*") if it.is_file()]
        assert kept and not any(map(_has_secret, kept))
        if carried or name in NO_KEYS:
            assert pickle.loads(pickle.dumps(repository))._place.access == access


@pytest.mark.parametrize("name", [*KEYS, *NO_KEYS])
def test_h104_credentials_show_no_secret(name: str) -> None:
    credentials = (KEYS | NO_KEYS)[name]()
    assert not _has_secret(f"{credentials!r}{credentials}".encode())


def test_h104_no_form_of_credentials_was_forgotten() -> None:
    """A new form must be listed here, with or without a secret."""
    known = {type(make()) for make in (KEYS | NO_KEYS).values()}
    known |= {type(value) for make in KEYS.values() if (value := make()._0)}
    families = (ic.S3Credentials, ic.GcsCredentials, ic.AzureCredentials)
    forms = {form for family in families for form in family.__subclasses__()}
    assert forms <= known
    files = {
        ic.GcsStaticCredentials.ServiceAccount,
        ic.GcsStaticCredentials.ApplicationCredentials,
    }
    static = {ic.S3StaticCredentials, *_leaves(ic.GcsStaticCredentials)}
    assert static | _leaves(ic.AzureStaticCredentials) <= known | files


def _leaves(of: type) -> set[type]:
    below: list[type] = of.__subclasses__()
    return set().union(*map(_leaves, below)) if below else {of}


# --- H 107: a fork after the runtime started --------------------------------------------------------------------------

_REPOSITORY = """
import multiprocessing, os, pickle, sys, warnings
import numpy as np, zarr
import icefield as ic

warnings.simplefilter("ignore")
path = sys.argv[1]
repository = ic.Repository.create(ic.local_filesystem_storage(path))
session = repository.writable_session("main")
# Without a compressor, so that the chunks are what their numbers are.
zarr.create_array(session.store, name="a", data=np.arange(8), chunks=(2,), compressors=None)
session.commit("an array")


def total(repository):
    store = repository.readonly_session("main").store
    # By the store itself: zarr-python's own event loop does not live through a fork.
    parts = [store.get_sync(f"a/c/{i}", prototype=zarr.core.buffer.default_buffer_prototype()) for i in range(4)]
    return sum(len(part.to_bytes()) for part in parts)


def in_a_child(work):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        try:
            answers.put(("did", work()))
        except BaseException as error:
            answers.put((type(error).__name__, f"{getattr(error, 'kind', None)}: {error}"))

    process = context.Process(target=child)
    process.start()
    answer = answers.get(timeout=30)
    process.join(30)
    assert process.exitcode == 0, process.exitcode
    return answer


total(repository)
"""


def test_h107_a_forked_child_opens_again(tmp_path: Path) -> None:
    said = run(
        _REPOSITORY
        + """
print(in_a_child(lambda: total(ic.Repository.open(ic.local_filesystem_storage(path)))))
print(total(repository))
""",
        str(tmp_path / "repository"),
    )
    assert said.splitlines() == ["('did', 64)", "64"]


def test_h107_the_parents_objects_are_refused_in_the_child(tmp_path: Path) -> None:
    said = run(
        _REPOSITORY
        + """
store = repository.readonly_session("main").store
for work in (
    lambda: repository.lookup_branch("main"),
    lambda: repository.writable_session("main").commit("from the child"),
    lambda: store.get_sync("a/c/0", prototype=zarr.core.buffer.default_buffer_prototype()),
    lambda: session.status(),
):
    name, message = in_a_child(work)
    print(name != "did" and message.startswith("forked:") and "open" in message, name, message)
print(total(repository))
""",
        str(tmp_path / "repository"),
    )
    lines = said.splitlines()
    assert [line.split()[0] for line in lines] == ["True"] * 4 + ["64"], said


def test_h107_a_child_reads_what_it_unpickles(tmp_path: Path) -> None:
    said = run(
        _REPOSITORY
        + """
blob = pickle.dumps(repository.readonly_session("main").store)


def read():
    store = pickle.loads(blob)
    return store.get_sync("a/c/3", prototype=zarr.core.buffer.default_buffer_prototype()).to_bytes()


print(in_a_child(read) == ("did", np.arange(6, 8).tobytes()))
""",
        str(tmp_path / "repository"),
    )
    assert said == "True\n"


def test_h107_a_child_writes_and_the_parent_sees_it(tmp_path: Path) -> None:
    said = run(
        _REPOSITORY
        + """
def write():
    repository = ic.Repository.open(ic.local_filesystem_storage(path))
    session = repository.writable_session("main")
    buffer = zarr.core.buffer.default_buffer_prototype().buffer
    session.store.set_sync("a/c/0", buffer.from_bytes(np.array([70, 71]).tobytes()))
    return session.commit("from the child")


did, snapshot = in_a_child(write)
print(did, repository.lookup_branch("main") == snapshot)
print(zarr.open_array(repository.readonly_session("main").store, path="a")[:].tolist())
""",
        str(tmp_path / "repository"),
    )
    assert said.splitlines() == ["did True", "[70, 71, 2, 3, 4, 5, 6, 7]"]


def test_h107_forks_while_threads_are_at_work(tmp_path: Path) -> None:
    said = run(
        _REPOSITORY
        + """
import threading

stop = threading.Event()


def busy():
    while not stop.is_set():
        total(repository)


threads = [threading.Thread(target=busy) for _ in range(4)]
for thread in threads:
    thread.start()
try:
    again = lambda: total(ic.Repository.open(ic.local_filesystem_storage(path)))
    print({in_a_child(again) for _ in range(10)})
finally:
    stop.set()
    for thread in threads:
        thread.join()
""",
        str(tmp_path / "repository"),
    )
    assert said == "{('did', 64)}\n"


# --- H 109: Ctrl-C and SIGTERM in a call ------------------------------------------------------------------------------

_SLOW = """
import signal, sys, time
import icefield as ic
from icefield.testing import LatencyStorage

HOURS = 3 * 3600 * 1000
fast = ic.in_memory_storage()
repository = ic.Repository.create(fast)
session = repository.writable_session("main")
buffer = __import__("zarr").core.buffer.default_buffer_prototype().buffer
session.store.set_sync("zarr.json", buffer.from_bytes(b'{"zarr_format":3,"node_type":"group"}'))
storage = LatencyStorage(fast)
slow = ic.Repository.open(storage)
"""


def test_h109_ctrl_c_ends_a_read(tmp_path: Path) -> None:
    code, out, err = interrupted(
        _SLOW
        + """
storage.read_latency_ms = HOURS
try:
    print("ready")
    slow.lookup_branch("main")
except KeyboardInterrupt:
    print("interrupted")
storage.read_latency_ms = 0
print(slow.lookup_branch("main") == repository.lookup_branch("main"))
""",
        signal.SIGINT,
    )
    assert (code, out) == (0, "interrupted\nTrue\n"), err


def test_h109_ctrl_c_ends_a_commit_and_the_session_goes_on(tmp_path: Path) -> None:
    code, out, err = interrupted(
        _SLOW
        + """
session = slow.writable_session("main")
session.store.set_sync("zarr.json", buffer.from_bytes(b'{"zarr_format":3,"node_type":"group"}'))
before = repository.lookup_branch("main")
storage.write_latency_ms = HOURS
try:
    print("ready")
    session.commit("never")
except KeyboardInterrupt:
    print("interrupted")
storage.write_latency_ms = 0
# Nothing was published, and the session says itself whether it can go on.
print(repository.lookup_branch("main") == before)
try:
    print(session.commit("after all") == repository.lookup_branch("main"))
except ic.IcechunkError as error:
    print(error.kind == "not-allowed")
# The process would wait for the first one.
__import__("os")._exit(0)
""",
        signal.SIGINT,
    )
    assert (code, out) == (0, "interrupted\nTrue\nTrue\n"), err


def test_h109_ctrl_c_ends_a_read_through_zarr(tmp_path: Path) -> None:
    code, _, err = interrupted(
        _SLOW
        + """
import zarr

zarr.create_array(session.store, name="a", shape=(4,), chunks=(2,), dtype="i4")[:] = range(4)
session.commit("an array")
store = slow.readonly_session("main").store
array = zarr.open_array(store, path="a")
storage.read_latency_ms = HOURS
print("ready")
array[:]
print("not reached")
""",
        signal.SIGINT,
    )
    assert code == -signal.SIGINT or (code == 1 and "KeyboardInterrupt" in err), err


def test_h109_sigterm_ends_the_process(tmp_path: Path) -> None:
    code, out, err = interrupted(
        _SLOW + "storage.read_latency_ms = HOURS\nprint('ready')\nslow.lookup_branch('main')\n",
        signal.SIGTERM,
    )
    assert (code, out) == (-signal.SIGTERM, ""), err


def test_h109_a_handler_of_sigterm_runs_within_the_call(tmp_path: Path) -> None:
    code, out, err = interrupted(
        _SLOW
        + """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
storage.read_latency_ms = HOURS
try:
    print("ready")
    slow.lookup_branch("main")
finally:
    print("cleaned up")
""",
        signal.SIGTERM,
    )
    assert (code, out) == (7, "cleaned up\n"), err


def test_h109_a_signal_that_raises_nothing_does_not_end_the_call(tmp_path: Path) -> None:
    code, out, err = interrupted(
        _SLOW
        + """
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
storage.read_latency_ms = 1500
print("ready")
print(slow.lookup_branch("main") == repository.lookup_branch("main"), seen)
""",
        signal.SIGUSR1,
    )
    assert (code, out) == (0, "True [1]\n"), err

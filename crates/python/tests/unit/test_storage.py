"""Storages: where they are, what they say of themselves, what they send, and what they refuse."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import zarr
from listening import listening

import icefield
from icefield import storage as places
from icefield.storage import (
    ChecksumAlgorithm,
    LatencyStorage,
    ObjectStoreConfig,
    S3Options,
    Storage,
    StorageConcurrencySettings,
    StorageRetriesSettings,
    StorageSettings,
    StorageTimeoutSettings,
)

KEY: dict[str, Any] = {"access_key_id": "AKIAXYZ", "secret_access_key": "hidden-key"}
EMPTY = b"""<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>sea</Name><Prefix></Prefix>
<KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated></ListBucketResult>"""
EMPTY_AZURE = b"""<?xml version="1.0" encoding="utf-8"?>
<EnumerationResults ServiceEndpoint="x" ContainerName="box"><Blobs /><NextMarker /></EnumerationResults>"""


def s3(**arguments: Any) -> Storage:
    return places.s3_storage(**({"bucket": "sea", "prefix": "a"} | KEY | arguments))


def shown(storage: object) -> str:
    html: Any = storage
    return f"{storage!r}{storage}{html._repr_html_()}"


STORAGES: dict[str, Callable[[], Storage]] = {
    "local": lambda: places.local_filesystem_storage("/tmp/icefield-nowhere"),
    "s3": lambda: s3(region="eu-west-1", session_token="hidden", expires_after=datetime.now(UTC)),
    "object store": lambda: places.s3_object_store_storage(bucket="sea", prefix=None, **KEY),
    "tigris": lambda: places.tigris_storage(bucket="sea", prefix="a", region="x", **KEY),
    "r2": lambda: places.r2_storage(prefix="sea/a", account_id="me", **KEY),
    "hf": lambda: places.hf_storage(bucket="sea", prefix="a", namespace="me", **KEY),
    "gcs": lambda: places.gcs_storage(bucket="sea", prefix="a", bearer_token="hidden"),
    "azure": lambda: places.azure_storage(
        account="me", container="box", prefix="a", access_key="aGlkZGVu"
    ),
    "http": lambda: places.http_storage(
        "https://me:hidden@host/x?token=hidden", headers={"authorization": "hidden"}
    ),
    "redirect": lambda: places.redirect_storage("https://host/x?token=hidden"),
}


@pytest.mark.parametrize("kind", STORAGES)
def test_secrets_are_not_shown_and_pickles_are_complete(kind: str) -> None:
    storage = STORAGES[kind]()
    assert "hidden" not in shown(storage)
    assert "hidden" not in str(storage._native())
    assert "aGlkZGVu" not in shown(storage)
    again = pickle.loads(pickle.dumps(storage))
    assert repr(again) == repr(storage)
    assert again._description == storage._description
    assert pickle.loads(pickle.dumps(again))._description == storage._description
    assert copy.deepcopy(storage) is storage


def test_storages_say_where_they_are() -> None:
    assert repr(places.in_memory_storage()) == "<icefield.Storage>\ntype: in-memory\n"
    assert "path: /data/x" in repr(places.local_filesystem_storage("/data/x"))
    assert "endpoint_url: https://me.r2.cloudflarestorage.com" in repr(STORAGES["r2"]())
    assert "endpoint_url: https://t3.storage.dev" in repr(STORAGES["tigris"]())
    assert "endpoint_url: https://s3.hf.co/me" in repr(STORAGES["hf"]())
    assert "url: https://host/x?…" in repr(STORAGES["http"]())


def test_memory_is_not_pickled() -> None:
    with pytest.raises(icefield.InvalidInputError, match="local_filesystem_storage") as caught:
        pickle.dumps(places.in_memory_storage())
    assert caught.value.kind == "pickle"


def test_a_relative_path_is_that_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = places.local_filesystem_storage("x")
    monkeypatch.chdir("/")
    icefield.Repository.create(storage)
    assert (tmp_path / "x" / "refs").is_dir()


@pytest.mark.parametrize("settings", [None, StorageSettings()])
def test_objects_are_listed_below_a_prefix(
    tmp_path: Path, settings: StorageSettings | None
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "f").write_bytes(b"abc")
    (tmp_path / "g").write_bytes(b"abcd")
    storage = places.local_filesystem_storage(str(tmp_path))
    assert storage.list_objects(settings) == [("a/b/f", 3), ("g", 4)]
    for prefix in ("a", "a/", "/a"):
        assert storage.list_objects(settings, prefix) == [("b/f", 3)]
    assert storage.list_objects(prefix="nothing") == []
    (first, _) = storage.list_objects_metadata()
    assert (first.key, first.size_bytes, first.created_at.tzinfo) == ("a/b/f", 3, UTC)
    assert first == pickle.loads(pickle.dumps(first))
    assert "size_bytes: 3" in repr(first)


def test_a_distant_storage_is_the_same_place() -> None:
    near = places.in_memory_storage()
    far = LatencyStorage(near, write_latency_ms=1)
    repository = icefield.Repository.create(far)
    far.read_latency_ms = 1
    assert repository.list_branches() == {"main"}
    assert icefield.Repository.exists(near)
    assert far.list_objects() == near.list_objects() != []
    assert (far.write_latency_ms, far.read_latency_ms) == (1, 1)
    with pytest.raises(ValueError, match="write_latency_ms"):
        far.write_latency_ms = -1
    with pytest.raises(icefield.InvalidInputError, match="memory"):
        pickle.dumps(far)


@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
def test_a_storage_without_secrets_in_pickles_is_the_same_place(tmp_path: Path, far: bool) -> None:
    for near in (places.in_memory_storage(), places.local_filesystem_storage(str(tmp_path))):
        storage = LatencyStorage(near, write_latency_ms=1) if far else near
        icefield.Repository.create(storage.without_secrets_in_pickles())
        assert icefield.Repository.exists(storage)
        assert icefield.Repository.exists(near)
        again = storage.without_secrets_in_pickles().without_secrets_in_pickles()
        assert icefield.Repository.open(again).list_branches() == {"main"}
        assert again.list_objects() == near.list_objects() != []
        assert repr(again) == repr(storage)


def test_a_distant_storage_stays_as_far_away_without_secrets_in_pickles() -> None:
    far = LatencyStorage(s3(), write_latency_ms=3, read_latency_ms=4)
    again = far.without_secrets_in_pickles()
    assert isinstance(again, LatencyStorage)
    assert b"hidden" in pickle.dumps(far)
    sent = pickle.dumps(again)
    assert b"hidden" not in sent
    for it in (again, pickle.loads(sent)):
        assert (it.write_latency_ms, it.read_latency_ms) == (3, 4)
    # Each can be moved without the other.
    again.read_latency_ms = 5
    assert far.read_latency_ms == 4


def test_a_memory_without_secrets_in_pickles_is_not_pickled() -> None:
    for storage in (places.in_memory_storage(), LatencyStorage(places.in_memory_storage())):
        with pytest.raises(icefield.InvalidInputError, match="memory"):
            pickle.dumps(storage.without_secrets_in_pickles())


# --- what is sent


def test_a_web_server_is_sent_headers_and_read(tmp_path: Path) -> None:
    local = places.local_filesystem_storage(str(tmp_path / "repository"))
    repository = icefield.Repository.create(local)
    session = repository.writable_session("main")
    zarr.create_array(session.store, name="a", shape=(2,), chunks=(1,), dtype="i4")[:] = 7
    session.commit("sevens")
    with listening(root=tmp_path) as server:
        url = server.url.replace("http://", "http://me:hidden%20word@")
        storage = places.http_storage(
            f"{url}/repository",
            opts={"user_agent": "a test", "timeout": "5s", "allow_http": "true"},
            headers={"X-Mine": "yes"},
        )
        assert "hidden" not in shown(storage)
        again = pickle.loads(pickle.dumps(storage))
        opened = icefield.Repository.open(again)
        array = zarr.open_array(opened.readonly_session("main").store, path="a", mode="r")
        assert list(array[:]) == [7, 7]  # type: ignore[arg-type]
        assert server.headers("x-mine") == {"yes"}
        assert server.headers("user-agent") == {"a test"}
        assert server.headers("authorization") == {"Basic bWU6aGlkZGVuIHdvcmQ="}
        with pytest.raises(icefield.IcechunkError):
            opened.create_branch("b", opened.lookup_branch("main"))


def test_a_bucket_is_sent_keys_and_headers_by_direction() -> None:
    with listening(answer=EMPTY) as server:
        storage = s3(
            endpoint_url=server.url,
            allow_http=True,
            region="eu-west-1",
            session_token="token",
            requester_pays=True,
            read_headers={"X-Read": "1"},
            write_headers={"X-Write": "2"},
            headers={"X-Both": "3"},
        )
        assert storage.list_objects() == []
        (asked,) = server.asked
    assert asked.path.startswith("/sea/?") and "prefix=a" in asked.path
    assert "Credential=AKIAXYZ/" in asked.headers["authorization"]
    assert "/eu-west-1/s3/" in asked.headers["authorization"]
    assert asked.headers["x-amz-security-token"] == "token"
    assert asked.headers["x-amz-request-payer"] == "requester"
    assert (asked.headers["x-read"], asked.headers["x-both"]) == ("1", "3")
    assert "x-write" not in asked.headers


def test_what_is_written_has_headers_classes_and_digests(tmp_path: Path) -> None:
    config = icefield.RepositoryConfig.default()
    config.storage = StorageSettings(
        retries=StorageRetriesSettings(1, 0, 0),
        storage_class="STANDARD_IA",
        metadata_storage_class="GLACIER_IR",
    )
    # It forgets what it is sent, so that nothing can be created there.
    with listening(root=tmp_path, listed=EMPTY) as server:
        storage = s3(
            endpoint_url=server.url,
            allow_http=True,
            read_headers={"X-Read": "1"},
            write_headers={"X-Write": "2"},
            checksum_algorithm=ChecksumAlgorithm.Sha256,
        )
        with pytest.raises(icefield.IcechunkError):
            icefield.Repository.create(storage, config=config)
        written = [it for it in server.asked if it.method == "PUT"]
        read = [it for it in server.asked if it.method in ("GET", "HEAD")]
    assert written and read
    for put in written:
        assert put.headers["x-write"] == "2" and "x-read" not in put.headers
        assert put.headers["x-amz-storage-class"] == "GLACIER_IR"
        assert "x-amz-checksum-sha256" in put.headers
    for get in read:
        assert get.headers["x-read"] == "1" and "x-write" not in get.headers


def test_an_anonymous_bucket_is_not_signed() -> None:
    with listening(answer=EMPTY) as server:
        storage = places.s3_storage(
            bucket="sea", prefix=None, endpoint_url=server.url, allow_http=True, anonymous=True
        )
        assert storage.list_objects() == []
        assert server.headers("authorization") == {""}


def test_tigris_is_asked_for_its_region() -> None:
    with listening(answer=EMPTY) as server:
        storage = places.tigris_storage(
            bucket="localhost",
            prefix=None,
            region="fra",
            endpoint_url=server.url,
            allow_http=True,
            **KEY,
        )
        # The bucket is in the name of the host, which must be one that can be looked up.
        storage._description["path_style"] = True
        storage._handles.clear()
        storage.list_objects()
        assert server.headers("x-tigris-regions") == {"fra"}
        assert server.headers("cache-control") == {"no-cache"}
        weak = places.tigris_storage(
            bucket="sea", prefix=None, use_weak_consistency=True, anonymous=True
        )
    assert weak._native().read_only().wait()


@pytest.mark.parametrize(
    ("given", "query", "header"),
    [
        ({"sas_token": "sv=1&sig=hidden"}, "hidden", ""),
        ({"bearer_token": "hidden"}, "", "Bearer hidden"),
        ({"anonymous": True}, "", ""),
    ],
)
def test_azure_is_shown_credentials(given: dict[str, Any], query: str, header: str) -> None:
    with listening(answer=EMPTY_AZURE) as server:
        config = {"azure_endpoint": f"{server.url}/me", "allow_http": "true"}
        storage = places.azure_storage(
            account="me", container="box", prefix="a", config=config, **given
        )
        assert "hidden" not in shown(storage)
        assert storage.list_objects() == []
        (asked,) = server.asked
    assert asked.path.startswith("/me/box?")
    assert parse_qs(urlsplit(asked.path).query).get("sig", [""]) == [query]
    assert asked.headers.get("authorization", "") == header


_LOOKS = """
import pickle, sys
path, storage = pickle.load(sys.stdin.buffer)
sys.path[:] = path
import icefield
try:
    icefield.Repository.exists(pickle.loads(storage))
except icefield.IcechunkError as error:
    print(error, file=sys.stderr)
"""


def _azure_at(url: str, **who: str) -> Storage:
    config = {"azure_endpoint": f"{url}/me", "allow_http": "true"}
    return places.azure_storage(account="me", container="box", prefix="a", config=config, **who)  # type: ignore[arg-type]


def _web_at(url: str) -> Storage:
    secret = f"{url.replace('//', '//me:hidden@')}/x?token=hidden"
    return places.http_storage(secret, {"allow_http": "true"}, {"X-Api-Key": "hidden"})


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (lambda url: s3(endpoint_url=url, allow_http=True, session_token="hidden"), EMPTY),
        (lambda url: _azure_at(url, bearer_token="hidden"), EMPTY_AZURE),
        (lambda url: _azure_at(url, sas_token="sv=1&sig=hidden"), EMPTY_AZURE),
        (lambda url: _azure_at(url, access_key="aGlkZGVu"), EMPTY_AZURE),
        (_web_at, b""),
    ],
    ids=["s3", "azure token", "azure signature", "azure key", "web"],
)
def test_logs_and_errors_show_no_secret(made: Callable[[str], Storage], answer: bytes) -> None:
    """Of a worker with nothing in its environment that logs whatever its clients say."""
    with listening(answer=answer) as server:
        sent = pickle.dumps((sys.path, pickle.dumps(made(server.url))))
        done = subprocess.run(
            [sys.executable, "-c", _LOOKS],
            input=sent,
            capture_output=True,
            check=False,
            timeout=60,
            env={"ICEFIELD_LOG": "trace"},
        )
    said = done.stderr.decode()
    assert done.returncode == 0 and "TRACE" in said, said
    for secret in ("hidden", "aGlkZGVu", "bWU6aGlkZGVu"):
        assert secret not in said


def test_retries_are_as_set() -> None:
    settings = StorageSettings(
        retries=StorageRetriesSettings(max_tries=3, initial_backoff_ms=1, max_backoff_ms=1)
    )
    with listening(answer=b"no list") as server:
        storage = s3(endpoint_url=server.url, allow_http=True)
        with pytest.raises(icefield.IcechunkError):
            storage.list_objects(settings)
        broken = len(server.asked)
    with pytest.raises(icefield.StorageError, match="s3://sea/a"):
        storage.list_objects(settings)
    assert 1 <= broken <= 3


# --- what is refused


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("allow_http=True", lambda: s3(endpoint_url="http://host:9000")),
    ("has a user", lambda: s3(endpoint_url="https://me:hidden@host")),
    ("has a query", lambda: s3(endpoint_url="https://host?key=hidden")),
    ("no URL", lambda: s3(endpoint_url="host:9000")),
    ("begins with a slash", lambda: s3(prefix="/a")),
    ("legacy_rooted_keys", lambda: s3(prefix="", legacy_rooted_keys=True)),
    ("checksum_algorithm", lambda: s3(checksum_algorithm=ChecksumAlgorithm.Sha1)),
    ("bucket", lambda: s3(bucket="")),
    ("'bad header'", lambda: s3(headers={"bad header": "hidden"})),
    ("cannot be sent", lambda: s3(read_headers={"x": "hidden\n"})),
    ("anonymous", lambda: s3(anonymous=True)),
    ("from_env", lambda: s3(from_env=True)),
    ("network_stream_timeout_seconds", lambda: s3(network_stream_timeout_seconds=-1)),
    ("namespace", lambda: places.hf_storage(bucket="b", prefix="p", namespace="a?b")),
    ("headers", lambda: places.gcs_storage(bucket="b", prefix="p", headers={"x": "hidden"})),
    ("'nope'", lambda: places.gcs_storage(bucket="b", prefix="p", config={"nope": "hidden"})),
    (
        "allow_http",
        lambda: places.gcs_storage(
            bucket="b", prefix="p", config={"google_base_url": "http://host"}
        ),
    ),
    (
        "'azure_use_emulator'",
        lambda: places.azure_storage(
            account="a", container="c", prefix="p", config={"azure_use_emulator": "true"}
        ),
    ),
    (
        "azure_client_secret",
        lambda: places.azure_storage(
            account="a", container="c", prefix="p", config={"azure_client_id": "x"}
        ),
    ),
    ("'proxy_url'", lambda: places.http_storage("https://h", opts={"proxy_url": "http://hidden"})),
    ("'timeout'", lambda: places.http_storage("https://h", opts={"timeout": "soon"})),
    ("allow_http", lambda: places.http_storage("http://h", opts={"allow_http": "false"})),
    ("no URL", lambda: places.http_storage("file:///x")),
    ("has a user", lambda: places.redirect_storage("https://me:hidden@host/x")),
    (
        "anonymous",
        lambda: Storage.new_s3(
            S3Options(anonymous=True), "b", None, icefield.s3_static_credentials(**KEY)
        ),
    ),
]


@pytest.mark.parametrize(("said", "make"), REFUSED, ids=[f"{i}" for i in range(len(REFUSED))])
def test_what_cannot_take_effect_is_refused_by_name(said: str, make: Callable[[], object]) -> None:
    with pytest.raises(icefield.InvalidInputError) as caught:
        make()
    assert said in str(caught.value)
    assert "hidden" not in f"{caught.value!r} {caught.value}"
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("said", "make"),
    [
        ("region", lambda: places.tigris_storage(bucket="b", prefix="p", **KEY)),
        ("account_id", lambda: places.r2_storage(bucket="b", prefix="p", **KEY)),
        ("bucket", lambda: places.r2_storage(account_id="b", **KEY)),
        ("legacy_rooted_keys", lambda: s3(legacy_rooted_keys=True)),
    ],
)
def test_a_place_that_is_missing_is_named(said: str, make: Callable[[], object]) -> None:
    with pytest.raises(icefield.StorageError, match=said) as caught:
        make()
    assert caught.value.kind == "storage-config"


@pytest.mark.parametrize("given", ["false", "no", 0, 1], ids=repr)
def test_switches_are_true_or_false(given: Any) -> None:
    anywhere: dict[str, Any] = {"bucket": "sea", "prefix": None}
    for name, make in (
        ("anonymous", lambda: places.s3_storage(**anywhere, anonymous=given)),
        ("anonymous", lambda: places.gcs_storage(**anywhere, anonymous=given)),
        ("from_env", lambda: places.tigris_storage(**anywhere, region="x", from_env=given)),
        (
            "from_env",
            lambda: places.azure_storage(account="a", container="c", prefix="p", from_env=given),
        ),
        (
            "use_weak_consistency",
            lambda: places.tigris_storage(**anywhere, region="x", use_weak_consistency=given),
        ),
        ("s3_compatible", lambda: places.s3_store(s3_compatible=given)),
    ):
        with pytest.raises(TypeError, match=f"`{name}` must be True or False"):
            make()


def test_wrong_types_are_type_errors() -> None:
    for make in (
        lambda: places.local_filesystem_storage(3),  # type: ignore[arg-type]
        lambda: places.azure_storage(account="a", container="c", prefix=None),  # type: ignore[arg-type]
        lambda: s3(region=3),
        lambda: s3(headers={"x": 3}),
        lambda: places.in_memory_storage().list_objects(settings=3),  # type: ignore[arg-type]
        lambda: Storage.new_s3({}, "b", None),  # type: ignore[arg-type]
        lambda: Storage(),
        lambda: LatencyStorage(3),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            make()


def test_a_redirect_goes_to_public_places_only() -> None:
    with listening(answer=b"no redirect") as server:
        storage = places.redirect_storage(f"{server.url}/x?token=hidden")
        with pytest.raises(icefield.IcechunkError) as caught:
            storage.list_objects()
    assert "hidden" not in f"{caught.value!r}"


# --- settings


def test_settings_show_themselves_and_are_values() -> None:
    settings = StorageSettings(
        concurrency=StorageConcurrencySettings(3, 4),
        timeouts=StorageTimeoutSettings(connect_timeout_ms=1),
        storage_class="COLD",
    )
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings != StorageSettings()
    assert StorageSettings._from_document(settings._to_document()) == settings
    assert "max_concurrent_requests_for_object=3" in repr(settings)
    assert "100 (default)" in str(settings)
    with pytest.raises(ValueError, match="max_concurrent_requests_for_object"):
        StorageConcurrencySettings(0, 4)
    with pytest.raises(ValueError, match="max_tries"):
        StorageRetriesSettings(-1)
    with pytest.raises(TypeError):
        StorageSettings(storage_class=3)  # type: ignore[arg-type]


def test_settings_without_effect_are_refused_or_warned_of_once() -> None:
    memory = places.in_memory_storage()
    with pytest.raises(icefield.InvalidInputError, match="storage_class"):
        memory.list_objects(StorageSettings(storage_class="COLD"))
    web = places.http_storage("https://host/x")
    settings = StorageSettings(unsafe_use_metadata=False, minimum_size_for_multipart_upload=1)
    with pytest.warns(places.IcefieldWarning, match=r"unsafe_use_metadata|minimum_size") as caught:
        web._native(settings)
    assert len(caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        web._native(settings)
        # Settings that the reference implementation stores in every repository on a disk give no warning.
        local = places.local_filesystem_storage("/tmp/icefield-nowhere")
        local._native(local.default_settings())


def test_default_settings_are_those_of_the_place() -> None:
    assert s3().default_settings() == StorageSettings()
    local = places.local_filesystem_storage("/tmp/icefield-nowhere").default_settings()
    assert local.unsafe_use_conditional_update is False
    assert local.retries == StorageRetriesSettings(1, 0, 0)


# --- stores of containers


def test_stores_of_containers_are_values() -> None:
    stores = [
        places.s3_store(region="eu", checksum_algorithm=ChecksumAlgorithm.Crc64Nvme),
        places.s3_store(s3_compatible=True, endpoint_url="https://me:hidden@h/"),
        places.gcs_store({"google_service_account_key": "hidden"}),
        places.azure_store(account="me"),
        places.http_store({"timeout": "5s"}, {"authorization": "hidden"}),
        places.local_filesystem_store("/data"),
        ObjectStoreConfig.Tigris(S3Options()),
        ObjectStoreConfig.InMemory(),
    ]
    for store in stores:
        assert isinstance(store, ObjectStoreConfig)
        assert "hidden" not in shown(store)
        assert ObjectStoreConfig._from_document(store._to_document()) == store
        assert pickle.loads(pickle.dumps(store)) == store
    assert len({repr(store) for store in stores}) == len(stores)
    assert stores[0]._to_document()["s3"]["checksum_algorithm"] == "crc64_nvme"
    assert stores[4]._to_document() == {
        "http": {"timeout": "5s", "headers": {"authorization": "hidden"}}
    }
    fixed: Any = stores[5]
    with pytest.raises(AttributeError, match="cannot be changed"):
        fixed._0 = "x"
    with pytest.raises(TypeError):
        ObjectStoreConfig()
    with pytest.raises(TypeError):
        ObjectStoreConfig.S3({})  # type: ignore[arg-type]


def test_equal_stores_of_containers_have_equal_hashes() -> None:
    options = {"timeout": "5s", "user_agent": "me"}
    turned = dict(reversed(options.items()))
    headers = {"x-a": "1", "x-b": "2"}
    for one, other in (
        (ObjectStoreConfig.Gcs(options), ObjectStoreConfig.Gcs(turned)),
        (ObjectStoreConfig.Azure(options), ObjectStoreConfig.Azure(turned)),
        (
            ObjectStoreConfig.Http(options, headers),
            ObjectStoreConfig.Http(turned, dict(reversed(headers.items()))),
        ),
        (ObjectStoreConfig.LocalFileSystem("/a/b"), ObjectStoreConfig.LocalFileSystem("/a//b/")),
        (ObjectStoreConfig.InMemory(), ObjectStoreConfig.InMemory()),
    ):
        assert one == other
        assert hash(one) == hash(other)
        assert len({one, other}) == 1
    assert len({ObjectStoreConfig.Gcs(options), ObjectStoreConfig.Azure(options)}) == 2


def test_the_hash_of_a_store_of_a_container_stays() -> None:
    given = {"timeout": "5s"}
    store = ObjectStoreConfig.Http(given, {"x-a": "1"})
    before = hash(store)
    given["timeout"] = "6s"
    store._0["timeout"] = "7s"
    store._1["x-a"] = "2"
    assert store == ObjectStoreConfig.Http({"timeout": "5s"}, {"x-a": "1"})
    assert hash(store) == before


@pytest.mark.parametrize("form", ["S3", "S3Compatible", "Tigris"])
def test_what_has_options_that_can_be_changed_has_no_hash(form: str) -> None:
    store = getattr(ObjectStoreConfig, form)(S3Options())
    with pytest.raises(TypeError, match="unhashable"):
        hash(store)


# --- processes


def test_a_forked_child_opens_its_own(tmp_path: Path) -> None:
    storage = places.local_filesystem_storage(str(tmp_path))
    icefield.Repository.create(storage)
    expected = len(storage.list_objects())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if len(storage.list_objects()) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_pickle_is_opened_by_another_process(tmp_path: Path) -> None:
    storage = places.local_filesystem_storage(str(tmp_path))
    icefield.Repository.create(storage)
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer).list_objects() != [])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(storage),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(icefield.__file__).parents[1])},
    )
    assert done.stdout == b"True\n", done.stderr.decode()


def test_settings_that_a_repository_brings_take_effect_or_are_warned_of(tmp_path: Path) -> None:
    config = icefield.RepositoryConfig.default()
    config.storage = StorageSettings(
        retries=StorageRetriesSettings(max_tries=2, initial_backoff_ms=0, max_backoff_ms=0),
        unsafe_use_conditional_create=False,
    )
    local = places.local_filesystem_storage(str(tmp_path))
    with pytest.warns(places.IcefieldWarning, match="unsafe_use_conditional_create"):
        repository = icefield.Repository.create(local, config=config)
    repository.save_config()
    with listening(root=tmp_path) as server:
        opened = icefield.Repository.open(places.http_storage(server.url))
        assert opened.config.storage is not None
        assert opened.config.storage.retries == config.storage.retries
        before = len(server.asked)
        server.answer = b""
        with pytest.raises(icefield.IcechunkError):
            opened.lookup_branch("main")
        assert 1 <= len(server.asked) - before <= 2


@pytest.mark.parametrize(
    "storage",
    [
        lambda: places.http_storage("https://host/x?token=hidden"),
        lambda: places.http_storage("https://host/x", headers={"X-Api-Key": "hidden"}),
        lambda: places.http_storage("https://host/x", headers={"X-Signature": "hidden"}),
        lambda: places.redirect_storage("https://host/x?token=hidden"),
        lambda: places.http_storage("https://host/x", headers={"X-Any": "Bearer hidden"}),
        lambda: places.http_storage("https://host/x", headers={"X-Session-Id": "hidden"}),
        lambda: s3(headers={"X-Auth": "hidden"}),
    ],
)
def test_pickles_without_secrets_hold_no_query_and_no_header_that_may_be_one(
    storage: Callable[[], icefield.Storage],
) -> None:
    made = storage()
    assert b"hidden" in pickle.dumps(made)
    plain = made.without_secrets_in_pickles()
    for it in (plain, pickle.loads(pickle.dumps(plain))):
        assert b"hidden" not in pickle.dumps(it)
        assert b"hidden" not in pickle.dumps(places.LatencyStorage(it))


@pytest.mark.parametrize("make", [places.http_storage, places.redirect_storage])
def test_a_storage_without_its_query_says_so_at_its_first_use(
    make: Callable[[str], icefield.Storage],
) -> None:
    plain = make("https://host/x?token=hidden").without_secrets_in_pickles()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(plain))))
    assert "https://host/x" in repr(again)
    for use in (again.list_objects, lambda: icefield.Repository.open(again)):
        with pytest.raises(icefield.InvalidInputError, match="without_secrets_in_pickles") as caught:
            use()
        assert caught.value.kind == "pickle"
        assert "query" in str(caught.value)


def test_headers_that_are_no_secret_travel() -> None:
    made = places.http_storage("https://host/x", headers={"X-Mine": "yes", "X-Api-Key": "hidden"})
    again = pickle.loads(pickle.dumps(made.without_secrets_in_pickles()))
    assert again._description["headers"] == {"x-mine": "yes"}
    assert "x-api-key" in repr(again)


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("", "working directory"),
        ("file:///data/a%20b", "'/data/a b'"),
        ("s3://bucket/x", "s3_storage"),
        ("/data/\udcff", "not UTF-8"),
        (b"/data/\xff", "not UTF-8"),
    ],
)
def test_what_is_no_path_of_a_directory(path: str, fix: str) -> None:
    with pytest.raises(icefield.InvalidInputError, match=fix):
        places.local_filesystem_storage(path)


def test_locks_are_trusted_only_if_the_caller_says_so(tmp_path: Path) -> None:
    # /proc is the one file system of unknown locks that every Linux has.
    plain, trusting = (
        places.local_filesystem_storage("/proc/icefield-nowhere"),
        places.local_filesystem_storage("/proc/icefield-nowhere", locks="trusted"),
    )
    with pytest.raises(icefield.IcechunkError, match="locks=trusted"):
        icefield.Repository.create(plain)
    with pytest.raises(icefield.IcechunkError) as caught:
        icefield.Repository.create(trusting)
    assert "writers" not in str(caught.value)
    assert "locks: trusted" in repr(trusting)
    assert "locks" not in repr(plain)
    assert "locks: trusted" in repr(pickle.loads(pickle.dumps(trusting)))
    icefield.Repository.create(places.local_filesystem_storage(str(tmp_path), locks="trusted"))
    for locks in ("Trusted", "", None, True):
        with pytest.raises(icefield.InvalidInputError, match="'detect' or 'trusted'"):
            places.local_filesystem_storage(str(tmp_path), locks=locks)  # type: ignore[arg-type]

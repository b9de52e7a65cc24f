"""Credentials: which there are, that nothing shows them, and that they reach the store."""

import datetime
import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from listening import listening
from referring import read, refer
from test_storage import EMPTY, EMPTY_AZURE

import icefield
from icefield import credentials as who
from icefield._credentials.withheld import without_key
from icefield import storage as places
from icefield.credentials import (
    AzureRefreshableCredential,
    Credentials,
    GcsBearerCredential,
    S3Credentials,
    S3StaticCredentials,
)

UTC = datetime.UTC
LATER = datetime.datetime(2999, 1, 1, tzinfo=UTC)
PAST = datetime.datetime(2001, 1, 1, tzinfo=UTC)
CALLS: list[str] = []


def a_key(
    name: str = "FRESH", expires_after: datetime.datetime | None = None
) -> S3StaticCredentials:
    CALLS.append(name)
    return S3StaticCredentials(name, "hidden", expires_after=expires_after)


def a_token() -> GcsBearerCredential:
    return GcsBearerCredential("hidden", expires_after=LATER)


def an_azure_token() -> AzureRefreshableCredential.BearerToken:
    CALLS.append("azure")
    return AzureRefreshableCredential.BearerToken("hidden", expires_after=LATER)


def no_key() -> Any:
    return 3


def a_failure() -> S3StaticCredentials:
    raise OSError("the vault is closed")


ALL: dict[str, Callable[[], Any]] = {
    "s3 key": lambda: S3StaticCredentials("AKIAXYZ", "hidden", "hidden", LATER),
    "s3": lambda: who.s3_static_credentials(access_key_id="AKIAXYZ", secret_access_key="hidden"),
    "s3 anonymous": who.s3_anonymous_credentials,
    "s3 environment": who.s3_from_env_credentials,
    "s3 function": lambda: who.s3_refreshable_credentials(a_key, scatter_initial_credentials=True),
    "gcs token": a_token,
    "gcs": lambda: who.gcs_credentials(bearer_token="hidden"),
    "gcs file": lambda: who.GcsCredentials.Static(
        who.GcsStaticCredentials.ServiceAccount("/a/file.json")
    ),
    "gcs key": lambda: who.gcs_credentials(
        service_account_key='{"type": "service_account", "private_key": "hidden"}'
    ),
    "gcs anonymous": who.gcs_anonymous_credentials,
    "gcs environment": who.gcs_from_env_credentials,
    "gcs function": lambda: who.gcs_refreshable_credentials(a_token),
    "azure token": an_azure_token,
    "azure key": lambda: AzureRefreshableCredential.AccessKey("hidden"),
    "azure": lambda: who.azure_credentials(access_key="hidden"),
    "azure sas": lambda: who.azure_credentials(sas_token="hidden"),
    "azure bearer": lambda: who.azure_credentials(bearer_token="hidden"),
    "azure anonymous": who.azure_anonymous_credentials,
    "azure environment": who.azure_from_env_credentials,
    "azure function": lambda: who.azure_refreshable_credentials(an_azure_token, True),
    "for s3": lambda: Credentials.S3(who.s3_anonymous_credentials()),
    "for gcs": lambda: Credentials.Gcs(who.gcs_credentials(bearer_token="hidden")),
    "for azure": lambda: Credentials.Azure(who.azure_credentials(access_key="hidden")),
    "files": lambda: who.LocalFileSystemAccess,
    "web": lambda: who.HttpAccess,
}


# Parts of credentials, and what functions of them return.
PARTS = {"s3 key", "gcs token", "azure token", "azure key"}


@pytest.mark.parametrize("name", ALL)
def test_credentials_are_values_that_show_no_secret(name: str) -> None:
    credential = ALL[name]()
    assert credential == ALL[name]()
    assert pickle.loads(pickle.dumps(credential)) == credential
    html = getattr(credential, "_repr_html_", str)()
    assert "hidden" not in f"{credential!r}{credential}{html}"


@pytest.mark.parametrize("name", sorted(set(ALL) - PARTS))
def test_keys_are_withheld_and_nothing_else_is(name: str) -> None:
    """From pickles without secrets; of a function, what it handed out."""
    credential = ALL[name]()
    left = without_key(credential)
    holds_key = b"hidden" in pickle.dumps(credential)
    assert (left == credential) != holds_key
    assert b"hidden" not in pickle.dumps(left)
    if holds_key and "function" in name:
        assert left.pickled_function == credential.pickled_function
    elif holds_key:
        assert "FromEnv" in repr(left)


@pytest.mark.parametrize("name", ALL)
def test_equal_credentials_have_equal_hashes_or_none(name: str) -> None:
    """None have those in which something can be changed: keys of S3, and what has one in it."""
    credential = ALL[name]()
    if name in ("s3 key", "s3", "s3 function"):
        with pytest.raises(TypeError, match="unhashable"):
            hash(credential)
        return
    again = pickle.loads(pickle.dumps(credential))
    assert again == credential
    assert hash(again) == hash(credential) == hash(ALL[name]())


def test_fields_are_those_of_the_reference() -> None:
    key = S3StaticCredentials("AK", "SK", "T", LATER)
    assert (key.access_key_id, key.secret_access_key, key.session_token) == ("AK", "SK", "T")
    key.session_token = None
    assert S3Credentials.Static(key)._0.session_token is None
    with pytest.raises(TypeError, match="access_key_id"):
        key.access_key_id = 3  # type: ignore[assignment]
    with pytest.raises(TypeError, match="time zone"):
        key.expires_after = datetime.datetime(2030, 1, 1)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    key.expires_after = datetime.datetime(2030, 1, 1, 2, tzinfo=zone)
    assert key.expires_after == datetime.datetime(2030, 1, 1, tzinfo=UTC)
    refreshable = who.s3_refreshable_credentials(a_key)
    assert pickle.loads(refreshable.pickled_function) is a_key
    assert refreshable.current is None
    assert AzureRefreshableCredential.SasToken("x").token == "x"


@pytest.mark.parametrize(
    "make",
    [
        lambda: who.s3_credentials(access_key_id="a"),
        lambda: who.s3_credentials(anonymous=True, from_env=True),
        lambda: who.s3_credentials(get_credentials=a_key, anonymous=True),
        lambda: who.s3_credentials(from_env=False),
        lambda: who.s3_credentials(access_key_id="a", secret_access_key="hidden", from_env=True),
        lambda: who.gcs_credentials(bearer_token="hidden", anonymous=True),
        lambda: who.gcs_credentials(bearer_token="hidden", service_account_key="hidden"),
        lambda: who.gcs_credentials(from_env=False),
        lambda: who.gcs_static_credentials(),
        lambda: who.azure_credentials(access_key="hidden", sas_token="hidden"),
        lambda: who.azure_credentials(bearer_token="hidden", from_env=True),
        lambda: who.azure_static_credentials(),
        lambda: who.containers_credentials({"s3://x/": 3}),  # type: ignore[dict-item]
    ],
)
def test_conflicting_arguments_are_named(make: Callable[[], object]) -> None:
    with pytest.raises(icefield.InvalidInputError) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert "hidden" not in str(caught.value)


def test_a_function_is_not_ignored_for_google() -> None:
    made = who.gcs_credentials(get_credentials=a_token)
    assert isinstance(made, who.GcsCredentials.Refreshable)


def test_files_of_google_are_checked_at_once(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    for name in ("service_account_file", "application_credentials"):
        with pytest.raises(icefield.InvalidInputError, match="cannot be read"):
            places.gcs_storage(bucket="b", prefix="p", **{name: str(file)})  # type: ignore[arg-type]
    for text in ("hidden", "[]", '{"private_key": "hidden"}'):
        file.write_text(text)
        with pytest.raises(icefield.InvalidInputError, match="type") as caught:
            places.gcs_storage(bucket="b", prefix="p", service_account_file=str(file))
        assert "hidden" not in str(caught.value)
        with pytest.raises(icefield.InvalidInputError, match="service_account_key"):
            places.gcs_storage(bucket="b", prefix="p", service_account_key=text)
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    file.write_text(json.dumps(user))
    storage = places.gcs_storage(bucket="b", prefix="p", application_credentials=str(file))
    assert storage._native().read_only().wait() is False
    broken = json.dumps({"type": "service_account", "private_key": "hidden"})
    storage = places.gcs_storage(bucket="b", prefix="p", service_account_key=broken)
    with pytest.raises(icefield.StorageError, match="credentials") as failed:
        storage._native().read_only().wait()
    assert "hidden" not in str(failed.value)


# --- functions


def test_functions_that_cannot_be_pickled_are_refused_with_the_fix() -> None:
    with pytest.raises(icefield.InvalidInputError, match="top level of a module"):
        who.s3_refreshable_credentials(lambda: a_key())
    with pytest.raises(TypeError, match="function"):
        who.s3_refreshable_credentials(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="S3StaticCredentials"):
        who.s3_refreshable_credentials(no_key, scatter_initial_credentials=True)


def _found(secret: str) -> S3StaticCredentials:
    return S3StaticCredentials("AKIAXYZ", secret)


def test_what_a_function_holds_is_pickled_as_the_message_says() -> None:
    """The arguments of a `partial` are in every pickle, and nothing shows them."""
    storage = _bucket("http://127.0.0.1:1", partial(_found, "hidden"), scatter=False)
    assert b"hidden" in pickle.dumps(storage)
    assert "hidden" not in f"{storage!r}{storage}{storage._repr_html_()}"
    local = partial(partial(lambda secret: a_key(secret), secret="hidden"))
    with pytest.raises(icefield.InvalidInputError, match="arguments are pickled, too") as caught:
        who.s3_refreshable_credentials(local)
    assert "hidden" not in str(caught.value)
    assert "<lambda>" in str(caught.value)


@pytest.mark.parametrize("given", [None, "false", 1], ids=repr)
def test_keys_are_scattered_or_not(given: Any) -> None:
    CALLS.clear()
    for make in (
        lambda: who.s3_refreshable_credentials(a_key, given),
        lambda: who.gcs_refreshable_credentials(a_token, given),
        lambda: who.azure_refreshable_credentials(an_azure_token, given),
        lambda: who.s3_credentials(get_credentials=a_key, scatter_initial_credentials=given),
    ):
        with pytest.raises(TypeError, match="`scatter_initial_credentials` must be True or False"):
            make()
    assert CALLS == []


def _bucket(url: str, function: Callable[[], S3StaticCredentials], scatter: bool) -> Any:
    return places.s3_storage(
        bucket="sea",
        prefix=None,
        endpoint_url=url,
        allow_http=True,
        get_credentials=function,
        scatter_initial_credentials=scatter,
    )


def test_keys_of_a_function_are_asked_for_when_they_are_used() -> None:
    CALLS.clear()
    with listening(answer=EMPTY) as server:
        storage = _bucket(server.url, partial(a_key, "LAZY", LATER), scatter=False)
        assert CALLS == []
        storage.list_objects()
        storage.list_objects()
        assert CALLS == ["LAZY"]
        assert all("Credential=LAZY/" in it for it in server.headers("authorization"))
        assert b"hidden" not in pickle.dumps(storage)
        pickle.loads(pickle.dumps(storage)).list_objects()
    assert CALLS == ["LAZY", "LAZY"]


def test_scattered_keys_are_used_until_they_expire() -> None:
    CALLS.clear()
    with listening(answer=EMPTY) as server:
        storage = _bucket(server.url, partial(a_key, "ONCE", LATER), scatter=True)
        assert CALLS == ["ONCE"]
        for copy in (storage, pickle.loads(pickle.dumps(storage))):
            copy.list_objects()
        assert CALLS == ["ONCE"]
        old = _bucket(server.url, partial(a_key, "OLD", PAST), scatter=True)
        old.list_objects()
    assert CALLS[:3] == ["ONCE", "OLD", "OLD"]


@pytest.mark.parametrize(
    ("function", "said"), [(no_key, "S3StaticCredentials"), (a_failure, "vault")]
)
def test_functions_that_fail_say_why(function: Callable[[], Any], said: str) -> None:
    with listening(answer=EMPTY) as server:
        storage = _bucket(server.url, function, scatter=False)
        with pytest.raises(icefield.IcechunkError, match=said):
            storage.list_objects()
        assert server.asked == []


def test_azure_is_shown_what_a_function_hands_out() -> None:
    CALLS.clear()
    with listening(answer=EMPTY_AZURE) as server:
        storage = places.Storage.new_azure_blob(
            "me",
            "box",
            "a",
            who.azure_refreshable_credentials(an_azure_token),
            config={"azure_endpoint": f"{server.url}/me", "allow_http": "true"},
        )
        storage.list_objects()
        storage.list_objects()
        assert server.headers("authorization") == {"Bearer hidden"}
        assert b"hidden" not in pickle.dumps(storage)
    assert CALLS == ["azure"]


# --- containers


def test_containers_get_their_kind_of_credentials() -> None:
    made = who.containers_credentials(
        {
            "s3://x/": who.s3_anonymous_credentials(),
            "gs://x/": who.gcs_anonymous_credentials(),
            "az://x/": who.azure_anonymous_credentials(),
            "file:///x/": who.LocalFileSystemAccess,
            "https://x/": who.HttpAccess,
            "s3://y/": None,
        }
    )
    kinds = [type(it).__qualname__ for it in made.values()]
    assert kinds == [
        "Credentials.S3",
        "Credentials.Gcs",
        "Credentials.Azure",
        "Credentials.LocalFileSystemAccess",
        "Credentials.HttpAccess",
        "NoneType",
    ]
    assert who.containers_credentials(made) == made  # type: ignore[arg-type]


def test_grants_are_of_the_service_of_their_prefix() -> None:
    access: dict[str, Any] = {"s3://x/": Credentials.Gcs(who.gcs_anonymous_credentials())}
    with pytest.raises(icefield.InvalidInputError, match="another service"):
        icefield.Repository.create(
            icefield.in_memory_storage(), authorize_virtual_chunk_access=access
        )


def test_files_are_read_where_they_are_granted(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(bytes([1, 2, 3, 4]))
    store = places.local_filesystem_store(str(tmp_path))
    prefix = f"file://{tmp_path}/"
    for credential in (who.LocalFileSystemAccess, None):
        access = who.containers_credentials({prefix: credential})
        assert read(refer(store, prefix, f"{prefix}x.bin", access)) == [1, 2, 3, 4]
    with pytest.raises(icefield.InvalidInputError):
        read(refer(store, prefix, f"{prefix}x.bin", None))

"""What a reader grants, and what a repository's configuration may say of it: each rule of decision 11, in Python."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from listening import Server, listening
from referring import read, refer
from test_credentials import a_key

import icefield
from icefield import credentials as who
from icefield import storage as places

BYTES = bytes([1, 2, 3, 4])

S3: dict[str, Callable[[], Any]] = {
    "static": lambda: who.s3_static_credentials(access_key_id="GIVEN", secret_access_key="hidden"),
    "function": lambda: who.s3_refreshable_credentials(partial(a_key, "GIVEN")),
    "environment": who.s3_from_env_credentials,
    "anonymous": who.s3_anonymous_credentials,
    "none": lambda: None,
}


@pytest.fixture(autouse=True)
def keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "FROMENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")


def in_s3(server: Server) -> Any:
    return places.s3_store(
        endpoint_url=server.url, allow_http=True, s3_compatible=True, region="eu-west-1"
    )


def refused(store: Any, prefix: str, access: dict[str, Any] | None, hint: str) -> None:
    with pytest.raises(icefield.IcechunkError) as raised:
        read(refer(store, prefix, f"{prefix}x.bin", access))
    assert hint in str(raised.value)


def test_a_container_and_a_grant_must_cover_a_location(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(BYTES)
    store = places.local_filesystem_store(str(tmp_path))
    prefix = f"file://{tmp_path}/"
    files = who.LocalFileSystemAccess
    assert read(refer(store, prefix, f"{prefix}x.bin", {prefix: files})) == list(BYTES)
    refused(store, prefix, None, "was not granted")
    # By whole segments.
    refused(store, prefix, {prefix[:-2]: files}, "was not granted")
    refused(store, prefix, {f"{prefix}x.bin/y": files}, "was not granted")
    for odd in ("https://me:you@host/", "https://0x7f.1/", "s3://b/a%2Fb", "s3://b/?secret=x"):
        with pytest.raises(icefield.IcechunkError):
            refer(store, prefix, f"{prefix}x.bin", {odd: None})


@pytest.mark.parametrize("credential", S3)
def test_requests_go_to_no_endpoint_that_only_the_repository_names(credential: str) -> None:
    with listening(answer=BYTES) as server:
        for text in ("s3://sea/", "s3://sea/?endpoint=http://127.0.0.1:1"):
            access = who.containers_credentials({text: S3[credential]()})
            refused(in_s3(server), "s3://sea/", access, f"?endpoint={server.url}")
        assert server.asked == []


@pytest.mark.parametrize("credential", S3)
def test_credentials_go_to_the_endpoint_that_the_reader_names(credential: str) -> None:
    with listening(answer=BYTES) as server:
        text = f"s3://sea/?endpoint={server.url}"
        access = who.containers_credentials({text: S3[credential]()})
        store = refer(in_s3(server), "s3://sea/", "s3://sea/x.bin", access)
        assert read(store) == list(BYTES)
        for sent in server.headers("authorization"):
            assert ("Credential=GIVEN/" in sent) == (credential in ("static", "function"))
            # Those that the caller did not name go nowhere but to Amazon.
            assert ("FROMENV" in sent) == (credential == "environment")


def test_what_makes_the_reader_pay_is_not_taken_from_the_repository() -> None:
    with listening(answer=BYTES) as server:
        store = places.s3_store(
            endpoint_url=server.url, allow_http=True, s3_compatible=True, requester_pays=True
        )
        for text, sent in (("", {""}), ("&requester_pays", {"requester"})):
            server.asked.clear()
            access = who.containers_credentials(
                {f"s3://sea/?endpoint={server.url}{text}": S3["static"]()}
            )
            assert read(refer(store, "s3://sea/", "s3://sea/x.bin", access)) == list(BYTES)
            assert server.headers("x-amz-request-payer") == sent


def test_tokens_for_azure_need_the_account_and_the_endpoint() -> None:
    with listening(answer=BYTES) as server:
        endpoint = f"{server.url}/me"
        config = {"azure_endpoint": endpoint, "allow_http": "true"}
        store = places.azure_store(account="me", config=config)
        token = who.azure_credentials(bearer_token="hidden")
        refused(store, "az://box/", {"az://box/": None}, "?endpoint=")
        for text, hint in (
            ("az://box/", "?endpoint="),
            ("az://box/?account=me", "?endpoint="),
            (f"az://box/?endpoint={endpoint}", "?account=me"),
        ):
            refused(store, "az://box/", who.containers_credentials({text: token}), hint)
        assert server.asked == []
        text = f"az://box/?account=me&endpoint={endpoint}"
        for credential, sent in ((token, {"Bearer hidden"}), (None, {""})):
            server.asked.clear()
            access = who.containers_credentials({text: credential})
            assert read(refer(store, "az://box/", "az://box/x.bin", access)) == list(BYTES)
            assert server.headers("authorization") == sent
        refused(
            places.azure_store(account="me"),
            "az://box/",
            who.containers_credentials({"az://box/?account=me&endpoint=http://10.0.0.1": token}),
            "clear text",
        )
    refused(icefield.ObjectStoreConfig.Azure(), "az://box/", {"az://box/": None}, "?account=")


def test_tokens_for_google_need_the_endpoint() -> None:
    with listening(answer=BYTES) as server:
        store = places.gcs_store({"google_base_url": server.url, "allow_http": "true"})
        token = who.gcs_credentials(bearer_token="hidden")
        for credential in (token, None):
            access = who.containers_credentials({"gs://box/": credential})
            refused(store, "gs://box/", access, f"?endpoint={server.url}")
        assert server.asked == []
    access = who.containers_credentials({"gs://box/?endpoint=http://10.0.0.1": token})
    refused(places.gcs_store(), "gs://box/", access, "clear text")


def test_servers_of_this_machine_are_read_and_headers_sent_only_if_the_grant_says_so(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.bin").write_bytes(BYTES)
    with listening(root=tmp_path) as server:
        prefix = f"{server.url}/data/"
        store = places.http_store({"user_agent": "a test"}, {"authorization": "Bearer hidden"})
        for text in (prefix, f"{prefix}?headers"):
            access = who.containers_credentials({text: who.HttpAccess})
            refused(store, prefix, access, "")
        assert server.asked == []
        for text, sent in (("?private", {""}), ("?private&headers", {"Bearer hidden"})):
            server.asked.clear()
            access = who.containers_credentials({f"{prefix}{text}": who.HttpAccess})
            assert read(refer(store, prefix, f"{prefix}x.bin", access)) == list(BYTES)
            assert server.headers("authorization") == sent
            assert (server.headers("user-agent") == {"a test"}) == (sent != {""})


def test_options_of_a_container_take_effect_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(BYTES)
    with listening(root=tmp_path) as server:
        prefix = f"{server.url}/"
        access = who.containers_credentials({f"{prefix}?private": None})
        for options, said in (
            ({"proxy_url": "http://x"}, "proxy_url"),
            ({"timeout": "?"}, "timeout"),
        ):
            refused(places.http_store(options), prefix, access, said)


def test_the_prefixes_that_are_granted_are_listed_without_options() -> None:
    repository = icefield.Repository.create(
        icefield.in_memory_storage(),
        authorize_virtual_chunk_access={"s3://sea/?region=eu-west-1": S3["anonymous"]()},
    )
    assert repository.authorized_virtual_container_prefixes == {"s3://sea/"}

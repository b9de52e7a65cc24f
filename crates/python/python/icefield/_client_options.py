"""Client options that are strings by name: for Google Cloud Storage, Azure, and web servers.

Each option takes effect, or an error names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icefield import _urls
from icefield._credentials.functions import Identity

__all__ = ["azure", "gcs", "http"]

_TIMES = {
    "timeout": "operation_attempt_timeout_ms",
    "connect_timeout": "connect_timeout_ms",
    "read_timeout": "read_timeout_ms",
}


def _texts(config: Mapping[str, str] | None, what: str) -> dict[str, str]:
    found = dict(config or {})
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"{what} is a mapping from names to texts")
    return found


def _unknown(what: str, name: str, known: str) -> Exception:
    return _urls.refused(f"{what}: {name!r} is not supported; take it out. There are: {known}")


def gcs(
    config: Mapping[str, str] | None, description: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Puts the options of a client of Google Cloud Storage into a description and its settings."""
    for name, value in _texts(config, "config").items():
        match name.lower().removeprefix("google_"):
            case "base_url" | "endpoint":
                description["endpoint"] = value
            case "user_project":
                description["user_project"] = value
            case "allow_http":
                description["allow_http"] = _urls.truth(value, f"config[{name!r}]")
            case "skip_signature":
                if _urls.truth(value, f"config[{name!r}]"):
                    _skip_signature(description, name)
            case "bucket" | "bucket_name" if value == description["bucket"]:
                pass
            case "timeout" | "read_timeout" as time:
                settings[_TIMES[time]] = _urls.milliseconds(value, f"config[{name!r}]")
            case _:
                known = "google_base_url, user_project, allow_http, google_skip_signature, timeout, read_timeout"
                raise _unknown("config of Google Cloud Storage", name, known)
    _urls.checked_endpoint(
        description.get("endpoint"), description.get("allow_http", False), "google_base_url"
    )


def azure(
    config: Mapping[str, str] | None, description: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Puts the options of a client of Azure into a description and its settings."""
    client: dict[str, str] = {}
    for name, value in _texts(config, "config").items():
        match name.lower().removeprefix("azure_").removeprefix("storage_"):
            case "endpoint":
                description["endpoint"] = value
            case "allow_http":
                description["allow_http"] = _urls.truth(value, f"config[{name!r}]")
            case "skip_signature":
                if _urls.truth(value, f"config[{name!r}]"):
                    _skip_signature(description, name)
            case "account" | "account_name" if value == description["account"]:
                pass
            case "container" | "container_name" if value == description["container"]:
                pass
            case "client_id":
                client["client"] = value
            case "client_secret":
                client["secret"] = value
            case "tenant_id" | "authority_id":
                client["tenant"] = value
            case "timeout" | "read_timeout" as time:
                settings[_TIMES[time]] = _urls.milliseconds(value, f"config[{name!r}]")
            case _:
                known = (
                    "azure_endpoint, allow_http, azure_skip_signature, azure_client_id, azure_client_secret, "
                    "azure_tenant_id, timeout, read_timeout"
                )
                raise _unknown("config of Azure", name, known)
    if client:
        if len(client) != 3 or description["credentials"]["kind"] != "environment":
            raise _urls.refused(
                "config of Azure: azure_client_id, azure_client_secret and azure_tenant_id go together, and without "
                "other credentials"
            )
        description["credentials"] = {"kind": "client"} | client
    _urls.checked_endpoint(
        description.get("endpoint"), description.get("allow_http", False), "azure_endpoint"
    )


def _skip_signature(description: dict[str, Any], name: str) -> None:
    identity: Identity = description["credentials"]
    if identity["kind"] not in ("environment", "anonymous"):
        raise _urls.refused(f"config: {name} is true, and there are credentials; give one of them")
    description["credentials"] = {"kind": "anonymous"}


def http(
    config: Mapping[str, str] | None, description: dict[str, Any], settings: dict[str, Any]
) -> None:
    """Puts the options of a client of web servers into a description and its settings."""
    plain = description["url"].lower().startswith("http://")
    for name, value in _texts(config, "opts").items():
        match name.lower():
            case "allow_http":
                if plain and not _urls.truth(value, "opts['allow_http']"):
                    raise _urls.refused(
                        f"{_urls.shown(description['url'])} has no TLS: make it https://, or pass "
                        "opts={'allow_http': 'true'}"
                    )
            case "user_agent":
                description["headers"] |= _urls.headers({"user-agent": value}, "opts['user_agent']")
            case "timeout" | "connect_timeout" | "read_timeout" as time:
                settings[_TIMES[time]] = _urls.milliseconds(value, f"opts[{name!r}]")
            case _:
                known = "allow_http, connect_timeout, read_timeout, timeout, user_agent"
                raise _unknown("opts of a web server", name, known)

"""Descriptions of other storages than S3: this machine, Google Cloud Storage, Azure, and web servers."""

from __future__ import annotations

from typing import Any, Literal

from icefield import _client_options, _urls
from icefield._credentials.azure import AnyAzureCredential, AzureCredentials
from icefield._credentials.forms import identity_of
from icefield._credentials.gcs import AnyGcsCredential, GcsCredentials
from icefield._storage.description import Description, Headers, directory, name_of, prefix_of

__all__ = ["azure", "gcs", "http", "local", "memory", "redirect"]


def memory() -> Description:
    """The memory of this process."""
    return Description({"type": "memory"}, {"type": "in-memory"})


def local(path: str, locks: Literal["detect", "trusted"] = "detect") -> Description:
    """A directory; a relative path is resolved in the current working directory."""
    absolute = directory(path)
    document: dict[str, Any] = {"type": "local", "path": absolute}
    shown: dict[str, object] = {"type": "local filesystem", "path": absolute}
    if locks not in ("detect", "trusted"):
        raise _urls.refused(f"locks cannot be {locks!r}: it is 'detect' or 'trusted'")
    if locks == "trusted":
        document["locks"] = shown["locks"] = locks
    return Description(document, shown)


def gcs(
    bucket: str,
    prefix: str | None,
    credentials: AnyGcsCredential | None,
    config: dict[str, str] | None,
    headers: dict[str, Headers],
) -> Description:
    """A bucket of Google Cloud Storage. Raises for `headers`, naming their arguments."""
    for name, given in headers.items():
        if given:
            raise _urls.refused(
                f"{name} is not supported for Google Cloud Storage, whose client sends only its own: leave it out "
                "(for the project that pays, pass config={'user_project': …})"
            )
    who: GcsCredentials = GcsCredentials.FromEnv() if credentials is None else credentials
    identity, source = identity_of(who, GcsCredentials)
    prefix = prefix_of(prefix)
    description: dict[str, Any] = {
        "type": "gcs",
        "bucket": name_of(bucket, "bucket"),
        "prefix": prefix,
        "credentials": identity,
    }
    settings: dict[str, Any] = {}
    _client_options.gcs(config, description, settings)
    description["settings"] = settings
    endpoint = description.get("endpoint")
    shown: dict[str, object] = {
        "type": "GCS",
        "bucket": bucket,
        "prefix": prefix or None,
        "endpoint_url": endpoint and _urls.shown(endpoint),
    }
    return Description(description, shown, who, source)


def azure(
    account: str,
    container: str,
    prefix: str,
    credentials: AnyAzureCredential | None,
    config: dict[str, str] | None,
) -> Description:
    """A container of Azure Blob Storage."""
    if not isinstance(prefix, str):
        raise TypeError(f"prefix is a text, not a {type(prefix).__name__}")
    who: AzureCredentials = AzureCredentials.FromEnv() if credentials is None else credentials
    identity, source = identity_of(who, AzureCredentials)
    prefix = prefix_of(prefix)
    description: dict[str, Any] = {
        "type": "azure",
        "account": name_of(account, "account"),
        "container": name_of(container, "container"),
        "prefix": prefix,
        "credentials": identity,
    }
    settings: dict[str, Any] = {}
    _client_options.azure(config, description, settings)
    description["settings"] = settings
    endpoint = description.get("endpoint")
    shown: dict[str, object] = {
        "type": "Azure",
        "account": account,
        "container": container,
        "prefix": prefix or None,
        "endpoint_url": endpoint and _urls.shown(endpoint),
    }
    return Description(description, shown, who, source)


def http(base_url: str, config: dict[str, str] | None, headers: Headers) -> Description:
    """The files below a URL of a web server. A user in the URL becomes a header."""
    url, login = _urls.without_user(base_url, "base_url")
    description: dict[str, Any] = {
        "type": "http",
        "url": url,
        "headers": login | _urls.headers(headers, "headers"),
    }
    settings: dict[str, Any] = {}
    _client_options.http(config, description, settings)
    description["settings"] = settings
    return Description(description, {"type": "HTTP", "url": _urls.shown(url)})


def redirect(base_url: str) -> Description:
    """The storage that a web server redirects to."""
    url, login = _urls.without_user(base_url, "base_url")
    if login:
        raise _urls.refused(
            f"base_url {_urls.shown(base_url)} has a user in it: a redirect is asked for without credentials"
        )
    return Description(
        {"type": "redirect", "url": url}, {"type": "redirect", "url": _urls.shown(url)}
    )

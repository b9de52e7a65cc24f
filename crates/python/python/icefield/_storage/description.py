"""Descriptions of storages for the native module, their printable forms, and checks of arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from icefield import _urls

__all__ = [
    "Description",
    "Headers",
    "HeadersGiven",
    "check_encodable",
    "directory",
    "name_of",
    "prefix_of",
]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")

Headers: TypeAlias = dict[str, str] | None


@dataclass(frozen=True, repr=False)
class Description:
    """A storage and its credentials. The representation shows nothing, because it may hold secrets."""

    document: dict[str, Any]
    """The document for the native module."""
    shown: dict[str, object]
    credentials: Any = None
    """The pickled form, if the credentials contain a function."""
    source: Callable[[], str] | None = None
    """The credential function."""


class HeadersGiven:
    """Headers of requests that read, and of those that write."""

    def __init__(self, both: Headers, read: Headers, write: Headers) -> None:
        shared = _urls.headers(both, "headers")
        self.read = shared | _urls.headers(read, "read_headers")
        self.write = shared | _urls.headers(write, "write_headers")


def check_encodable(value: object, where: str) -> None:
    """Raises for strings that have no UTF-8 form. The error gives only their names, because they may be secret."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _urls.refused(
                f"{where} has no UTF-8 form: half of a surrogate pair is in it"
            ) from None
    elif isinstance(value, dict):
        for name, it in value.items():
            check_encodable(it, f"{where}.{name}" if where else str(name))


def directory(path: object) -> str:
    """The absolute path. Raises if it has no UTF-8 form."""
    given = os.fsdecode(path)  # type: ignore[arg-type]
    if not given:
        raise _urls.refused("the path of a directory is empty: give one ('.' is the working directory)")
    if found := _SCHEME.match(given):
        if found[1].lower() == "file":
            how = f"give the path: {unquote(given[found.end() :])!r}"
        else:
            how = f"make a storage of {found[0]} by its own function, such as s3_storage or http_storage"
        raise _urls.refused(f"{_urls.shown(given)} is a URL, not the path of a directory: {how}")
    absolute = os.path.abspath(given)
    try:
        absolute.encode()
    except UnicodeEncodeError:
        raise _urls.refused(
            f"the path {absolute!r} is not UTF-8, and cannot be written into the description of a storage: rename the "
            "directory, or make a link to it whose name is UTF-8"
        ) from None
    return absolute


def name_of(value: object, what: str) -> str:
    """The name of a bucket, a container or an account. Raises if it is invalid."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not a {type(value).__name__}")
    if not value or set("/?# ") & set(value):
        raise _urls.refused(f"{what} {value!r} is no name of one")
    return value


def prefix_of(prefix: str | None) -> str:
    """The prefix of keys without slashes around it; "" for none."""
    if prefix is None:
        return ""
    if not isinstance(prefix, str):
        raise TypeError(f"prefix is a text or None, not a {type(prefix).__name__}")
    if prefix.startswith("/") and prefix.strip("/"):
        raise _urls.refused(
            f"prefix {prefix!r} begins with a slash, which object stores would take for a part of the name: write "
            f"{prefix.strip('/')!r}"
        )
    return prefix.strip("/")

"""Arguments about servers: URLs, headers and times. No error here shows a possible secret."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from icefield._exceptions import ErrorKind, InvalidInputError

__all__ = [
    "checked_endpoint",
    "headers",
    "milliseconds",
    "refused",
    "says_who",
    "secret_name",
    "shown",
    "shown_prefix",
    "truth",
    "without_user",
]

_SECRET = re.compile(
    "key|token|secret|auth|bearer|jwt|cookie|session|sig|sas|passw|passp|pwd|credential",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"\s*(basic|bearer|digest|negotiate|token|aws4-\S+)\s", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
_SENDABLE = re.compile(r"[\t -~]*")
_TIME = re.compile(r"\s*(\d+)\s*([a-z]+)")
_UNITS = {
    **dict.fromkeys(("ms", "msec", "millis"), 1),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3_600_000),
}


def refused(message: str) -> InvalidInputError:
    """The error for an invalid value of a setting."""
    return InvalidInputError(message, ErrorKind.INVALID_SETTING)


def shown(url: str) -> str:
    """The URL without the parts that may be secret: user and password, query, fragment."""
    rest, mark, _ = url.partition("#")
    rest, question, _ = rest.partition("?")
    scheme, colon, rest = rest.partition("://")
    if not colon:
        return "…"
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" + ("?…" if question or mark else "")


def shown_prefix(prefix: str) -> str:
    """The prefix of locations without the parts that may be secret. It stays unchanged if it is not
    a URL, or the URL of a store with names before an `@` (`abfss://container@account/`).
    """
    if "://" not in prefix:
        return prefix
    user, at, _ = prefix.partition("://")[2].partition("/")[0].rpartition("@")
    if at and ":" not in user and not prefix.lower().startswith(("http://", "https://")):
        return prefix.partition("#")[0].partition("?")[0] + ("?…" if set("?#") & set(prefix) else "")
    return shown(prefix)


def secret_name(name: str) -> bool:
    """Whether the value of a header or option of this name may be a secret."""
    return _SECRET.search(name) is not None


def says_who(value: str) -> bool:
    """Whether the value of a header is a credential, whatever the name of the header."""
    return _LOGIN.match(value) is not None


def checked_endpoint(url: str | None, allow_http: bool, setting: str = "endpoint_url") -> None:
    """Raises for a URL that is not of a server, has a user or a query, or has no TLS without permission."""
    if url is None:
        return
    scheme, _, host = url.partition("://")
    host = host.split("/")[0].split("?")[0].split("#")[0]
    if scheme.lower() not in ("http", "https") or not host:
        raise refused(f"{setting} {shown(url)} is no URL: begin it with https:// (or http://)")
    if "@" in host:
        raise refused(f"{setting} {shown(url)} has a user in it: pass credentials as arguments")
    if "?" in url or "#" in url:
        raise refused(
            f"{setting} {shown(url)} has a query: an endpoint is a server, and a path on it"
        )
    if scheme.lower() == "http" and not allow_http:
        raise refused(
            f"{setting} {shown(url)} has no TLS, so that anybody on the way can read along: make it https://, or pass "
            "allow_http=True"
        )


def without_user(url: str, setting: str) -> tuple[str, dict[str, str]]:
    """The URL without its user and password, and the header that carries them instead."""
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.lower() not in ("http", "https") or not rest.split("/")[0]:
        raise refused(f"{setting} {shown(url)} is no URL: begin it with https:// or http://")
    cut = min((at for it in "/?#" if (at := rest.find(it)) >= 0), default=len(rest))
    user, mark, host = rest[:cut].rpartition("@")
    if not host:
        raise refused(f"{setting} {shown(url)} names no host")
    if not mark:
        return url, {}
    parts = urlsplit(f"//{user}@x")
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    said = base64.b64encode(login.encode()).decode()
    return f"{scheme}://{host}{rest[cut:]}", {"authorization": f"Basic {said}"}


def headers(given: Mapping[str, str] | None, setting: str) -> dict[str, str]:
    """Valid headers, by their names in lower case."""
    found: dict[str, str] = {}
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"{setting} is a mapping from names to texts")
        if not _TOKEN.fullmatch(name):
            raise refused(f"{setting}: {name!r} is no name of a header")
        if not _SENDABLE.fullmatch(value):
            raise refused(
                f"{setting}: the value of {name!r} has characters that cannot be sent; they are those of ASCII, "
                "without line breaks"
            )
        found[name.lower()] = value
    return found


def milliseconds(value: str, setting: str) -> int:
    """The milliseconds of a time such as `5s`, `1m 30s` or `300ms`."""
    total, at = 0, 0
    while at < len(value.rstrip()) or not at:
        found = _TIME.match(value, at)
        if found is None or found[2] not in _UNITS:
            raise refused(f"{setting} is a time such as 5s, 1m 30s or 300ms, not {value!r}")
        total += int(found[1]) * _UNITS[found[2]]
        at = found.end()
    return total


def truth(value: str, setting: str) -> bool:
    """The boolean value of a string."""
    match str(value).lower():
        case "true" | "1" | "yes" | "on" | "y":
            return True
        case "false" | "0" | "no" | "off" | "n":
            return False
    raise refused(f"{setting} is true or false, not {value!r}")

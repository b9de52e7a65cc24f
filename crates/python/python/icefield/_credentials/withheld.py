"""Credentials in pickles without secrets: the form of access, but no key.

Pickles reach many places: unencrypted connections of a cluster, its logs, its spill files and the
keys of its caches. A storage can therefore leave secrets out of its pickles. The process that
unpickles then uses the credentials of its environment instead of a key.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from icefield._credentials.forms import Function, _Credentials
from icefield._urls import says_who, secret_name

__all__ = ["QUERY", "without_key", "without_keys"]

T = TypeVar("T")

_HEADERS = ("headers", "read_headers", "write_headers")
_URLS = ("url", "endpoint")
QUERY = "query"
_WITHOUT_SECRET = ("anonymous", "environment", "file", "function")


def without_keys(description: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The description of a storage without keys, headers that may carry keys, and queries of URLs;
    and the list of left-out parts: "credentials", names of headers, `QUERY`.
    """
    left, out = dict(description), set()
    if _is_key(left.get("credentials")):
        left["credentials"] = {"kind": "environment"}
        out.add("credentials")
    for name in _HEADERS:
        given = left.get(name, {})
        secret = {key for key, value in given.items() if secret_name(key) or says_who(value)}
        if secret:
            left[name] = {key: value for key, value in left[name].items() if key not in secret}
            out |= secret
    for name in _URLS:
        url = left.get(name) or ""
        plain = url.partition("#")[0].partition("?")[0]
        if plain != url:
            left[name] = plain
            out.add(QUERY)
    return left, out


def without_key(credential: T) -> T:
    """Credentials of a storage, or for virtual chunks, without a key; unchanged if they have none."""
    # Grants of virtual chunks may wrap the credentials of a service.
    inner = getattr(credential, "_0", None)
    if isinstance(inner, _Credentials):
        left = _keyless(inner)
        wrapper: Any = type(credential)
        return credential if left is inner else cast(T, wrapper(left))
    if isinstance(credential, _Credentials):
        return cast(T, _keyless(credential))
    return credential


def _keyless(credential: _Credentials) -> _Credentials:
    """The credentials of the environment instead of a key; a function without its last result."""
    if isinstance(credential, Function):
        if credential.current is None:
            return credential
        return cast(_Credentials, type(credential)(credential.pickled_function))
    if not _is_key(credential._identity()[0]):
        return credential
    family: Any = credential  # Each form has the names of its family as attributes.
    return cast(_Credentials, family.FromEnv())


def _is_key(identity: object) -> bool:
    """Whether credentials may hold a secret. True for every form that is not known to hold none."""
    return isinstance(identity, dict) and identity.get("kind") not in _WITHOUT_SECRET

"""Containers of virtual chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icefield import _display, _urls
from icefield._exceptions import ErrorKind, InvalidInputError
from icefield._store_options import AnyObjectStoreConfig, ObjectStoreConfig

__all__ = ["VirtualChunkContainer"]

_SCHEMES = {
    "s3": ("s3",),
    "s3_compatible": ("s3",),
    "tigris": ("tigris", "s3"),
    "gcs": ("gs", "gcs"),
    "azure": ("az", "azure", "abfs", "abfss"),
    "http": ("http", "https"),
    "local_file_system": ("file",),
    "in_memory": ("memory",),
}


class VirtualChunkContainer:
    """A container of virtual chunks: a prefix of URLs, and the store with the objects below it.

    `url_prefix` ends in a slash. With a `name`, locations may be given relative to the container,
    as `vcc://name/path`. All three are mutable; they are checked when the container is added to a
    configuration.
    """

    __slots__ = ("_unknown", "name", "store", "url_prefix")

    name: str | None
    url_prefix: str
    store: ObjectStoreConfig
    _unknown: dict[str, Any]

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, url_prefix: str, store: AnyObjectStoreConfig, name: str | None = None
    ) -> None:
        self.url_prefix = url_prefix
        self.store = store
        self.name = name
        self._unknown = {}

    def __setattr__(self, attribute: str, value: Any) -> None:
        match attribute:
            case "url_prefix" if not isinstance(value, str):
                raise TypeError(f"url_prefix is a text, not a {type(value).__name__}")
            case "name" if not (value is None or isinstance(value, str)):
                raise TypeError(f"name is a text or None, not a {type(value).__name__}")
            case "store" if not isinstance(value, ObjectStoreConfig):
                raise TypeError(f"store is an ObjectStoreConfig, not a {type(value).__name__}")
        object.__setattr__(self, attribute, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VirtualChunkContainer):
            return NotImplemented
        return self._fields() == other._fields() and self._unknown == other._unknown

    def _fields(self) -> list[tuple[str, object]]:
        return [("url_prefix", self.url_prefix), ("store", self.store), ("name", self.name)]

    def _shown(self) -> list[tuple[str, object]]:
        return [("url_prefix", _urls.shown_prefix(self.url_prefix)), *self._fields()[1:]]

    def __repr__(self) -> str:
        return _display.call("icefield.VirtualChunkContainer", self._shown())

    def __str__(self) -> str:
        rows = [(key, value, "") for key, value in self._shown()]
        return _display.lines("icefield.VirtualChunkContainer", rows)

    def _repr_html_(self) -> str:
        rows = [(key, value, "") for key, value in self._shown()]
        return _display.table("icefield.VirtualChunkContainer", rows)

    def _check(self) -> None:
        """Raises `InvalidInputError` unless a repository can use this container."""
        scheme, separator, rest = self.url_prefix.partition("://")
        prefix = _urls.shown_prefix(self.url_prefix)
        allowed = _SCHEMES.get(_tag(self.store._to_document()), ())
        if not self.url_prefix.endswith("/"):
            raise _refused(f"the prefix {prefix!r} must end with a slash: {prefix + '/'!r}")
        if not separator:
            raise _refused(f"the prefix {prefix!r} is no URL; begin it with {allowed[0]}://")
        if scheme not in allowed:
            raise _refused(
                f"the prefix {prefix!r} does not fit its store, whose URLs begin with "
                f"{' or '.join(it + '://' for it in allowed)}"
            )
        host, _, path = rest.partition("/")
        if scheme == "file":
            parts = [it for it in path.split("/") if it not in ("", ".", "..")]
            if not host and not parts:
                raise _refused(f"the prefix {prefix!r} has no path; give one, as in file:///data/")
        elif scheme != "memory" and not host:
            raise _refused(f"the prefix {prefix!r} has no bucket or host; give one")
        if any(it.isspace() for it in host):
            raise _refused(f"the bucket or host of the prefix {prefix!r} has a space")
        if self.name is not None and (not self.name or "/" in self.name):
            raise _refused(f"the name {self.name!r} must have a character, and no slash")

    def _to_document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "url_prefix": self.url_prefix,
            "store": self.store._to_document(),
        } | self._unknown

    @staticmethod
    def _from_document(document: Mapping[str, Any]) -> VirtualChunkContainer:
        left = dict(document)
        store: Any = ObjectStoreConfig._from_document(left.pop("store"))
        container = VirtualChunkContainer(left.pop("url_prefix"), store, left.pop("name", None))
        container._unknown = left
        return container


def _tag(document: Any) -> str:
    return document if isinstance(document, str) else str(next(iter(document), ""))


def _refused(message: str) -> InvalidInputError:
    return InvalidInputError(f"virtual chunk container: {message}", ErrorKind.INVALID_SETTING)


VirtualChunkContainer.__module__ = "icefield"

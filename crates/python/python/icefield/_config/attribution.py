"""Labels of requests."""

from __future__ import annotations

import re
from typing import Any, final

from icefield import _display
from icefield._exceptions import ErrorKind, InvalidInputError

__all__ = ["Attribution"]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_CLIENT = re.compile(rf"{_TOKEN}(/{_TOKEN})?")
# Printable ASCII without ( ) \ ; = and the quotation mark.
_LABEL = re.compile(r"[ !#-'*-:<>-\[\]-~]*")
_MOST_BYTES = 128


@final
class Attribution:
    """Labels for the requests of a repository, so that the owner of a bucket can tell them apart in its logs.

    `client` is the software (`name` or `name/version`), `workload` the purpose of the requests,
    `principal` the account that they are made for. The labels are kept and pickled with the
    repository; requests do not carry them yet. Each has at most 128 bytes of ASCII; a workload and
    a principal have none of `( ) \\ ; = "`. Anything else raises `InvalidInputError`. The labels
    cannot be changed.
    """

    __slots__ = ("_client", "_principal", "_workload")

    def __init__(
        self,
        *,
        client: str | None = None,
        workload: str | None = None,
        principal: str | None = None,
    ) -> None:
        self._client = _checked("client", client, _CLIENT)
        self._workload = _checked("workload", workload, _LABEL)
        self._principal = _checked("principal", principal, _LABEL)

    @property
    def client(self) -> str | None:
        """The software: `name` or `name/version`."""
        return self._client

    @property
    def workload(self) -> str | None:
        """The purpose of the requests."""
        return self._workload

    @property
    def principal(self) -> str | None:
        """The account that the requests are made for."""
        return self._principal

    def _labels(self) -> dict[str, str | None]:
        return {"client": self._client, "workload": self._workload, "principal": self._principal}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribution):
            return NotImplemented
        return self._labels() == other._labels()

    def __hash__(self) -> int:
        return hash(tuple(self._labels().values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._labels(),)

    def __repr__(self) -> str:
        return _display.call("icefield.Attribution", self._labels().items())

    def _repr_html_(self) -> str:
        rows = [(name, label, "") for name, label in self._labels().items()]
        return _display.table("icefield.Attribution", rows)


Attribution.__module__ = "icefield"


def _again(labels: dict[str, str | None]) -> Attribution:
    return Attribution(**labels)


def _checked(name: str, label: str | None, rule: re.Pattern[str]) -> str | None:
    if label is None:
        return None
    if not isinstance(label, str):
        raise TypeError(f"{name} is a text, not a {type(label).__name__}")
    if len(label.encode(errors="replace")) > _MOST_BYTES:
        raise InvalidInputError(
            f"{name} is longer than {_MOST_BYTES} bytes", ErrorKind.INVALID_SETTING
        )
    if rule.fullmatch(label) is None:
        allowed = (
            "`name` or `name/version` in the characters of an HTTP token"
            if rule is _CLIENT
            else 'printable ASCII without ( ) \\ ; = and "'
        )
        raise InvalidInputError(f"{name} is {allowed}, not {label!r}", ErrorKind.INVALID_SETTING)
    return label

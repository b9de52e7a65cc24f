"""The forms of credentials of every service: anonymous, from the environment, static, and from a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from icefield._checks import truth
from icefield._credentials.functions import Identity, Source, checked, pickled, text
from icefield._family import Member, _Bare, _One, _set

__all__ = ["Asked", "Function", "OneText", "identity_of"]

Asked: TypeAlias = tuple[Identity, Callable[[], str] | None]
"""The credentials in the description of a storage, and the credential function if there is one."""

T = TypeVar("T")


class _Credentials:
    """Credentials of a service: the family of its forms."""

    _service: ClassVar[str] = ""

    def _identity(self) -> Asked:
        raise TypeError(
            f"the credentials of {self._service} are one of the forms of {type(self).__name__}, "
            "not that class itself"
        )


class _Anonymous(_Bare):
    __slots__ = ()

    def _identity(self) -> Asked:
        return {"kind": "anonymous"}, None


class _FromEnv(_Bare):
    __slots__ = ()

    def _identity(self) -> Asked:
        return {"kind": "environment"}, None


class _Static(_One[T]):
    __slots__ = ()

    def _identity(self) -> Asked:
        raise NotImplementedError


class OneText(Member):
    __slots__ = ("_0",)
    __match_args__ = ("_0",)
    _0: str

    def __init__(self, _0: str) -> None:
        _set(self, "_0", text(_0, "it"))


class Function(Member):
    """Credentials from a function: the pickle of the function, and its last result."""

    __slots__ = ("current", "pickled_function")
    __match_args__ = ("pickled_function", "current")
    _secret = True
    _form: ClassVar[type]
    """The type of the function's results."""
    pickled_function: bytes
    current: Any

    def __init__(self, pickled_function: bytes, current: Any = None) -> None:
        if not isinstance(pickled_function, bytes):
            raise TypeError(
                "pickled_function is the pickle of a function: pass pickle.dumps(function), or use the function "
                "…_refreshable_credentials"
            )
        _set(self, "pickled_function", pickled_function)
        _set(self, "current", current)

    @classmethod
    def _of(cls, function: Callable[[], Any], scatter: bool) -> Self:
        """The credentials of a function, which is called at once if its first result is to be scattered."""
        scattered = truth(scatter, "scatter_initial_credentials")
        current = checked(function, cls._form) if scattered else None
        return cls(pickled(function), current)

    def _identity(self) -> Asked:
        return {"kind": "function"}, Source(self.pickled_function, self.current, self._form)


def identity_of(credential: object, family: type[_Credentials]) -> Asked:
    """The credentials of a service. Raises `TypeError` if they are not of its family."""
    if not isinstance(credential, family):
        raise TypeError(
            f"credentials of {family._service} are {family.__name__}, not a {type(credential).__name__}"
        )
    return credential._identity()

"""Registers this package under the name `icechunk`, for packages that import that name.

```python
import icefield.compat  # before anything that imports icechunk

import icechunk          # has what icefield has
from virtualizarr import ...
```

Packages such as VirtualiZarr import `icechunk` by name and check for its classes. This module
registers `icefield` and all its modules under that name, for this process. No other module of the
package imports it. A class has one identity under both names. A second import has no effect.

If the package `icechunk` itself was imported before, each class would exist twice, so this module
raises an `ImportError`: import it first, or do not import `icechunk`.

`icechunk` has a name and a `__version__` of its own. It shares all other attributes with
`icefield`: an assignment to one of the two is visible in the other; `vars(icechunk)` is read-only.
The version is the release of icechunk whose interface this package has, because packages compare it
with the oldest release that they support. `icefield.__version__` does not change.
`importlib.metadata` knows no package `icechunk`. Submodules such as `icechunk.xarray` are those of
`icefield`.

From then on, new repositories in this process have format version 2 under both names, as in
icechunk 2.3; `spec_version=1` creates one that every release opens.

The package then gives no warnings that icechunk does not give, because programs may turn warnings
into errors (`-W error`): its warnings go to the logger `icefield` of Python's `logging`.
`icechunk._icechunk_python`, the native module of icechunk, has the names that programs import from
it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module, reload
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import MappingProxyType, ModuleType
from typing import Any

__all__ = ["install"]

_OURS = "icefield"
_THEIRS = "icechunk"
_THEIR_VERSION = "2.3.0"
_THEIR_SPEC_VERSION = 2
"""The default format version of new repositories in that release."""


class _Package(ModuleType):
    """The module `icechunk`: it has its own dunder attributes, and finds all others in `icefield`.

    The import system sets the dunder attributes of a module.
    """

    def __init__(self) -> None:
        super().__init__(_THEIRS, import_module(_OURS).__doc__)
        self.__version__ = _THEIR_VERSION

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_OURS), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(import_module(_OURS), name, value)

    def __delattr__(self, name: str) -> None:
        if name.startswith("__"):
            super().__delattr__(name)
        else:
            delattr(import_module(_OURS), name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(import_module(_OURS)), *self.__dict__})

    @property
    def __dict__(self) -> Mapping[str, Any]:  # type: ignore[override]
        # For those who look: `mock.patch` restores a name that it finds here, and deletes others in
        # the belief that they were inherited. What is written to it would be lost: it raises.
        return MappingProxyType({**vars(import_module(_OURS)), **super().__dict__})

    def __reduce__(self) -> tuple[Any, ...]:
        # cloudpickle sends a module that a function uses by its name, which another process may
        # have no package for, or the other one.
        return _package, ()


def _package() -> ModuleType:
    """The module `icechunk`. Importing this module, which defines the function, registers it."""
    return import_module(_THEIRS)


class _Alias(Loader):
    """Returns the module of `icefield` for a submodule of `icechunk`, and a `_Package` for `icechunk` itself."""

    def __init__(self, is_loaded: bool) -> None:
        self._is_loaded = is_loaded

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name == _THEIRS:
            return _Package()
        module = import_module(_ours(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module was executed under its own name, which it keeps; a reload executes it again."""
        # By its name, since it is of another class if this module was reloaded meanwhile.
        if module.__name__ != _THEIRS:
            module.__spec__ = self._spec
        elif self._is_loaded:
            reload(import_module(_OURS))


class _Finder(MetaPathFinder):
    """Finds modules of the name `icechunk`, so that they are loaded at their first use."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != _THEIRS and not fullname.startswith(_THEIRS + "."):
            return None
        ours = find_spec(_ours(fullname))
        if ours is None:
            return None
        found = ModuleSpec(fullname, _Alias(target is not None), origin=ours.origin)
        found.submodule_search_locations = ours.submodule_search_locations
        return found


def _ours(name: str) -> str:
    return _OURS + name.removeprefix(_THEIRS)


def install() -> None:
    """Registers the name `icechunk`, its default of `spec_version` and its warnings. Importing this module does it."""
    # By the name of the module, since a class has another identity after a reload of this one.
    if any(type(finder).__module__ == __name__ for finder in sys.meta_path):
        return
    present = sys.modules.get(_THEIRS)
    if present is not None:
        where = getattr(present, "__file__", None)
        raise ImportError(
            f"the package icechunk ({where}) was imported already, so its name cannot be given "
            "to icefield: import "
            "icefield.compat before anything that imports icechunk, or do not import icechunk",
            name=_THEIRS,
        )
    sys.meta_path.insert(0, _Finder())
    enums = import_module(f"{_OURS}._values.enums")
    enums.make_repositories_of(_THEIR_SPEC_VERSION)
    import_module(f"{_OURS}._notices").give_as_warnings(False)


install()

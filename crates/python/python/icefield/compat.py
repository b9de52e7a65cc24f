"""Lets other packages find this one under the name `icechunk`.

```python
import icefield.compat  # before anything that imports icechunk

import icechunk          # is icefield
from virtualizarr import ...
```

Packages such as VirtualiZarr import `icechunk` by name and check for its classes. This module,
which is never imported unless you do so, registers `icefield` and all its modules under that name,
for this process. A class has one identity under both names. Importing it again does nothing.

If the package `icechunk` itself was imported before, there would be two of each class, so it
refuses by an `ImportError`: import this module first, or do not import `icechunk`.

`icechunk.__version__` is the release of icechunk whose interface this package has, since packages
compare it with the oldest release that they work with, and would refuse a number that counts
something else. It is one module under two names, so once somebody has imported it by this one,
`icefield.__version__` says the same; `icefield.print_debug_info()` always names the release of
icefield.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["install"]

_OURS = "icefield"
_THEIRS = "icechunk"
_THEIR_VERSION = "2.3.0"


class _Alias(Loader):
    """Gives, for a module of the other name, the module of ours."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(_ours(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module was executed under its own name, which it keeps."""
        module.__spec__ = self._spec
        if module.__name__ == _OURS:
            vars(module)["__version__"] = _THEIR_VERSION


class _Finder(MetaPathFinder):
    """Finds the other name, so that modules are loaded when they are first needed."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != _THEIRS and not fullname.startswith(_THEIRS + "."):
            return None
        return ModuleSpec(fullname, _Alias())


def _ours(name: str) -> str:
    return _OURS + name.removeprefix(_THEIRS)


def install() -> None:
    """Registers the name `icechunk`. Importing this module does it."""
    ours = import_module(_OURS)
    present = sys.modules.get(_THEIRS)
    if present is ours or any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if present is not None:
        where = getattr(present, "__file__", None)
        raise ImportError(
            f"the package icechunk ({where}) was imported already, so its name cannot be given "
            "to icefield: import "
            "icefield.compat before anything that imports icechunk, or do not import icechunk",
            name=_THEIRS,
        )
    sys.meta_path.insert(0, _Finder())


install()

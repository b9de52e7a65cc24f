"""Describes the public names of a package: its modules, their names, the members of classes, and all signatures.

Signatures are those that `inspect` finds at run time. Native classes may hide some; these come from the stub beside
the native module, as does the knowledge which attributes of native classes can be set.
"""

from __future__ import annotations

import ast
import builtins
import enum
import importlib
import importlib.util
import inspect
import pkgutil
import re
import types
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

NOT_PUBLIC = {"vendor"}
"""Modules with code of other projects."""

SHOWN_DUNDERS = ("__add__", "__and__", "__or__", "_repr_html_", "_repr_svg_")

PROBES = ("spec_version()", "supported_spec_versions()", "SpecVersion.current()")
"""Expressions whose values are compared, too."""

Signature: TypeAlias = list[dict[str, Any]] | None
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def describe(package: str) -> dict[str, Any]:
    """The description of a package as a JSON document."""
    top = importlib.import_module(package)
    # As programs that are written for the reference see ours.
    if importlib.util.find_spec(f"{package}.compat") is not None:
        importlib.import_module(f"{package}.compat")
    stub = Stub.of(top)
    modules = {}
    for name in _module_names(top):
        module = importlib.import_module(".".join(filter(None, (package, name))))
        modules[name] = {
            it: _thing(getattr(module, it), it, stub) | {"public": public}
            for it, public in _names(module).items()
        }
    names = {it: getattr(top, it) for it in dir(top)}
    probes = {it: str(eval(it, names)) for it in PROBES}
    return {"package": package, "version": top.__version__, "modules": modules, "probes": probes}


def _module_names(top: ModuleType) -> list[str]:
    """The dotted names below the package, "" for itself; private ones and those of others left out."""
    found = [""]
    prefix = f"{top.__name__}."
    for info in pkgutil.walk_packages(top.__path__, prefix):
        name = info.name.removeprefix(prefix)
        parts = name.split(".")
        if not any(it.startswith("_") or it in NOT_PUBLIC for it in parts):
            found.append(name)
    return sorted(found)


def _names(module: ModuleType) -> dict[str, bool]:
    """The names of a module without an underscore, and whether they are public.

    Public are those in `__all__`, the functions and classes that the module defines, and without an `__all__` also
    the other names that it assigns.
    """
    listed = getattr(module, "__all__", None)
    names = dict.fromkeys(listed or (), True)
    source = Path(module.__file__ or "").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names[node.name] = True
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.setdefault(name, listed is None)
            case _ if type(node).__name__ == "TypeAlias":
                names.setdefault(node.name.id, listed is None)  # type: ignore[attr-defined]
    return {
        name: names[name]
        for name in sorted(names)
        if (not name.startswith("_") or name == "__version__") and hasattr(module, name)
    }


def _thing(value: Any, path: str, stub: Stub) -> dict[str, Any]:
    if inspect.isclass(value):
        return _class(value, path, stub)
    if inspect.isroutine(value) or (callable(value) and hasattr(value, "__wrapped__")):
        signature = _signature(value, path, stub)
        return {"kind": "function", "signature": signature, "async": _is_async(value)}
    return {"kind": "value"}


def _class(cls: type, path: str, stub: Stub) -> dict[str, Any]:
    members = {}
    for name in sorted({it for base in cls.__mro__ for it in vars(base)}):
        if name.startswith("_") and name not in SHOWN_DUNDERS:
            continue
        owner = next((it for it in cls.__mro__ if name in vars(it)), None)
        if owner is None or _is_foreign(owner):
            continue
        if inspect.isclass(vars(owner)[name]) and owner is not cls:
            continue  # a nested class, which the class that it is nested in has
        members[name] = _member(cls, vars(owner)[name], name, f"{path}.{name}", stub)
    bases = {it.__name__ for it in cls.__mro__[1:] if it is not object and not _is_hidden(it)}
    return {
        "kind": "class",
        "bases": sorted(bases),
        "signature": _constructor(cls, path, stub),
        # Members of enumerations are equal by identity, too.
        "compared": _has_own(cls, "__eq__") or issubclass(cls, enum.Enum),
        "hashable": cls.__hash__ is not None,
        "members": members,
    }


def _has_own(cls: type, name: str) -> bool:
    """Whether a class has another method of a name than `object`."""
    return getattr(cls, name) is not getattr(object, name)


def _is_foreign(owner: type) -> bool:
    """Whether a class is of Python or of a library, so that its members are not the package's."""
    if getattr(builtins, owner.__name__, None) is owner:
        return True
    return owner.__module__.split(".")[0] in {"abc", "collections", "enum", "typing", "zarr"}


def _is_hidden(base: type) -> bool:
    if base.__name__.startswith("_"):
        return True
    return base.__module__.split(".")[0] in {"abc", "enum", "typing"} or issubclass(base, enum.Enum)


def _member(cls: type, raw: Any, name: str, path: str, stub: Stub) -> dict[str, Any]:
    value = getattr(cls, name, None)
    if isinstance(raw, property):
        return {"kind": "data", "settable": raw.fset is not None}
    if inspect.isclass(value):
        return _class(value, path, stub)
    if inspect.isroutine(raw) and not inspect.isgetsetdescriptor(raw):
        static = isinstance(raw, staticmethod | classmethod | types.ClassMethodDescriptorType)
        described = {"kind": "method", "async": _is_async(value), "static": static}
        return described | {"signature": _signature(value, path, stub, drop_self=not static)}
    if isinstance(raw, enum.Enum) or isinstance(raw, cls):
        return {"kind": "member"}
    if inspect.isgetsetdescriptor(raw):
        # Whether a native attribute can be set is known by the stub only.
        return {"kind": "data", "settable": f"{raw.__objclass__.__name__}.{name}" in stub.settable}
    return {"kind": "data", "settable": hasattr(type(raw), "__set__")}


def _is_async(value: Any) -> bool | None:
    """Whether it is a coroutine function; None for native ones, which do not tell."""
    return inspect.iscoroutinefunction(value) if inspect.isfunction(inspect.unwrap(value)) else None


def _constructor(cls: type, path: str, stub: Stub) -> Signature:
    """How a class is called; None for enumerations and for classes that cannot be."""
    if type(cls) is enum.EnumMeta:
        return None
    found = _of_inspect(cls)
    if found is None:
        return stub.signatures.get(f"{path}.__new__")
    if found and [it["name"] for it in found] == ["_", "__"]:
        return None
    if not found and not _has_own(cls, "__new__") and not _has_own(cls, "__init__"):
        return None  # native, without a constructor
    return found


def _signature(value: Any, path: str, stub: Stub, drop_self: bool = False) -> Signature:
    found = _of_inspect(value)
    if found is None:
        return stub.signatures.get(path)
    if drop_self and found:
        found = found[1:]
    return found


def _of_inspect(value: Any) -> Signature:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return [
        {"name": it.name, "kind": _kind(it), "default": _default(it.default)}
        for it in signature.parameters.values()
    ]


def _kind(parameter: inspect.Parameter) -> str:
    """How an argument is given; not by its name if that is only a number."""
    numbered = re.fullmatch(r"_\d+", parameter.name)
    return "POSITIONAL_ONLY" if numbered else parameter.kind.name


def _default(value: Any) -> str | None:
    """A default in a form that is the same in both packages; None if there is none, "..." if it is not plain."""
    if value is inspect.Parameter.empty:
        return None
    if isinstance(value, enum.Enum):
        return "..."
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | list | dict | set) and not value:
        return repr(value)
    return "..."


class Stub:
    """What the stub of the native module says: signatures by the path of the name, and attributes with a setter."""

    def __init__(self) -> None:
        self.signatures: dict[str, Signature] = {}
        self.settable: set[str] = set()

    @classmethod
    def of(cls, package: ModuleType) -> Stub:
        stub = cls()
        for file in Path(package.__path__[0]).glob("_*.pyi"):
            stub._read(ast.parse(file.read_text(encoding="utf-8")).body, "")
        return stub

    def _read(self, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef(name=name):
                    self._read(node.body, f"{prefix}{name}.")
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self._function(node, f"{prefix}{name}", bool(prefix))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    self.settable.add(f"{prefix}{name}")

    def _function(self, node: Function, path: str, in_class: bool) -> None:
        decorators = [ast.unparse(it) for it in node.decorator_list]
        if any(it.endswith(".setter") for it in decorators):
            self.settable.add(path)
        elif "property" not in decorators:
            first = 1 if in_class and "staticmethod" not in decorators else 0
            self.signatures[path] = _of_arguments(node.args, first)


def _of_arguments(arguments: ast.arguments, first: int) -> Signature:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults.extend(arguments.defaults)
    rows: list[dict[str, Any]] = []
    for place, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        only = place < len(arguments.posonlyargs)
        kind = "POSITIONAL_ONLY" if only else "POSITIONAL_OR_KEYWORD"
        rows.append({"name": argument.arg, "kind": kind, "default": _written(default)})
    if arguments.vararg is not None:
        rows.append({"name": arguments.vararg.arg, "kind": "VAR_POSITIONAL", "default": None})
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        rows.append({"name": argument.arg, "kind": "KEYWORD_ONLY", "default": _written(default)})
    if arguments.kwarg is not None:
        rows.append({"name": arguments.kwarg.arg, "kind": "VAR_KEYWORD", "default": None})
    return rows[first:]


def _written(default: ast.expr | None) -> str | None:
    if default is None:
        return None
    try:
        return _default(ast.literal_eval(default))
    except ValueError:
        return "..."

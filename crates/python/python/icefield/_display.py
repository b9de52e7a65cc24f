"""The representations of values: a constructor call, lines of text, and a table in a notebook."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["call", "escape", "lines", "table", "text_of"]

_STYLE = (
    "<style>"
    ".icefield{line-height:1.5;max-width:60em}"
    ".icefield>.name{font-weight:600;border-bottom:1px solid color-mix(in srgb,currentColor 30%,transparent)}"
    ".icefield td,.icefield th{text-align:left;vertical-align:top;padding:1px 1em 1px 0;background:none}"
    ".icefield th{font-weight:500;opacity:.75}"
    ".icefield .default{opacity:.6}"
    "</style>"
)


def escape(text: str) -> str:
    """A text as HTML. (The module `html` has a table of all entities, which takes time to load.)"""
    for character, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#x27")):
        text = text.replace(character, f"&{name};")
    return text


def text_of(value: object) -> str:
    """One value in a line of its own: texts without quotes, times in ISO form."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return repr(value)


def call(name: str, arguments: Iterable[tuple[str, object]]) -> str:
    """`name(a=1, b=2)`: the call that would create the value again."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments)})"


def lines(name: str, fields: Iterable[tuple[str, object, str]]) -> str:
    """The name, then a line for each field: its name, value and a remark. Values of several lines are indented."""
    shown = [f"<{name}>"]
    for key, value, remark in fields:
        text = str(value) if hasattr(value, "_repr_html_") else text_of(value)
        if "\n" in text:
            shown.append(f"{key}:")
            shown.extend(f"    {line}" if line else line for line in text.rstrip("\n").split("\n"))
        else:
            shown.append(f"{key}: {text}{remark}")
    return "\n".join(shown)


def table(name: str, rows: Iterable[tuple[str, object, str]]) -> str:
    """A table of fields for a notebook, with values that show themselves as HTML inside of it."""
    return f'{_STYLE}<div class="icefield">{_table(name, rows)}</div>'


def _table(name: str, rows: Iterable[tuple[str, object, str]]) -> str:
    shown = "".join(
        f"<tr><th>{escape(key)}</th><td>{_cell(value)}{_remark(remark)}</td></tr>"
        for key, value, remark in rows
    )
    return f'<div class="name">{escape(name)}</div><table><tbody>{shown}</tbody></table>'


def _remark(remark: str) -> str:
    return remark and f'<span class="default">{escape(remark)}</span>'


def _cell(value: object) -> str:
    inner: Any = getattr(value, "_repr_html_", None)
    if inner is not None:
        return str(inner()).replace(_STYLE, "")
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return "<br>".join(escape(text_of(it)) for it in value)
    return escape(text_of(value))

"""The hierarchy of a version as HTML, without a server: groups open and close, arrays show their shapes and types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from icefield._display import escape

if TYPE_CHECKING:
    from icefield import _native

__all__ = ["tree_html", "visible"]

_MOST_NODES = 200
_MOST_LETTERS = 120
# Besides control characters: invisible ones, those that change the direction of text, and those that XML lacks.
_HIDDEN = (
    (0xAD, 0xAD),
    (0x61C, 0x61C),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x2069),
    (0xD800, 0xDFFF),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0xE0000, 0xE007F),
)


def visible(text: str) -> str:
    """A text of another writer as HTML: characters that a page would act on, or not show, as escapes; and cut."""
    if len(text) > _MOST_LETTERS:
        text = f"{text[:_MOST_LETTERS]}…"
    return escape("".join(_visible(letter) for letter in text))


def _visible(letter: str) -> str:
    code = ord(letter)
    if code < 0x20 or 0x7F <= code < 0xA0 or any(low <= code <= high for low, high in _HIDDEN):
        return f"\\u{{{code:x}}}"
    return letter


def tree_html(session: _native.Session) -> str:
    """The groups and arrays that a session sees, as nested lists."""
    rows, count = session.tree(_MOST_NODES)
    if count <= 1:
        return '<div class="icefield">no arrays</div>'
    shown: list[str] = []
    open_groups: list[list[str]] = []
    # A path sorts behind its group, but `a-b` sorts between `a` and `a/c`.
    for path, facts in sorted(rows, key=lambda row: _parts(row[0])):
        parts = _parts(path)
        if not parts:
            continue
        while open_groups and open_groups[-1] != parts[: len(open_groups[-1])]:
            open_groups.pop()
            shown.append("</ul></details></li>")
        name = visible(parts[-1])
        if facts is None:
            # Groups near the root are open.
            state = ' open="open"' if len(parts) < 3 else ""
            shown.append(f"<li><details{state}><summary>{name}/</summary><ul>")
            open_groups.append(parts)
        else:
            shown.append(f"<li>{name} <span class='default'>{visible(_facts(facts))}</span></li>")
    shown.extend("</ul></details></li>" for _ in open_groups)
    left = count - len(rows)
    more = f"<div>{left} more nodes are not shown</div>" if left > 0 else ""
    return f'<div class="icefield"><ul>{"".join(shown)}</ul>{more}</div>'


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _facts(text: str) -> str:
    facts = json.loads(text)
    names = facts["dimension_names"] or [None] * len(facts["shape"])
    lengths = (
        f"{name}: {length}" if name else str(length)
        for name, length in zip(names, facts["shape"], strict=False)
    )
    return f"({', '.join(lengths)}) {facts['data_type'] or ''}".rstrip()

"""Pages whose blocks are programs: cut out of Markdown, run in order, their output compared.

`python pages.py DIRECTORY` writes each page there as one program, for a type checker.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PAGES = ["docs/python.md", "docs/coming-from-icechunk.md", "crates/python/README.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A program, the line of its page that it starts on, and what it must print."""

    page: str
    line: int
    code: str
    printed: str


def blocks(page: str) -> list[Block]:
    """Returns the blocks of Python of a page, each with the block of text right behind it, if there is one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for fence in FENCE.finditer(text):
        language, body = fence[1], fence[2]
        if language == "python":
            line = text.count("\n", 0, fence.start()) + 2
            found.append(Block(page, line, body, ""))
            end = fence.end()
        elif language == "text" and end >= 0 and not text[end : fence.start()].strip():
            last = found.pop()
            found.append(Block(last.page, last.line, last.code, body))
    return found


@contextlib.contextmanager
def page_module(name: str) -> Iterator[types.ModuleType]:
    """A module for the blocks of one page: functions that they define pickle like those of a program."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        yield module
    finally:
        del sys.modules[name]


def run(block: Block, module: types.ModuleType) -> None:
    """Runs a block in the module and compares what it prints, where `…` stands for anything."""
    # So that a traceback has the lines of the page.
    code = compile("\n" * (block.line - 1) + block.code, block.page, "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, module.__dict__)
    printed, wanted = out.getvalue().strip(), block.printed.strip()
    pattern = ".*".join(map(re.escape, wanted.split("…")))
    assert re.fullmatch(pattern, printed, re.DOTALL), (
        f"{block.page}, line {block.line} prints\n{printed}\nand the page says\n{wanted}"
    )


def program(page: str) -> str:
    """All blocks of a page, each on the lines that it has there."""
    lines: list[str] = []
    for block in blocks(page):
        lines += [""] * (block.line - 1 - len(lines))
        lines += block.code.splitlines()
    return "\n".join(lines) + "\n"


def main(directory: Path) -> None:
    for page in PAGES:
        name = re.sub(r"\W", "_", page.removesuffix(".md")) + ".py"
        (directory / name).write_text(program(page), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

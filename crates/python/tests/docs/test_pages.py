"""What the documentation shows runs, and prints what it says."""

import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT, blocks, page_module, run


@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_in_order(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(page)
    assert found, f"{page} has no block of Python"
    with page_module("page_" + Path(page).stem.replace("-", "_")) as module:
        for block in found:
            run(block, module)


def test_the_readme_shows_python_that_is_on_a_page() -> None:
    shown = [block.code for block in blocks("README.md")]
    assert shown, "README.md shows no Python"
    pages = [block.code for page in PAGES for block in blocks(page)]
    assert all(code in pages for code in shown)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        directory = (ROOT / page).parent
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
            assert (directory / target).exists(), f"{page} links to {target}"

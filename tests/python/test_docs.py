"""The Python blocks of docs/python.md and README.md run, those of a page in order and in one namespace."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import soa

ROOT = Path(__file__).parents[2]
PAGES = {"docs/python.md": 22, "README.md": 1}  # least number of blocks


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str) -> None:
    text = (ROOT / page).read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert len(blocks) >= PAGES[page]
    names: dict[str, Any] = {}
    threads = soa.get_threads()
    try:
        for block in blocks:
            line = text.count("\n", 0, block.start(1))
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # an example that is warned of is none
                exec(compile("\n" * line + block.group(1), page, "exec"), names)  # lines of messages are those of the page
    finally:
        soa.set_threads(threads)

"""The Python blocks of docs/python.md run, in order, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import soa

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_blocks_run() -> None:
    text = PAGE.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert len(blocks) >= 5
    names: dict[str, Any] = {}
    threads = soa.get_threads()
    try:
        for block in blocks:
            line = text.count("\n", 0, block.start(1))
            exec(compile("\n" * line + block.group(1), str(PAGE), "exec"), names)  # lines of messages are those of the page
    finally:
        soa.set_threads(threads)

#!/usr/bin/env python3
"""Runs notebooks, each in a fresh kernel, and stores them with their outputs.

Times, versions and other data of this computer are left out.

    build/python/bin/python scripts/notebooks.py [NOTEBOOK...]

Without names all of examples/notebooks are run.

tests/python/test_notebooks.py runs them with the same code and compares the outputs with the
stored ones.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
_LONGEST_CELL = 120  # seconds
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")


def read(path: Path) -> Any:
    """A notebook as it is stored."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def run(notebook: Any) -> Any:
    """The notebook with the outputs of a fresh kernel, which works in an empty folder.

    Raises what a cell raises.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory(prefix="soa-") as folder:
        client = NotebookClient(notebook, timeout=_LONGEST_CELL, kernel_name="python3",
                                record_timing=False, coalesce_streams=True,
                                extra_arguments=["--log-level=ERROR"],
                                resources={"metadata": {"path": folder}})
        with patch.dict(os.environ, JUPYTER_RUNTIME_DIR=folder, IPYTHONDIR=folder,
                        JUPYTER_PLATFORM_DIRS="1"):
            client.execute()
    return notebook


def shape_of(text: str) -> str:
    """A text without the values of its numbers, and without blanks, which depend on them."""
    return re.sub(r"\s+", "", _NUMBER.sub("#", text))


def kinds(cell: Any) -> list[tuple[str, ...]]:
    """What kinds of outputs a cell has, and their texts but for the numbers."""
    found: list[tuple[str, ...]] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            found.append((output.name, shape_of(output.text)))
        elif output.output_type == "error":
            found.append(("error", output.ename))
        else:
            data = output.data
            texts = [shape_of(data[kind]) for kind in sorted(data) if "text/" in kind]
            if "image/png" in data:
                texts = []  # the size of the figure
            found.append((output.output_type, *sorted(data), *texts))
    return found


def _clean(notebook: Any) -> None:
    """Leaves in the metadata what every Jupyter needs, and no versions of this computer."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = {}


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        notebook = run(read(path))
        _clean(notebook)
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

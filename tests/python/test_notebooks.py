"""The notebooks of examples/notebooks run without an error, and show what is stored in them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import notebooks  # noqa: E402

FOLDER = ROOT / "examples" / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 300_000  # bytes of a file
LEAST_CHECKS = 6  # assertions in a notebook
OF_THIS_COMPUTER = re.compile(r"/tmp/|/home/|/root/|/work/|site-packages|ipykernel_")


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def made_of(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_runs_and_shows_what_is_stored(path: Path) -> None:
    stored = notebooks.read(path)
    fresh = notebooks.run(notebooks.read(path))
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        assert notebooks.kinds(old) == notebooks.kinds(new), (
            f"{path.name}, cell {number}: the outputs are not those that are stored; "
            "run scripts/notebooks.py")


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_stored_file(path: Path) -> None:
    notebook = notebooks.read(path)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert path.stat().st_size < LARGEST
    counts = [cell.execution_count for cell in cells]
    assert counts == list(range(1, len(cells) + 1)), "not run from a fresh kernel"
    outputs = [output for cell in cells for output in cell.outputs]
    assert len(outputs) >= len(cells) / 2
    assert any("image/png" in output.get("data", {}) for output in outputs)
    for output in outputs:
        assert output.output_type != "error" and output.get("name") != "stderr", output
        data = output.get("data", {})
        words = [output.get("text", ""), *(data[kind] for kind in data if kind.startswith("text/"))]
        assert not OF_THIS_COMPUTER.search(" ".join(words)), words
    source = "\n".join(cell.source for cell in cells)
    assert len(re.findall(r"^ *assert ", source, re.MULTILINE)) >= LEAST_CHECKS
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")


def test_all_are_listed() -> None:
    assert len(PATHS) >= 6
    page = (FOLDER / "README.md").read_text()
    assert re.findall(r"^\| \[.*?\]\((.*?)\)", page, re.MULTILINE) == [path.name for path in PATHS]
    for name, folder in (("docs/python.md", "../"), ("README.md", "")):
        link = f"({folder}examples/notebooks/README.md)"
        assert link in (ROOT / name).read_text(), f"{name} has no link to the notebooks"


def test_links_between_notebooks_lead_somewhere() -> None:
    for path in PATHS:
        for cell in notebooks.read(path).cells:
            if cell.cell_type == "markdown":
                for link in re.findall(r"\]\(([^)#:]+)\)", cell.source):
                    assert (FOLDER / link).exists(), f"{path.name}: {link}"
                for name in re.findall(r"`((?:docs|examples|scenarios)/[^`]+)`", cell.source):
                    assert (ROOT / name).exists(), f"{path.name}: {name}"


def test_a_claim_that_fails_is_noticed() -> None:
    with pytest.raises(Exception, match="AssertionError"):
        notebooks.run(made_of("x = 2", "assert x == 3"))


def test_pieces_of_a_text_are_put_together() -> None:
    piecewise = "import time; print(1, flush=True); time.sleep(0.5); print(2, flush=True)"
    slow, fast = notebooks.run(made_of(piecewise, "print(1); print(2)")).cells
    assert slow.outputs == fast.outputs and len(slow.outputs) == 1


def test_outputs_that_changed_are_noticed() -> None:
    cells = notebooks.run(made_of(
        "print('mass', 2.5, 'kg')", "print('mass', -1e-3, 'kg')", "print('force', 2.5, 'N')", "2.5",
        "None", "import sys; print('mass', 1, 'kg', file=sys.stderr)")).cells
    mass, other, force, value, nothing, error = (notebooks.kinds(cell) for cell in cells)
    assert mass == other == [("stdout", "mass#kg")] and nothing == []
    assert len({str(kind) for kind in (mass, force, value, nothing, error)}) == 5

"""The package's types: mypy --strict finds nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import soa

pytest.importorskip("mypy")


def test_mypy_strict(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "pyproject.toml"),
                          "--cache-dir", str(tmp_path), "-p", soa.__name__],
                         capture_output=True, text=True, cwd=tmp_path, check=False)
    assert run.returncode == 0, run.stdout

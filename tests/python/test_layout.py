"""The structs of soa._c against the C compiler: a C program prints every size and offset."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import soa
from soa import _c

INCLUDE = Path(soa.__file__).parents[2] / "include"
if not (INCLUDE / "soa" / "soa.h").exists():
    INCLUDE = Path(__file__).parents[2] / "include"
COMPILER = shutil.which(os.environ.get("CC", "cc"))
STRUCTS = {name: kind for name, kind in vars(_c).items()
           if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and kind is not ctypes.Structure}


def known(kind: type[ctypes.Structure]) -> bool:
    """Whether the headers show what is in the struct."""
    return bool(getattr(kind, "_fields_", None))


def program() -> str:
    headers = sorted(path.name for path in (INCLUDE / "soa").glob("*.h"))
    lines = [f"#include <soa/{name}>" for name in headers] + ["#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for name, kind in STRUCTS.items():
        if not known(kind):
            continue
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in kind._fields_:
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    return "\n".join([*lines, "}", ""])


def test_layout(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("no C compiler: the layout of NO struct was compared")
    if not (INCLUDE / "soa" / "soa.h").exists():
        pytest.skip("the headers of soa are not here: the layout of NO struct was compared")
    source, binary = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(program())
    subprocess.run([COMPILER, "-std=c11", f"-I{INCLUDE}", "-o", binary, source], check=True, timeout=120)
    printed = subprocess.run([binary], check=True, capture_output=True, text=True, timeout=60).stdout
    expected = dict(line.split(" ", 1) for line in printed.splitlines())
    found = {}
    for name, kind in STRUCTS.items():
        if not known(kind):
            continue
        found[name] = str(ctypes.sizeof(kind))
        for field, *_ in kind._fields_:
            place = getattr(kind, field)
            found[f"{name}.{field}"] = f"{place.offset} {place.size}"
    assert len(found) > 500
    assert found == expected

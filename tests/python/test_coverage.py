"""Every public C function is used by the package, or python/not-wrapped.txt says why it is not."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from soa import _c

PYTHON = Path(__file__).parents[2] / "python"
LIST = PYTHON / "not-wrapped.txt"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def used() -> set[str]:
    """The C functions named in the code (not in comments or texts) of the package."""
    names: set[str] = set()
    for file in (PYTHON / "soa").glob("*.py"):
        if file.name == "_c.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _c.prototypes:
                names.add(node.value)  # getattr(_c, "soa_...")
    for file in (PYTHON / "core").glob("*.[ch]"):
        names |= set(re.findall(r"\bsoa_\w+", COMMENT.sub("", file.read_text())))
    return names & set(_c.prototypes)


def listed() -> dict[str, str]:
    """The reasons of not-wrapped.txt by name."""
    reasons: dict[str, str] = {}
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        assert name not in reasons, f"{LIST.name} has {name} twice"
        reasons[name] = reason.strip()
    return reasons


def test_every_function_is_used_or_listed() -> None:
    forgotten = sorted(set(_c.prototypes) - used() - set(listed()))
    assert not forgotten, f"neither used by python/soa nor in {LIST.name}: {', '.join(forgotten)}"


def test_nothing_used_is_listed() -> None:
    both = sorted(used() & set(listed()))
    assert not both, f"in {LIST.name}, but used: {', '.join(both)}"


def test_list() -> None:
    unknown = sorted(set(listed()) - set(_c.prototypes))
    assert not unknown, f"in {LIST.name}, but no function of the library: {', '.join(unknown)}"
    for name, reason in listed().items():
        assert len(reason) > 10, f"{name} has no reason"


def test_functions_are_reachable() -> None:
    for name in _c.prototypes:
        assert callable(getattr(_c, name))

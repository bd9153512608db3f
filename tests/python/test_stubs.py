"""The texts and signatures of the compiled methods: help(), the stub file and the table of arguments agree."""

from __future__ import annotations

import ast
import doctest
import inspect
from pathlib import Path

import pytest
import soa
from soa import _core

STUBS = Path(soa.__file__).with_name("_core.pyi")
METHODS = sorted(name for name in vars(_core.Tree) if inspect.ismethoddescriptor(vars(_core.Tree)[name])
                 and not name.startswith("_"))


def stub_methods() -> dict[str, ast.FunctionDef]:
    """The methods of Tree in the stub file; of overloaded ones the last, for float64."""
    tree = next(node for node in ast.parse(STUBS.read_text()).body if isinstance(node, ast.ClassDef))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_stub_has_all_names() -> None:
    public = {name for name in vars(_core.Tree) if not name.startswith("__")}
    assert public == {name for name in stub_methods() if not name.startswith("__")}
    module = {name for name in vars(_core) if not name.startswith("__")}
    body = ast.parse(STUBS.read_text()).body
    stubbed = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stubbed |= {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    assert module == stubbed


@pytest.mark.parametrize("name", METHODS)
def test_text(name: str) -> None:
    text = inspect.getdoc(getattr(_core.Tree, name))
    assert text and "Cost: O(" in text and ">>> " in text
    assert inspect.cleandoc(ast.get_docstring(stub_methods()[name]) or "") == text
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    runner.run(parser.get_doctest(text, {}, name, None, None))
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", METHODS)
def test_signature(name: str) -> None:
    arm = soa.Model.open("arm7")
    shown = inspect.signature(getattr(_core.Tree, name))
    names = [p for p in shown.parameters if p != "self"]
    stub = stub_methods()[name].args
    assert names == [argument.arg for argument in stub.args if argument.arg != "self"]
    defaults = [p.default for p in shown.parameters.values() if p.default is not inspect.Parameter.empty]
    assert defaults == [ast.literal_eval(default) for default in stub.defaults]
    with pytest.raises(TypeError) as caught:
        _core.Tree.__dict__[name](arm, no_such_argument=1)
    assert str(caught.value) == f"{name} has no argument 'no_such_argument'; it takes {', '.join(names)}"

"""Reports as HTML pages: written to a file, shown in a notebook or in the web browser."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import warnings
import weakref
from ctypes import POINTER, byref, c_char_p, c_int
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from . import _c
from ._call import check, new_report, numbers
from ._errors import FileError
from ._own import Folder
from .records import Record

if TYPE_CHECKING:
    from .model import Model
    from .worlds import World

_HEIGHT = 640  # pixels of a page inside a notebook

# python/core/view.c; not part of the C interface, and so not in _c
_soapy_report = _c.library.soapy_report
_soapy_report.restype = c_int
_soapy_report.argtypes = [c_char_p, c_char_p, POINTER(_c.soa_report)]


def write_report(record: Record, path: str | os.PathLike[str]) -> None:
    """Writes the HTML page; an older file stays if anything fails. What cannot be shown is a warning."""
    target = os.path.abspath(os.fspath(path))
    if os.path.exists(target) and os.path.samefile(target, record.path):
        raise ValueError(f"{path} is the journal itself")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileError(f"{path}: the folder {os.path.dirname(target)} does not exist", "SOA_E_FILE")
    number, temporary = tempfile.mkstemp(suffix=".html", dir=os.path.dirname(target))
    os.close(number)
    try:
        report = new_report()
        check(_soapy_report(os.fsencode(record.path), os.fsencode(temporary), byref(report)), report, record.path)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    for line in report.text.decode(errors="replace").splitlines():
        warnings.warn(line, stacklevel=3)


def page(record: Record) -> str:
    """The HTML page."""
    with tempfile.TemporaryDirectory(prefix="soa-") as folder:
        path = os.path.join(folder, "report.html")
        write_report(record, path)
        with open(path, encoding="utf-8") as file:
            return file.read()


def inline(record: Record) -> str:
    """The page inside another page."""
    return (f'<iframe srcdoc="{html.escape(page(record))}" style="width:100%;height:{_HEIGHT}px;border:0" '
            'sandbox="allow-scripts allow-downloads"></iframe>')


class Page:
    """A page that a notebook shows where this object is the value of a cell."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return f"<soa.Page: {len(self._html) / 1e6:.1f} MB of HTML>"


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def show(record: Record) -> object:
    """In a notebook: an object that shows the page. Elsewhere the page opens in the browser: the name of its file."""
    if in_notebook():
        return Page(inline(record))
    import webbrowser

    folder = Folder()
    path = os.path.join(folder.name, "report.html")
    write_report(record, path)
    _shown.append(folder)
    webbrowser.open("file://" + path)
    return path


_shown: list[Folder] = []  # pages that a browser may still read, until Python ends


def snapshot(world: World) -> Record:
    """A record of one sample: the world as it is now."""
    folder = Folder()
    path = os.path.join(folder.name, "now.soalog")
    journal = POINTER(_c.soa_journal)()
    report = new_report()
    check(_c.soa_world_create_journal(world._pointer, os.fsencode(path), byref(journal), byref(report)), report)
    try:
        values = _signal_values(world)
        check(_c.soa_journal_write_sample(journal, world.t, numbers(values)), None, path)
        state = world.save()
        check(_c.soa_journal_write_checkpoint(journal, world.t, state, len(state)), None, path)
    except BaseException:
        _c.soa_journal_abandon(journal, None)
        raise
    check(_c.soa_journal_close(journal, byref(report)), report, path)
    return Record._of_run(path, (folder, world), world.summary)


def _signal_values(world: World) -> Any:
    import numpy as np

    return np.array(list(world.signals.values()))


def model_world(model: Model, q: ArrayLike | None = None) -> World:
    """A world with a model as its only part."""
    from .model import Model
    from .scenarios import Scenario
    from .worlds import World

    part: dict[str, Any] = {"name": "model", "model": model}
    if model.spec and (model._made is None or model._made._as_brought):  # the file has the looks
        part["model"] = os.path.abspath(model.spec) if os.path.exists(model.spec) else model.spec
        part["floating"] = model.nv > Model.open(model.spec).nv
    scenario = Scenario.from_dict({"name": "model", "text": model.name, "duration": 1,
                                   "gravity": model.gravity, "parts": [part]})
    world = World(scenario)  # it keeps the model's temporary file, which the report reads again
    if q is not None:
        world.set_state(q)
    return world


def view_model(model: Model, q: ArrayLike | None = None) -> object:
    """Shows a model at q (None: the neutral configuration): in a notebook in the page, elsewhere in the browser."""
    return show(snapshot(model_world(model, q)))


__all__ = ["Page", "in_notebook", "inline", "model_world", "page", "show", "snapshot", "view_model",
           "write_report"]

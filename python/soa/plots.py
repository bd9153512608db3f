"""Curves as an SVG file, without any other package: what `soa` draws.

For pictures of records with matplotlib see `soa.Record.plot`.

>>> import numpy as np, os, tempfile
>>> from soa.plots import Curve, Panel, Plot
>>> t = np.linspace(0, 1, 101)
>>> curves = [Curve("sine", np.sin(t), t), Curve("cosine", np.cos(t), t)]
>>> plot = Plot([Panel("angle (rad)", curves)], x_label="t (s)")
>>> plot.write(os.path.join(tempfile.mkdtemp(), "angles.svg"))
>>> plot.svg()[:4]
'<svg'
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from ctypes import POINTER, byref, c_long, cast
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _c as _module
from ._call import Array, check, new_report, numbers

_c: Any = _module


@dataclass(frozen=True)
class Curve:
    """y over x, (N,) each; a number that is not finite makes a gap. name: in the legend. markers: a
    dot at every point.
    """

    name: str
    y: ArrayLike
    x: ArrayLike
    markers: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves with one y axis. y_label: with the unit, "angle (deg)". y_log: logarithmic.

    curves: `Curve` objects.
    """

    y_label: str
    curves: Sequence[Curve]
    y_log: bool = False


@dataclass(frozen=True)
class Plot:
    """Panels, one below the other, over a common x axis. In a notebook it shows itself.

    panels: from the top. x_label: with the unit. title, subtitle: above all. x_log:
    logarithmic.
    """

    panels: Sequence[Panel]
    x_label: str = ""
    title: str = ""
    subtitle: str = ""
    x_log: bool = False

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG file and replaces an older one."""
        keep: list[Any] = []
        rows = [self._panel(panel, keep) for panel in self.panels]
        if not rows:
            raise ValueError("the plot has no panels")
        panels = (_c.soa_plot_panel * len(rows))(*rows)
        ends = _ends(self.panels)
        struct = _c.soa_plot(
            _words(self.title),
            _words(self.subtitle),
            self.x_label.encode(),
            bool(self.x_log),
            numbers(ends),
            ends.size,
            cast(panels, POINTER(_c.soa_plot_panel)),
            len(rows),
        )
        report = new_report()
        check(_c.soa_plot_write_svg(byref(struct), os.fsencode(path), byref(report)), report)

    def _panel(self, panel: Panel, keep: list[Any]) -> Any:
        curves = []
        for curve in panel.curves:
            x, y = (np.ascontiguousarray(one, dtype=np.float64) for one in (curve.x, curve.y))
            if x.ndim != 1 or x.shape != y.shape or not x.size:
                raise ValueError(
                    f"curve '{curve.name}': x has shape {x.shape}, y {y.shape}, expected (N,)"
                )
            keep += [x, y]
            curves.append(
                _c.soa_plot_curve(
                    curve.name.encode(), numbers(y), numbers(x), c_long(x.size), bool(curve.markers)
                )
            )
        if not curves:
            raise ValueError(f"panel '{panel.y_label}' has no curves")
        array = (_c.soa_plot_curve * len(curves))(*curves)
        keep.append(array)
        return _c.soa_plot_panel(
            panel.y_label.encode(),
            bool(panel.y_log),
            cast(array, POINTER(_c.soa_plot_curve)),
            len(curves),
        )

    def svg(self) -> str:
        """The SVG as a text."""
        with tempfile.TemporaryDirectory(prefix="soa-") as folder:
            path = os.path.join(folder, "plot.svg")
            self.write(path)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def _repr_svg_(self) -> str:
        return self.svg()


def _words(given: str) -> bytes | None:
    return given.encode() if given else None


def _ends(panels: Sequence[Panel]) -> Array:
    """Least and greatest x of all curves."""
    every = [np.asarray(curve.x, dtype=np.float64) for panel in panels for curve in panel.curves]
    finite = np.concatenate([one[np.isfinite(one)] for one in every] or [np.zeros(0)])
    return np.array([finite.min(), finite.max()]) if finite.size else np.zeros(2)


__all__ = ["Curve", "Panel", "Plot"]

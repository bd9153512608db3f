"""Files around a model: remarks on a URDF, the shapes in it, and C code for one model.

>>> import soa
>>> found = soa.lint_urdf_text("<robot name='one'><link name='a'/><lonk name='b'/></robot>")
>>> [remark.line for remark in found.remarks if "lonk" in remark.text]
[1]
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from ctypes import byref, c_int
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._call import Array, check, from_pointer, new_report, text
from ._callbacks import Carrier
from ._errors import InputError
from ._own import C as _c
from .collision import SHAPE_TYPES, Shape
from .frames import frame_matrix

if TYPE_CHECKING:
    from .model import Model

Level = Literal["note", "warning", "error"]
LEVELS: tuple[Level, ...] = ("note", "warning", "error")
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX_MOST = 60  # letters of a prefix that is made from the name of a model


# --- remarks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remark:
    """One remark of the linter; `rule` is a short, stable name, `line` is 0 for the whole file.

    level: "note", "warning" or "error". text: what was found.

    `str(remark)` is "line 3: warning: text [rule]".
    """

    level: Level
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.level}: {self.text} [{self.rule}]"


@dataclass(frozen=True)
class Lint:
    """Remarks on a URDF in the order of its lines, and how many are errors and warnings.

    remarks: all of them. errors, warnings: numbers of them.

    It is true if there is no error: `if soa.lint_urdf(path): ...`.
    """

    remarks: tuple[Remark, ...]
    errors: int
    warnings: int

    def __bool__(self) -> bool:
        return self.errors == 0

    def __str__(self) -> str:
        return "\n".join(str(remark) for remark in self.remarks)


def lint_urdf(path: str | os.PathLike[str]) -> Lint:
    """Everything doubtful in a URDF file, as `soa check` finds it.

    A file that is not XML or not a URDF has an error among its remarks.  Raises FileError where
    there is no such file: then nothing was checked.
    """
    name = os.fsencode(path)
    return _lint(lambda *rest: _c.soa_urdf_lint(name, *rest))


def lint_urdf_text(urdf: str | bytes, directory: str | os.PathLike[str] | None = None) -> Lint:
    """The same for a URDF in memory.

    directory: where relative and package:// names of meshes start; None: meshes are not opened.

    >>> import soa
    >>> found = soa.lint_urdf_text("<robot")
    >>> found.errors, found.remarks[0].rule
    (1, 'xml')
    """
    source = _source(urdf, directory)
    return _lint(lambda *rest: _c.soa_urdf_lint_text(byref(source), *rest))


def _source(urdf: str | bytes, directory: str | os.PathLike[str] | None) -> Any:
    data = urdf.encode() if isinstance(urdf, str) else bytes(urdf)
    folder = None if directory is None else os.fsencode(directory)
    return _c.soa_urdf_source(data, len(data), b"(string)", folder)


def _lint(call: Callable[..., int]) -> Lint:
    remarks: list[Remark] = []
    errors, warnings = c_int(), c_int()
    report = new_report()
    carrier = Carrier()

    def collect(_user: object, pointer: Any) -> None:
        found = pointer.contents
        remark = Remark(LEVELS[found.level], found.line, text(found.rule), text(found.text))
        carrier.run(lambda: remarks.append(remark), None)

    with carrier:
        status = call(_c.soa_lint_fn(collect), None, byref(errors), byref(warnings), byref(report))
    check(status, report)
    return Lint(tuple(remarks), errors.value, warnings.value)


# --- shapes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mesh:
    """Triangles for drawing: vertices (n, 3), m, and the numbers of the corners of each, (m, 3).

    triangles: the numbers of corners, from 0.

    A mesh need not be convex; `soa.collision.Shape.hull(mesh.vertices)` is its convex hull.
    """

    vertices: Array
    triangles: np.ndarray[tuple[int, ...], np.dtype[np.int32]]


@dataclass(frozen=True)
class LinkShape:
    """How a part of a link looks: a shape or a mesh at a 4 x 4 pose in the frame of the link.

    link: its name. place: the pose. shape: of `soa.collision`, or a `Mesh`.

    colour: red, green, blue, opacity, each 0 to 1; None: the file has none.
    """

    link: str
    place: Array
    shape: Shape | Mesh
    colour: tuple[float, float, float, float] | None


@dataclass(frozen=True)
class Looks:
    """The shapes of a URDF for drawing, and notes: what could not be shown, and why."""

    shapes: tuple[LinkShape, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class LinkCollision:
    """A <collision> element: a shape at a 4 x 4 pose in the frame of the link.

    link: its name. name: of the element, or empty. place: the pose.

    shape: None for a mesh: `mesh` is the path of its file, or its name in the URDF where there is
        no such file, and `scale` its three factors; `soa.collision.Shape.mesh(c.mesh, c.scale)` is
        its convex hull.
    fault: why it cannot be used; None: it can.
    """

    link: str
    name: str
    place: Array
    shape: Shape | None
    mesh: str | None
    scale: Array
    fault: str | None


def read_looks(path: str | os.PathLike[str]) -> Looks:
    """How the links of a URDF file look: its <visual> elements, or <collision> if there are none.

    A mesh may be STL, OBJ, DAE, PLY or GLB and gives one `Mesh` for each of its materials.
    """
    name = os.fsencode(path)
    return _looks(lambda *rest: _c.soa_urdf_read_shapes(name, *rest))


def parse_looks(urdf: str | bytes, directory: str | os.PathLike[str] | None = None) -> Looks:
    """The same for a URDF in memory.

    directory: where relative and package:// names of meshes start; None: meshes are left out.

    >>> from soa.files import parse_looks
    >>> ball = "<visual><geometry><sphere radius='0.1'/></geometry></visual>"
    >>> parse_looks(f"<robot name='r'><link name='a'>{ball}</link></robot>").shapes[0].shape.radius
    0.1
    """
    source = _source(urdf, directory)
    return _looks(lambda *rest: _c.soa_urdf_parse_shapes(byref(source), *rest))


def _looks(call: Callable[..., int]) -> Looks:
    found, report = _c.soa_urdf_shape_list(), new_report()
    check(call(byref(found), byref(report)), report)
    try:
        shapes = tuple(_link_shape(found.shapes[i]) for i in range(found.count))
        return Looks(shapes, tuple(text(found.notes[i]) for i in range(found.note_count)))
    finally:
        _c.soa_urdf_shape_list_free(byref(found))


def _link_shape(one: Any) -> LinkShape:
    colour = tuple(one.colour[:]) if one.has_colour else None
    shape = _mesh(one.shape) if one.is_mesh else _plain(one.shape)
    return LinkShape(text(one.link), frame_matrix(one.place), shape, colour)


def _mesh(shape: Any) -> Mesh:
    count = shape.vertex_count
    corners = from_pointer(shape.vertices, 3 * count).reshape(count, 3)
    last = shape.face_start[shape.face_count] if shape.face_count else 0
    triangles = np.array(shape.faces[:last] if last else [], dtype=np.int32)
    return Mesh(corners, triangles.reshape(shape.face_count, 3))


def _plain(shape: Any) -> Shape:
    return Shape._of(SHAPE_TYPES[shape.type], tuple(shape.half[:]), shape.radius)


def read_collisions(path: str | os.PathLike[str]) -> tuple[LinkCollision, ...]:
    """The shapes with which the links of a URDF file touch, in the order of the file.

    Meshes are located but not read.  One that cannot be used stays in the list, with the reason in
    `fault`.
    """
    found, report = _c.soa_urdf_collision_list(), new_report()
    check(_c.soa_urdf_read_collisions(os.fsencode(path), byref(found), byref(report)), report)
    try:
        return tuple(_collision(found.items[i]) for i in range(found.count))
    finally:
        _c.soa_urdf_collision_list_free(byref(found))


def _collision(one: Any) -> LinkCollision:
    mesh = None if one.mesh is None else os.fsdecode(one.mesh)
    fault = None if one.fault is None else text(one.fault)
    shape = _plain(one.shape) if mesh is None and fault is None else None
    return LinkCollision(
        text(one.link),
        text(one.name),
        frame_matrix(one.place),
        shape,
        mesh,
        np.array(one.scale[:]),
        fault,
    )


# --- code -----------------------------------------------------------------------------------------


def generate_c(model: Model, path: str | os.PathLike[str] | None, prefix: str | None) -> str | None:
    """The text of C for one model; with a path it goes into this file instead."""
    if prefix is None:
        prefix = _prefix(model.name)
    elif not _PREFIX.fullmatch(prefix):
        raise InputError(
            f"prefix is {prefix!r}, expected letters, digits and _, not a digit first", "SOA_E_NAME"
        )
    if path is not None:
        _write_c(model, prefix, os.fsencode(path))
        return None
    with tempfile.TemporaryDirectory(prefix="soa-") as folder:
        file = os.path.join(folder, "model.c")
        _write_c(model, prefix, os.fsencode(file))
        with open(file, encoding="utf-8") as opened:
            return opened.read()


def _prefix(name: str) -> str:
    """The name of a model as the beginning of C names."""
    made = re.sub(rb"[^A-Za-z0-9_]", b"_", name.encode()).decode() or "robot"
    return ("m" + made if made[0].isdigit() else made)[:_PREFIX_MOST]


def _write_c(model: Model, prefix: str, path: bytes) -> None:
    report = new_report()
    check(_c.soa_model_generate_c(model._pointer, prefix.encode(), path, byref(report)), report)


__all__ = [
    "Lint",
    "LinkCollision",
    "LinkShape",
    "Looks",
    "Mesh",
    "Remark",
    "lint_urdf",
    "lint_urdf_text",
    "parse_looks",
    "read_collisions",
    "read_looks",
]

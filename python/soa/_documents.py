"""Scenarios as dicts: models in them, names of files, values that a sweep drew."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _c
from ._errors import InputError, SoaError
from ._own import Folder
from .constraints import Constraint, Disc, Distance, Loop, Plane, Ratio, Rolling, Velocity
from .definitions import ModelDefinition
from .files import read_collisions
from .frames import quaternion
from .graphs import Linkage, SpanningTree
from .model import Model

MODELS = (Model, ModelDefinition, Linkage, SpanningTree)
_LONGEST_NAME = 31  # bytes, of a constraint in a scenario
_TURNS = ("revolute", "prismatic", "helical", "cylindrical", "planar", "universal")  # joints with an axis


def plain(value: Any) -> Any:
    """A copy of dicts and lists with Python's own numbers; definitions of machines become models, which are not copied."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Linkage):
        return value.span().model
    if isinstance(value, SpanningTree):
        return value.model
    if isinstance(value, ModelDefinition):
        return value.build()
    return value


def _maps(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The maps of a list; what is not one is for the reader of scenarios to refuse."""
    given = document.get(key)
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def written(document: dict[str, Any], folder: str | None) -> tuple[dict[str, Any], object]:
    """The document as a scenario file can hold it, and what must live as long as it is used.

    Models become files in a temporary folder, their loops `constraints`. Relative names of files become those of `folder`;
    None: they stay.
    """
    result = plain(document)
    kept: list[Folder] = []
    for index, part in enumerate(_maps(result, "parts")):
        model = part.get("model")
        if isinstance(model, Model):
            _write_model(result, part, index, model, kept)
        elif isinstance(model, str) and folder is not None:
            part["model"] = _file(model, folder)
    for shape in _maps(result, "shapes"):
        if isinstance(shape.get("mesh"), str) and folder is not None:
            shape["mesh"] = os.path.join(folder, shape["mesh"])
    return result, kept


def _file(name: str, folder: str) -> str:
    """A name of a file in a folder; other names are those of shipped models."""
    path = os.path.join(folder, name)
    return path if "." in name or os.path.isfile(path) else name


def _write_model(document: dict[str, Any], part: dict[str, Any], index: int, model: Model, kept: list[Folder]) -> None:
    what = f"parts[{index}].model"
    if model._opened is not None and (model._made is None or model._made._as_brought):  # its file has all of it
        part["model"], floating = model._opened
        if part.setdefault("floating", floating) != floating:
            raise InputError(f"{what}: '{model.name}' was opened with floating={floating}, and `floating` of the part is "
                             f"{part['floating']}: leave it out, or give the name of the model")
        return
    _refuse_shapes(what, part, model)
    if not kept:
        kept.append(Folder())
    name = part.get("name")
    entries = [_constraint(what, str(name), part, model, one) for one in model.constraints] if model._bound_count else []
    part["model"] = os.path.join(kept[0].name, f"{index}.soam")
    model.save(part["model"], tree_only=True)
    if entries:
        document["constraints"] = [*(document.get("constraints") or []), *entries]


def _refuse_shapes(what: str, part: dict[str, Any], model: Model) -> None:
    """A changed copy of a file's model has no shapes, while that of the file had some."""
    if not model.spec or part.get("collisions") is False or not os.path.isfile(model.spec):
        return
    try:
        shapes = read_collisions(model.spec)
    except SoaError:  # not a URDF: no shapes
        return
    if shapes:
        raise InputError(f"{what}: '{model.name}' is a changed copy of {model.spec}, whose <collision> shapes it does not have: "
                         "give the name of the file, or the part `collisions: False`")


def _constraint(what: str, part: str, entry: dict[str, Any], model: Model, one: Constraint) -> dict[str, Any]:
    """A constraint of a model as an entry of `constraints`."""
    given = one.definition

    def refuse(why: str) -> InputError:
        return InputError(f"{what}: constraint '{one.name}' of '{model.name}' {why}; remove it from the model's `constraints`, "
                          "or give the model as a file (URDF) that has it")

    def frame(name: str | int) -> str:
        number = model.find_frame(name)
        if number:
            return f"{part}.{model.frame(number).name}"
        free = any(body.type == "free" and body.parent == 0 for body in model.bodies)
        if free and entry.get("place") is not None:
            raise refuse("is tied to the world of a floating model, which the part's `place` moves")
        return "world" if free else part  # the frame of a fixed part is at its place

    name = re.sub(r"[\s.,:/'\"\[\]]", "-", f"{part}-{one.name}")  # the reader refuses these letters
    if len(name.encode()) > _LONGEST_NAME:
        raise refuse(f"would be called '{name}', longer than {_LONGEST_NAME} bytes")
    if not one.on:
        raise refuse("is switched off, which scenarios cannot say")
    if getattr(given, "drive", None) is not None:
        raise refuse("has a drive in Python")
    result: dict[str, Any] = {"kind": type(given).__name__.lower(), "name": name}
    if isinstance(given, Ratio):
        unknown = [joint for joint, _ in given.terms if joint not in model.joint_names]
        if unknown:
            raise refuse(f"counts the cut joint '{unknown[0]}'")
        result["terms"] = {f"{part}.{joint}": coefficient for joint, coefficient in given.terms}
        result["value"] = given.value
        return result
    if isinstance(given, Rolling):
        ends = given.plane, given.ball
    elif isinstance(given, Disc):
        ends = given.plane, given.disc
    else:
        ends = given.frame1, given.frame2
    result["frames"] = [frame(end) for end in ends]
    for key in ("place1", "place2"):
        place = getattr(given, key)
        if place is not None and not np.array_equal(place, np.eye(4)):
            result[key] = {"xyz": np.asarray(place)[:3, 3].tolist(), "quaternion": quaternion(place).tolist()}
    if isinstance(given, Loop):
        _loop(result, given, refuse)
    elif isinstance(given, Velocity):
        result["rows"], result["rows_in_frame2"] = np.atleast_2d(np.asarray(given.rows)).tolist(), given.rows_in_frame2
    elif isinstance(given, Distance | Plane):
        result["value"] = given.value
    else:
        result["value"] = given.radius
    return result


def _loop(result: dict[str, Any], given: Loop, refuse: Any) -> None:
    if given.joint == "free":
        raise refuse("is a free cut joint, which scenarios do not have")
    if given.rotor_inertia:
        raise refuse("has a rotor at its cut joint, which scenarios do not have")
    result["joint"] = given.joint
    if given.joint in _TURNS:
        result["axis"] = np.asarray(given.axis).tolist()
    if given.joint == "universal":
        result["axis2"] = np.asarray(given.axis2).tolist()
    for key in ("pitch", "damping", "friction", "stiffness", "rest"):
        if getattr(given, key):
            result[key] = getattr(given, key)


_ONLY = {"least_distance": (_c.SOA_CONTACT_SAFE,), "exponent": (_c.SOA_CONTACT_HUNT_CROSSLEY,),
         "loss": (_c.SOA_CONTACT_HUNT_CROSSLEY,),
         "damping": (_c.SOA_CONTACT_PAPER, _c.SOA_CONTACT_SAFE, _c.SOA_CONTACT_LINEAR)}  # keys that not all laws have


# --- cases of a sweep -------------------------------------------------------------------------------------------------
def drawn_into(document: dict[str, Any], struct: Any, paths: list[str], names: list[str]) -> dict[str, Any]:
    """The document of a scenario with the values that its case, `struct`, drew; it has no `sweep` any more."""
    result: dict[str, Any] = plain(document)
    result.pop("sweep", None)
    result["seed"] = int(struct.seed)
    for path in paths:
        scope, dot, rest = path.partition(".")
        key = rest.partition("[")[0]
        if scope in names:
            _draw_part(_maps(result, "parts")[names.index(scope)], struct.parts[names.index(scope)], key)
        elif scope == "contact":
            for number, contact in enumerate(_maps(result, "contacts")):
                laws = _ONLY.get(key)
                if laws is None or struct.contacts[number].law in laws:  # others have no such key, nor use its value
                    contact[key] = float(getattr(struct.contacts[number], key))
        else:
            control = result["control"] = dict(result.get("control") or {})
            if scope == "control":
                control["estimate"] = {**(control.get("estimate") or {}),
                                       key.removesuffix("_estimate"): float(getattr(struct.control, key))}
            else:
                value = getattr(struct.control.sensors, key)
                control["sensors"] = {**(control.get("sensors") or {}),
                                      key: float(value) if isinstance(value, float) else [float(one) for one in value]}
    return result


def _draw_part(part: dict[str, Any], struct: Any, key: str) -> None:
    if key == "twist":
        if not struct.floating:  # it has no twist, and the file no such key
            return
        part["twist"] = [float(one) for one in struct.twist]
    elif key == "place":
        at = [float(one) for one in struct.place.p]
        given = part.get("place")
        part["place"] = {**given, "xyz": at} if isinstance(given, dict) else at
    else:
        part[key] = float(getattr(struct, key))


__all__ = ["MODELS", "drawn_into", "plain", "written"]

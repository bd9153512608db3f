"""What worlds say about themselves in lists, and the words and defaults of scenario files."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, cast
from dataclasses import dataclass
from typing import Any

from . import _c as _module
from ._call import check, text

_c: Any = _module


# --- worlds ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ShapePair:
    """Two shapes that may touch, by name; closer than `margin`, m, they do.

    a, b: names of the shapes.
    """

    a: str
    b: str
    margin: float


@dataclass(frozen=True)
class WorldWarning:
    """A remark of the run for its user: one for each code and name, with the worst value that was
    seen.

    `t`: when it was first seen, s. `name`: of the law, joint, part, loop or shape. `remedy`: what
    was found, and what to do; it names the unit of `value` (NaN: none). docs/worlds.md lists the
    codes.
    """

    t: float
    value: float
    code: str
    name: str
    remedy: str


@dataclass(frozen=True)
class Move:
    """A coordinate that moved when the loops were closed at the start, rad or m; `name`: its joint,
    or "joint[k]".

    before, after: the coordinate as the scenario has it, and as it is then.
    """

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class PartInfo:
    """Limits, stops and shapes of one part of a world.

    name: of the part. moves: whether it has bodies that move. floats: whether its root is free.
    can_touch: whether any of its shapes can touch something.

    `limits`: coordinates with limits; `stops`: how many of them have a stop. `stop_stiffness`,
    `stop_damping`: least and greatest, N m/rad or N/m, N m s/rad or N s/m. `shapes`: of the
    scenario on it; `collisions`: <collision> shapes of its URDF that can be used; `in_use`: how
    many of these can touch something here. `mass`: of the bodies that move, kg. `law`: of its
    collision shapes with others, in the keys of scenario files.
    """

    name: str
    limits: int
    stops: int
    stop_stiffness: tuple[float, float]
    stop_damping: tuple[float, float]
    shapes: int
    collisions: int
    in_use: int
    moves: bool
    floats: bool
    mass: float
    can_touch: bool
    law: dict[str, float]


@dataclass(frozen=True)
class Gap:
    """A <collision> that cannot be used: its link cannot touch there. `mesh`: its file, or None;
    `fault`: why.

    part, link: whose it is.
    """

    part: str
    link: str
    mesh: str | None
    fault: str


_LAW_NUMBERS = (
    "margin",
    "stiffness",
    "exponent",
    "loss",
    "friction",
    "tangential_stiffness",
    "tangential_damping",
)


def _listed(function: Callable[..., Any], world: Any) -> list[Any]:
    """The rows of a `const soa_... *function(world, &count)`."""
    count = c_int()
    rows = function(world, byref(count))
    return [rows[i] for i in range(count.value)]


def world_pairs(world: Any) -> list[ShapePair]:
    shape, pair, names = _c.soa_world_shape(), _c.soa_world_pair(), []
    for index in range(int(_c.soa_world_shape_count(world))):
        check(_c.soa_world_get_shape(world, index, byref(shape)))
        names.append(text(shape.name))
    found = []
    for index in range(int(_c.soa_world_pair_count(world))):
        check(_c.soa_world_get_pair(world, index, byref(pair)))
        found.append(ShapePair(names[pair.a], names[pair.b], pair.margin))
    return found


def world_warnings(world: Any) -> list[WorldWarning]:
    return [
        WorldWarning(w.t, w.value, text(w.code), text(w.name), text(w.remedy))
        for w in _listed(_c.soa_world_warnings, world)
    ]


def world_assembly(world: Any) -> list[Move]:
    return [
        Move(text(m.name), getattr(m, "from"), m.to) for m in _listed(_c.soa_world_assembly, world)
    ]


def world_parts(world: Any) -> list[PartInfo]:
    return [
        PartInfo(
            text(p.name),
            p.limits,
            p.stops,
            tuple(p.stop_stiffness),
            tuple(p.stop_damping),
            p.shapes,
            p.collisions,
            p.in_use,
            bool(p.moves),
            bool(p.floats),
            p.mass,
            bool(p.can_touch),
            {name: getattr(p.law, name) for name in _LAW_NUMBERS},
        )
        for p in _listed(_c.soa_world_parts, world)
    ]


def world_gaps(world: Any) -> list[Gap]:
    return [
        Gap(text(g.part), text(g.link), text(g.mesh) if g.mesh else None, text(g.fault))
        for g in _listed(_c.soa_world_gaps, world)
    ]


def world_loops(world: Any) -> Any:
    """The constraints of a world as a soa_constraint_list, whose names belong to the world; None:
    it has none.
    """
    constraints = _c.soa_world_constraints(world)
    count = int(_c.soa_constraints_count(constraints)) if constraints else 0
    if not count:
        return None
    definitions = (_c.soa_constraint_def * count)()
    for number in range(count):
        check(_c.soa_constraints_get_def(constraints, number, byref(definitions[number])))
        definitions[number].name = _c.soa_constraints_name(constraints, number)
    return _c.soa_constraint_list(count, cast(definitions, POINTER(_c.soa_constraint_def)))


# --- scenario files -------------------------------------------------------------------------------
LAWS = (
    "joint-pd",
    "inverse-dynamics",
    "passivity",
    "decoupled",
    "operational",
    "impedance",
    "hybrid",
    "base-hold",
    "coordination",
    "external",
)
JOINT_LAWS = LAWS[:4]
_CONTACT_LAWS = ("paper", "safe", "hunt-crossley", "linear")
_METHODS = ("explicit", "implicit", "cvode", "fixed")


def scenario_keys() -> dict[str, list[str]]:
    """All keys of scenario files by section, as docs/scenarios.md explains them.

    >>> import soa.scenarios
    >>> soa.scenarios.scenario_keys()["recording"]
    ['rate', 'checkpoint']
    """
    found: dict[str, list[str]] = {}
    section = c_char_p()
    index = 0
    while (key := _c.soa_scenario_key(index, byref(section))) is not None:
        found.setdefault(text(section.value), []).append(text(key))
        index += 1
    return found


def _values(struct: Any, keys: list[str]) -> dict[str, Any]:
    """Numbers, flags, words and lists of numbers of a struct, those that are keys of a file."""
    found: dict[str, Any] = {}
    for name, *_ in struct._fields_:
        value = getattr(struct, name)
        if name not in keys:
            continue
        if isinstance(value, bytes):
            found[name] = text(value)
        elif isinstance(value, bool | int | float):
            found[name] = value
        elif hasattr(value, "_length_") and isinstance(value[0], float):
            found[name] = value[:]
    return found


def scenario_defaults(section: str, law: str | None = None) -> dict[str, Any]:
    """What keys of a section have when a file leaves them out: numbers, flags and words, in SI
    units, angles in rad.

    section: "scenario", "parts", "contacts", "control", "estimate", "sensors", "actions",
    "integration", "recording", "success". law: of "actions" only, the law that acts: "joint-pd",
    "impedance", ... Keys without a value of their own are not there: those that must be given,
    lists, places, and what is derived from the machine. A key belongs to a file only where it has a
    meaning there: the reader says so if it has not.

    >>> import soa.scenarios
    >>> soa.scenarios.scenario_defaults("actions", "impedance")["stiffness"]    # angular, linear
    [50.0, 500.0]
    >>> soa.scenarios.scenario_defaults("integration")["method"]
    'explicit'
    """
    keys = scenario_keys()
    if (section == "actions") != (law is not None):
        raise ValueError(
            f"section is {section!r} and law {law!r}: actions need a law, other sections have none"
        )
    if section == "actions":
        return _action(str(law), keys[section])
    whole = _c.soa_scenario_default(None)
    estimate = {
        "mass": "mass_estimate",
        "inertia": "inertia_estimate",
        "damping": "damping_estimate",
    }
    structs = {
        "scenario": whole,
        "parts": _c.soa_part_default(None),
        "control": whole.control,
        "contacts": _c.soa_contact_pair_default(None, None),
        "sensors": whole.control.sensors,
        "integration": whole.integration,
        "recording": whole.recording,
        "success": whole.success,
    }
    if section == "estimate":
        return {key: getattr(whole.control, field) for key, field in estimate.items()}
    if section not in structs:
        raise ValueError(
            f"section is {section!r}, expected one of {', '.join(structs)}, estimate, actions"
        )
    found = _values(structs[section], keys[section])
    if section == "parts":  # derived from the machine; a number has another meaning
        for name in ("stop_stiffness", "stop_damping", "collisions", "inertia", "mass", "com"):
            found.pop(name, None)
    if section == "scenario":
        found["gravity"] = [float(x) for x in whole.gravity]
    if section == "contacts":
        found["law"] = _CONTACT_LAWS[found["law"]]
    if section == "integration":
        found["method"] = _METHODS[found["method"]]
    return found


def _action(law: str, keys: list[str]) -> dict[str, Any]:
    if law not in LAWS:
        raise ValueError(f"law is {law!r}, expected one of {', '.join(LAWS)}")
    if law == "external":  # it has no numbers: a program gives its torques
        return {"law": law}
    found = _values(_c.soa_action_default(LAWS.index(law)), keys)
    for name in ("stiffness", "damping"):
        if law in JOINT_LAWS:
            found[name] = found[name][0]
    found.pop("force_rows", None)  # a list of directions in the file
    return {"law": law, **found}


def stock_scenario_text(name: str) -> str:
    """The YAML of a shipped scenario, to start from.

    >>> import soa.scenarios
    >>> soa.scenarios.stock_scenario_text("slope").splitlines()[0][:1] != ""
    True
    """
    given = _c.soa_stock_scenario_text(name.encode())
    if given is None:
        import difflib

        from .scenarios import stock_scenarios

        near = difflib.get_close_matches(name, stock_scenarios(), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise KeyError(
            f"there is no shipped scenario '{name}'{hint} (soa.stock_scenarios() lists them)"
        )
    return text(given)


def scenario_uniform(seed: int, case: int, number: int) -> float:
    """The random number, uniform in [0, 1), that case `case` of a sweep with this seed draws for
    variation `number`.

    >>> import soa.scenarios
    >>> soa.scenarios.scenario_uniform(1, 0, 0) == soa.scenarios.scenario_uniform(1, 0, 0)
    True
    """
    for name, given in (("seed", seed), ("case", case), ("number", number)):
        if not 0 <= given < 1 << 64:
            raise ValueError(f"{name} is {given}, expected a whole number from 0 to 2^64 - 1")
    return float(_c.soa_scenario_uniform(seed, case, number))


__all__ = [
    "JOINT_LAWS",
    "LAWS",
    "Gap",
    "Move",
    "PartInfo",
    "ShapePair",
    "WorldWarning",
    "scenario_defaults",
    "scenario_keys",
    "scenario_uniform",
    "stock_scenario_text",
    "world_assembly",
    "world_gaps",
    "world_loops",
    "world_pairs",
    "world_parts",
    "world_warnings",
]

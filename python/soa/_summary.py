"""The figures of a run as a dict, with the keys that `soa sim --summary` writes."""

from __future__ import annotations

import math
from typing import Any

from ._call import text


def number(x: float) -> float | None:
    """A number, None where it is not finite."""
    return float(x) if math.isfinite(x) else None


def _limits(part: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"part": text(part.name), "limited": part.limits, "stops": part.stops}
    if part.stops:
        entry["stiffness"] = [number(x) for x in part.stop_stiffness]
        entry["damping"] = [number(x) for x in part.stop_damping]
    return entry


def _collisions(part: Any, gaps: list[dict[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = {"part": text(part.name), "shapes": part.collisions, "in_use": part.in_use,
                             "law": "hunt-crossley"}
    for field in ("margin", "stiffness", "exponent", "loss", "friction", "tangential_stiffness", "tangential_damping"):
        entry[field] = number(getattr(part.law, field))
    entry["unusable"] = gaps
    return entry


def _cannot_touch(parts: list[Any], index: int) -> bool:
    """True for a part that moves among shapes of others and has no shape that meets them."""
    others = any(p.shapes + p.collisions for i, p in enumerate(parts) if i != index)
    return others and bool(parts[index].moves) and not parts[index].can_touch


def _lists(s: Any) -> dict[str, Any]:
    parts = [s.parts[i] for i in range(s.part_count)]
    gaps: dict[str, list[dict[str, Any]]] = {}
    for i in range(s.gap_count):
        gap = s.gaps[i]
        gaps.setdefault(text(gap.part), []).append(
            {"link": text(gap.link), "mesh": text(gap.mesh) if gap.mesh else None, "why": text(gap.fault)})
    assembly = [s.assembly[i] for i in range(s.assembly_count)]
    warnings = [s.warnings[i] for i in range(s.warning_count)]
    return {
        "assembly": [{"name": text(m.name), "from": number(getattr(m, "from")), "to": number(m.to)} for m in assembly],
        "warnings": [{"code": text(w.code), "name": text(w.name), "value": number(w.value), "remedy": text(w.remedy)}
                     for w in warnings],
        "limits": [_limits(p) for p in parts if p.limits],
        "collisions": [_collisions(p, gaps.get(text(p.name), [])) for p in parts
                       if p.collisions or text(p.name) in gaps],
        "cannot_touch": [text(p.name) for i, p in enumerate(parts) if _cannot_touch(parts, i)],
    }


def _judgement(s: Any, fault: str | None) -> dict[str, Any]:
    return {
        "held": bool(s.held) and fault is None, "verdict": text(s.verdict),
        "position_error_m": number(s.position_error_m), "attitude_error_deg": number(s.attitude_error_deg),
        "fingers": s.finger_count, "fingers_lost": s.fingers_lost, "fingers_slipped": s.fingers_slipped,
        "slip_worst_m": number(s.slip_worst_m), "internal_force_N": number(s.internal_force_N),
        "internal_force_least_N": number(s.internal_force_least),
        "internal_force_most_N": number(s.internal_force_most),
    }


def summary_dict(s: Any, name: str, seed: int, fault: str | None, drawn: dict[str, float]) -> dict[str, Any]:
    """From a soa_world_summary; fault: why the run did not complete; drawn: the values of a case of a sweep."""
    result: dict[str, Any] = {
        "scenario": name, "seed": seed, "completed": fault is None, "fault": fault, "simulated_s": number(s.t),
        "wall_s": number(s.wall_time), "real_time_factor": number(s.real_time_factor), "ticks": s.ticks,
        "steps": s.steps, "steps_rejected": s.rejected, "evaluations": s.evaluations, "touches": s.touches,
        "releases": s.releases, "slips": s.slips, "below_least_distance": s.saves, "kinetic_J": number(s.kinetic),
        "potential_J": number(s.potential), "contact_stored_J": number(s.stored), "supplied_J": number(s.supplied),
        "viscous_J": number(s.viscous), "coulomb_J": number(0 - s.rubbed), "stops_J": number(0 - s.stopped),
        "contact_work_J": number(s.contact), "disturbance_J": number(s.disturbed),
        "energy_error_rel": number(s.energy_error_rel), "contact_created_J": number(s.contact_created),
        "momentum_error_rel": number(s.momentum_error_rel) if s.is_free else None,
        "closure_error": number(s.closure_error), "constraint_rows": s.constraint_rows,
        "constraint_rank": s.constraint_rank, "redundant": text(s.redundancy),
    }
    if s.judged:
        result.update(_judgement(s, fault))
    result.update(_lists(s))
    result["phase"] = text(s.phase)
    if drawn:
        result["drawn"] = drawn
    return result


__all__ = ["number", "summary_dict"]

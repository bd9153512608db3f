"""Times soa through Python beside its C calls, Pinocchio and MuJoCo through Python.

    python bench/python.py --calls FILE [--json FILE] [--rounds N]     (make bench-python does it)

One arm of 7 joints, 64 random states, one thread.  In each round every call is timed in turn over
a few milliseconds of CPU time; the figure is the median of the rounds, the spread is half the
distance between the quartiles.  The C calls are those of the installed package, called in a loop
by FILE (bench/python_calls.c), so that both sides run the same machine code.  A peer that is not
installed is skipped aloud.  Rows are added to FILE of --json in its form: {"model", "n", "fn",
"lib", "ns"}; fn is fd_python, fd_c, fd_batch_python or fd_batch_c.  `make bench` writes that file
anew.

All answers are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time_ns
from typing import Any

import numpy as np
import soa
from numpy.typing import NDArray
from soa import _c

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))
from peer_models import MuJoCoTwin, PinocchioTwin  # noqa: E402

Array = NDArray[np.float64]
MODEL = "arm7"
STATES = 64
BATCH = 100_000
AGREE = 1e-9
MOST_OVER_C = 700.0  # ns
MOST_BATCH_RATIO = 1.05
PASSES = 40  # over the states, for one sample of a single call


class Calls:
    """The loops of bench/python_calls.c."""

    def __init__(self, path: Path, model: soa.Model) -> None:
        library = ctypes.CDLL(str(path))
        pointer, integer, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_long
        self._aba, self._batch = library.time_aba, library.time_batch
        self._aba.restype = self._batch.restype = ctypes.c_double
        self._aba.argtypes = [
            pointer,
            pointer,
            pointer,
            integer,
            integer,
            *[pointer] * 4,
            long,
            long,
        ]
        self._batch.argtypes = [pointer, pointer, pointer, long, *[pointer] * 4]
        self._model = model
        self._work, self._lanes = ctypes.POINTER(_c.soa_work)(), ctypes.POINTER(_c.soa_batch)()
        for status in (
            _c.soa_work_create(model._pointer, ctypes.byref(self._work)),
            _c.soa_batch_create(model._pointer, ctypes.byref(self._lanes)),
        ):
            if status != _c.SOA_OK:
                raise MemoryError("no work space")

    @staticmethod
    def _address(function: Any) -> Any:
        return ctypes.cast(function, ctypes.c_void_p)

    def aba(self, q: Array, v: Array, tau: Array, out: Array) -> float:
        """Nanoseconds per call."""
        return self._checked(
            self._aba(
                self._address(_c.soa_aba),
                ctypes.cast(self._model._pointer, ctypes.c_void_p),
                ctypes.cast(self._work, ctypes.c_void_p),
                self._model.nq,
                self._model.nv,
                q.ctypes.data,
                v.ctypes.data,
                tau.ctypes.data,
                out.ctypes.data,
                len(q),
                PASSES,
            )
        )

    def batch(self, q: Array, v: Array, tau: Array, out: Array) -> float:
        """Nanoseconds per state."""
        return self._checked(
            self._batch(
                self._address(_c.soa_aba_batch),
                ctypes.cast(self._model._pointer, ctypes.c_void_p),
                ctypes.cast(self._lanes, ctypes.c_void_p),
                len(q),
                q.ctypes.data,
                v.ctypes.data,
                tau.ctypes.data,
                out.ctypes.data,
            )
        )

    @staticmethod
    def _checked(ns: float) -> float:
        if not ns > 0:
            raise RuntimeError("a C call failed")
        return ns


def agree(name: str, found: Array, reference: Array) -> None:
    """Stops unless both are equal to AGREE."""
    error = float(np.abs(found - reference).max() / np.abs(reference).max())
    print(f"  {name}: differs by {error:.0e}")
    if not error <= AGREE:
        raise SystemExit(f"bench: {name} gives other answers")


# --- what is timed --------------------------------------------------------------------------------

Timer = Callable[[], float]


def time_soa(model: soa.Model, states: Sequence[tuple[Array, Array, Array]]) -> Timer:
    """model.aba(q, v, tau) in a loop over the states."""

    def sample() -> float:
        start = process_time_ns()
        for _ in range(PASSES):
            for q, v, tau in states:
                model.aba(q, v, tau)
        return (process_time_ns() - start) / (PASSES * len(states))

    return sample


def time_loop(states: Sequence[tuple[Array, Array, Array]]) -> Timer:
    """The loop alone."""

    def sample() -> float:
        start = process_time_ns()
        for _ in range(PASSES):
            for _q, _v, _tau in states:
                pass
        return (process_time_ns() - start) / (PASSES * len(states))

    return sample


def time_pinocchio(model: soa.Model, q: Array, v: Array, tau: Array) -> Timer:
    """pin.aba(model, data, q, v, tau) in the same loop."""
    import pinocchio as pin

    twin = PinocchioTwin(model)
    peer, data, B = twin.model, twin.data, twin.rates.B
    states = [
        (twin.q_to(a), B @ b, twin.rates.force_to(c)) for a, b, c in zip(q, v, tau, strict=True)
    ]
    agree(
        f"pin.aba, Pinocchio {pin.__version__}",
        twin.rates.a_from(pin.aba(peer, data, *states[1])),
        model.aba(q[1], v[1], tau[1]),
    )

    def sample() -> float:
        start = process_time_ns()
        for _ in range(PASSES):
            for state_q, state_v, state_tau in states:
                pin.aba(peer, data, state_q, state_v, state_tau)
        return (process_time_ns() - start) / (PASSES * len(states))

    return sample


def time_mujoco(model: soa.Model, q: Array, v: Array, tau: Array) -> Timer:
    """mujoco.mj_forward(model, data) of one state, which is not written anew.

    Constraints, passive forces, actuators and sensors are off.
    """
    import mujoco

    twin = MuJoCoTwin(model)
    peer, data = twin.model, twin.data
    off = mujoco.mjtDisableBit
    peer.opt.disableflags |= (
        off.mjDSBL_CONSTRAINT
        | off.mjDSBL_SPRING
        | off.mjDSBL_DAMPER
        | off.mjDSBL_ACTUATION
        | off.mjDSBL_SENSOR
    )
    rates = twin.set_state(q[1], v[1], tau[1])
    mujoco.mj_forward(peer, data)
    agree(
        f"mujoco.mj_forward, MuJoCo {mujoco.__version__}",
        rates.a_from(data.qacc),
        model.aba(q[1], v[1], tau[1]),
    )

    def sample() -> float:
        start = process_time_ns()
        for _ in range(PASSES):
            for _state in itertools.repeat(None, STATES):
                mujoco.mj_forward(peer, data)
        return (process_time_ns() - start) / (PASSES * STATES)

    return sample


# --- rounds and report ----------------------------------------------------------------------------


def measure(timers: dict[str, Timer], rounds: int) -> dict[str, tuple[float, float]]:
    """Median and half the distance between the quartiles, in ns; all in turn within a round."""
    samples: dict[str, list[float]] = {name: [] for name in timers}
    names = list(timers)
    for number in range(rounds + 1):
        for k in range(len(names)):
            name = names[(k + number) % len(names)]
            ns = timers[name]()
            if number > 0:  # the first round warms up
                samples[name].append(ns)
    result = {}
    for name, found in samples.items():
        lower, median, upper = statistics.quantiles(found, n=4)
        result[name] = median, (upper - lower) / 2
    return result


def add_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Puts the rows behind those of the file; rows of an earlier run are replaced."""
    old: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    keys = {(row["model"], row["n"], row["fn"], row["lib"]) for row in rows}
    kept = [row for row in old if (row["model"], row["n"], row["fn"], row["lib"]) not in keys]
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in kept + rows) + "\n]\n")


def goal(text: str, found: float, limit: float, unit: str) -> None:
    verdict = "met" if found <= limit else "NOT MET"
    print(f"  {text:<62} {found:8.3f} {unit:<3} goal {limit:.3f}  {verdict}")


def main() -> None:
    """Measures, prints, and writes the rows."""
    parser = argparse.ArgumentParser(
        description="soa through Python beside C, Pinocchio and MuJoCo"
    )
    parser.add_argument(
        "--calls", type=Path, required=True, help="the library made of bench/python_calls.c"
    )
    parser.add_argument("--json", type=Path, help="add rows to this file")
    parser.add_argument("--rounds", type=int, default=101)
    given = parser.parse_args()
    soa.set_threads(1)
    model = soa.Model.open(MODEL, ideal=True)
    rng = np.random.default_rng(20240501)
    q, v, tau = rng.uniform(-2, 2, (BATCH, model.nq)), *rng.normal(size=(2, BATCH, model.nv))
    out = np.empty((BATCH, model.nv))
    few_q, few_v, few_tau = (np.ascontiguousarray(x[:STATES]) for x in (q, v, tau))
    states = list(zip(few_q, few_v, few_tau, strict=True))
    calls = Calls(given.calls, model)
    print(
        f"{MODEL}, soa {soa.__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}"
    )
    calls.batch(q, v, tau, out)
    agree("the batch of the C call", out, model.aba(q, v, tau))

    timers: dict[str, Timer] = {
        "loop": time_loop(states),
        "python": time_soa(model, states),
        "c": lambda: calls.aba(few_q, few_v, few_tau, out),
    }
    for name, make in (("pinocchio", time_pinocchio), ("mujoco3", time_mujoco)):
        try:
            timers[name] = make(model, few_q, few_v, few_tau)
        except ImportError as error:
            print(f"  {name}: SKIPPED, {error}; scripts/peers.sh installs it")
    single = measure(timers, given.rounds)

    def batch_python() -> float:
        start = process_time_ns()
        model.aba(q, v, tau)
        return (process_time_ns() - start) / BATCH

    batch = measure(
        {"python": batch_python, "c": lambda: calls.batch(q, v, tau, out)},
        max(2, given.rounds // 4),
    )

    titles = {
        "python": "soa, model.aba(q, v, tau)",
        "c": "soa, soa_aba in C",
        "pinocchio": "pin.aba(model, data, q, v, tau)",
        "mujoco3": "mujoco.mj_forward(model, data)",
        "loop": "the loop alone (in all calls through Python)",
    }
    print(f"\n  one state, ns: median and half the quartiles' distance of {given.rounds} rounds")
    for name, title in titles.items():
        if name in single:
            print(f"    {title:<46} {single[name][0]:9.1f} ± {single[name][1]:.1f}")
    print(f"  a batch of {BATCH:,}, ns per state")
    for name, title in (("python", "model.aba"), ("c", "soa_aba_batch in C")):
        print(f"    soa, {title:<41} {batch[name][0]:9.1f} ± {batch[name][1]:.1f}")
    print("\nGoals")
    goal("over the C call, ns", single["python"][0] - single["c"][0], MOST_OVER_C, "ns")
    for name in ("pinocchio", "mujoco3"):
        if name in single:
            goal(f"share of {titles[name]}", single["python"][0] / single[name][0], 1.0, "")
    goal(
        f"a batch of {BATCH:,}, share of the C call",
        batch["python"][0] / batch["c"][0],
        MOST_BATCH_RATIO,
        "",
    )

    rows = [
        ("fd_python", "soa", single["python"]),
        ("fd_c", "soa", single["c"]),
        ("fd_batch_python", "soa", batch["python"]),
        ("fd_batch_c", "soa", batch["c"]),
    ]
    rows += [
        ("fd_python", name, single[name]) for name in ("pinocchio", "mujoco3") if name in single
    ]
    if given.json:
        add_rows(
            given.json,
            [
                {"model": MODEL, "n": model.nv, "fn": fn, "lib": lib, "ns": float(f"{ns:.6g}")}
                for fn, lib, (ns, _) in rows
            ],
        )
        print(f"\n{len(rows)} rows written to {given.json}")


if __name__ == "__main__":
    main()

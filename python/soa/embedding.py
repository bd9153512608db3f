"""Closed chains in primary joints: WD89's embedding.

Of the coordinates of a model some are primary, Q; the loops give the others:
`q = U(Q)`, `v = E(Q) @ Qd`, `tau = H(Q) @ Qdd + C(Q, Qd) + G(Q)`.

>>> import numpy as np, soa
>>> from soa.embedding import Embedding
>>> bar = soa.Model.open("four-bar")
>>> crank = bar.body(1).joint
>>> one = Embedding(bar, [crank], bar.constraints, guess=bar.constraints.assemble(bar.neutral() + 0.3))
>>> Q, Qd, tau = np.array([0.4]), np.array([1.0]), np.array([2.0])
>>> Qdd = one.fd(Q, Qd, tau)
>>> np.allclose(one.H(Q) @ Qdd + one.C(Q, Qd) + one.G(Q), tau)
True
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._call import Array, check, new_report, numbers, vector
from ._own import C as _c
from ._own import Guard, State, bytes_pointer, chosen, needed, new_work, release
from .frames import Wrench
from .taylor import Taylor, _struct

if TYPE_CHECKING:
    from .constraints import Constraints
    from .model import Model

EmbeddingMethod = Literal["columns", "sweeps"]
METHODS: tuple[EmbeddingMethod, ...] = ("columns", "sweeps")
Function = Callable[[NDArray[Any]], None]
"""U: fills in the secondary numbers of q, an array of `soa.taylor.Taylor`."""


@dataclass(frozen=True)
class EmbeddingState:
    """Positions, velocities, accelerations of the whole tree and E, (nv, n).

    q (nq,), v (nv,), a (nv,): rad and m, per s, per s^2. E: dv of the tree over those of the
    primary joints, v = E Qd.
    """

    q: Array
    v: Array
    a: Array
    E: Array


@dataclass(frozen=True)
class EmbeddingTerms:
    """H (n, n); C (n,): friction, centrifugal and Coriolis terms, already times Qd; G (n,): gravity, springs, wrenches.

    Of H Qdd + C + G = the torques of the primary joints, n of them. q (nq,): of the whole tree.
    N m and N.
    """

    q: Array
    H: Array
    C: Array
    G: Array


class Embedding:
    """A closed machine in the coordinates of its primary joints.

    primary: names of joints, numbers of degrees of freedom, or nv truth values; a spherical or free joint is primary as
    a whole.  The others follow from `constraints` by Newton's method, or from `function`, U as a Python function: it
    gets an array of nq `Taylor` numbers, the primary ones filled in, and writes the others with NumPy's functions.
    With both, the constraints are checked.  branch > 0: how far, rad or m, a secondary coordinate may be from the
    guess.

    Q has `nq` numbers, Qd, Qdd and tau `nv`, in the model's order.  `guess`, nq numbers of the model, chooses the
    branch of the loops; None: the embedding's own guess, which is neutral unless given here.
    """

    def __init__(
        self,
        model: Model,
        primary: Sequence[str | int] | ArrayLike,
        constraints: Constraints | None = None,
        function: Function | None = None,
        branch: float = 0.0,
        guess: ArrayLike | None = None,
    ) -> None:
        if constraints is not None and constraints.model is not model:
            raise ValueError("the constraints belong to another model")
        self.model = model
        self.constraints = constraints
        self.guess: Array = model.neutral() if guess is None else needed(vector("guess", guess, model.nq)).copy()
        self._guard = Guard("Embedding")
        flags = chosen(model, "primary", primary)
        assert flags is not None
        self.primary = flags.astype(bool)
        self._q_slots = np.concatenate(
            [np.arange(body.q.start, body.q.stop) for body in model.bodies if self.primary[body.v].any()]
            or [np.zeros(0)]
        ).astype(int)
        definition = _c.soa_embedding_default(bytes_pointer(flags))
        definition.branch = float(branch)
        callback = None
        if function is not None:
            callback = _c.soa_embedding_fn(_Function(function, self._guard, model.nq))
            definition.function = callback
        if constraints is not None:
            definition.constraints = constraints._pointer
        report = new_report()
        self._pointer = POINTER(_c.soa_embedding)()
        check(_c.soa_embedding_create(model._pointer, byref(definition), byref(self._pointer), byref(report)), report)
        self._work = new_work(model)
        weakref.finalize(self, _release, self._pointer, self._work, model, constraints, callback).atexit = False

    @property
    def nq(self) -> int:
        """Numbers in Q."""
        return int(_c.soa_embedding_nq(self._pointer))

    @property
    def nv(self) -> int:
        """Numbers in Qd, Qdd and tau."""
        return int(_c.soa_embedding_nv(self._pointer))

    def Q(self, q: ArrayLike) -> Array:
        """The primary numbers of a configuration of the model."""
        return np.array(needed(vector("q", q, self.model.nq))[self._q_slots])

    def Qd(self, v: ArrayLike) -> Array:
        """The primary numbers of velocities, accelerations or torques of the model."""
        return np.array(needed(vector("v", v, self.model.nv))[self.primary])

    @contextlib.contextmanager
    def _call(self) -> Iterator[Callable[[int, str], None]]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._guard)
            if self.constraints is not None:
                stack.enter_context(self.constraints._guard)

            def finish(status: int, what: str) -> None:
                if self.constraints is not None:
                    self.constraints._guard.check(_c.SOA_OK)  # what a drive raised
                self._guard.check(status, None, what)

            yield finish

    def _input(
        self,
        Q: ArrayLike,
        Qd: ArrayLike | None = None,
        Qdd: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
        t: float = 0.0,
    ) -> State:
        return State(
            self.model,
            needed(vector("Q", Q, self.nq)),
            Qd,
            Qdd,
            tau,
            wrenches,
            t,
            self.nq,
            self.nv,
            ("Q", "Qd", "Qdd", "tau"),
        )

    def _start(self, guess: ArrayLike | None) -> Array:
        return self.guess.copy() if guess is None else needed(vector("guess", guess, self.model.nq)).copy()

    def state(
        self,
        Q: ArrayLike,
        Qd: ArrayLike | None = None,
        Qdd: ArrayLike | None = None,
        *,
        guess: ArrayLike | None = None,
        t: float = 0.0,
    ) -> EmbeddingState:
        """q, v and vdot of the whole tree, and E."""
        given, q, n = self._input(Q, Qd, Qdd, t=t), self._start(guess), self.model.nv
        v, a, E = np.zeros(n), np.zeros(n), np.zeros((n, self.nv))
        with self._call() as finish:
            finish(
                _c.soa_embedding_state(
                    self._pointer, self._work, given.pointer, numbers(q), numbers(v), numbers(a), numbers(E)
                ),
                "embedding state",
            )
        return EmbeddingState(q, v, a, E)

    def _close_machine(self, machine: Any, Q: ArrayLike, Qd: ArrayLike | None, t: float) -> tuple[Array, Array]:
        """Eq and ed of an operator machine; q and v of the tree."""
        given, q, v = self._input(Q, Qd, t=t), self._start(None), np.zeros(self.model.nv)
        with self._call() as finish:
            finish(
                _c.soa_embedding_close_machine(
                    self._pointer, self._work, given.pointer, machine, numbers(q), numbers(v)
                ),
                "embedding as operators",
            )
        return q, v

    def terms(
        self,
        Q: ArrayLike,
        Qd: ArrayLike | None = None,
        *,
        wrenches: Sequence[Wrench] = (),
        guess: ArrayLike | None = None,
        t: float = 0.0,
    ) -> EmbeddingTerms:
        """H, C times Qd, and G together; H by one inverse dynamics of the tree for each column."""
        given, q, n = self._input(Q, Qd, wrenches=wrenches, t=t), self._start(guess), self.nv
        H, C, G = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        with self._call() as finish:
            finish(
                _c.soa_embedding_terms(
                    self._pointer, self._work, given.pointer, numbers(q), numbers(H), numbers(C), numbers(G)
                ),
                "embedding terms",
            )
        return EmbeddingTerms(q, H, C, G)

    def U(self, Q: ArrayLike, *, guess: ArrayLike | None = None, t: float = 0.0) -> Array:
        """The whole configuration q = U(Q)."""
        return self.state(Q, guess=guess, t=t).q

    def E(self, Q: ArrayLike, *, guess: ArrayLike | None = None, t: float = 0.0) -> Array:
        """E of `v = E @ Qd`, (nv, n)."""
        return self.state(Q, guess=guess, t=t).E

    def H(self, Q: ArrayLike, *, guess: ArrayLike | None = None, t: float = 0.0) -> Array:
        """The mass matrix in primary coordinates, (n, n)."""
        return self.terms(Q, guess=guess, t=t).H

    def C(self, Q: ArrayLike, Qd: ArrayLike, *, guess: ArrayLike | None = None, t: float = 0.0) -> Array:
        """Friction, centrifugal and Coriolis terms, already times Qd, (n,)."""
        return self.terms(Q, Qd, guess=guess, t=t).C

    def G(
        self, Q: ArrayLike, *, wrenches: Sequence[Wrench] = (), guess: ArrayLike | None = None, t: float = 0.0
    ) -> Array:
        """Gravity, springs and external wrenches, (n,)."""
        return self.terms(Q, wrenches=wrenches, guess=guess, t=t).G

    def id(
        self,
        Q: ArrayLike,
        Qd: ArrayLike | None = None,
        Qdd: ArrayLike | None = None,
        *,
        wrenches: Sequence[Wrench] = (),
        guess: ArrayLike | None = None,
        t: float = 0.0,
    ) -> Array:
        """What the primary joints must do, (n,), for Qdd."""
        given, q, tau = self._input(Q, Qd, Qdd, None, wrenches, t), self._start(guess), np.zeros(self.nv)
        with self._call() as finish:
            finish(
                _c.soa_embedding_id(self._pointer, self._work, given.pointer, numbers(q), numbers(tau)), "embedding id"
            )
        return tau

    def fd(
        self,
        Q: ArrayLike,
        Qd: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        method: EmbeddingMethod = "columns",
        wrenches: Sequence[Wrench] = (),
        guess: ArrayLike | None = None,
        t: float = 0.0,
    ) -> Array:
        """Qdd from tau on the primary joints: by "columns" of H, or by "sweeps" of articulated bodies."""
        if method not in METHODS:
            raise ValueError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
        given, q, Qdd = self._input(Q, Qd, None, tau, wrenches, t), self._start(guess), np.zeros(self.nv)
        with self._call() as finish:
            finish(
                _c.soa_embedding_fd(
                    self._pointer, self._work, METHODS.index(method), given.pointer, numbers(q), numbers(Qdd)
                ),
                "embedding fd",
            )
        return Qdd

    def __repr__(self) -> str:
        return f"<soa.Embedding of '{self.model.name}': {self.nv} primary of {self.model.nv}>"


class _Function:
    """A Python U as C calls it; an exception stops the C call and is raised after it."""

    def __init__(self, function: Function, guard: Guard, nq: int) -> None:
        self._function = function
        self._guard = guard
        self._nq = nq

    def __call__(self, _user: object, q: Any) -> int:
        try:
            array = np.empty(self._nq, dtype=object)
            for i in range(self._nq):
                array[i] = Taylor(q[i].c[: q[i].order + 1])
            self._function(array)
            for i in range(self._nq):
                struct = _struct(array[i])
                if struct is None:
                    raise TypeError(f"U wrote {array[i]!r} into q[{i}], expected a number or Taylor")
                q[i] = struct
        except BaseException as problem:  # carried out of C
            self._guard.failed = self._guard.failed or problem
            return 1
        return 0


def _release(embedding: Any, work: Any, *_kept: object) -> None:
    release((_c.soa_embedding_free, embedding), (_c.soa_work_free, work))


__all__ = ["Embedding", "EmbeddingState", "EmbeddingTerms"]

"""The spatial operator algebra: operators as Python objects, which run as O(n) sweeps or become matrices.

All operators and vectors of the papers are attributes of this module: `phi`, `psi`, `H`, `M`, `P`, `D`, `G`, `K`,
`Mass`, `T`, `thd`, `thdd`, ...; `leaves()` lists them with their meaning.  `@` is the product, `.T` the adjoint,
`.inv()` the inverse:

>>> import soa
>>> from soa.operators import D, H, I, K, Mass, identity, phi
>>> mass = (I + H @ phi @ K) @ D @ (I + H @ phi @ K).T
>>> print(mass)
(I + H phi K) D (I + H phi K)'
>>> arm = soa.Model.open("arm7")
>>> q = arm.neutral() + 0.2
>>> bool(abs(arm.op(mass, q=q) - arm.mass(q)).max() < 1e-12)
True
>>> identity(f"{Mass} = {mass}").proved
True

In this module `a` is the papers' vector of bias accelerations, `b` that of bias forces, `g` gravity; `thdd` is the
vector of joint accelerations.  A model with loops is its spanning tree here.  Expressions, machines and proofs may be
used from any number of threads; they take turns.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Sequence
from ctypes import CDLL, POINTER, byref, c_char_p, c_int, c_size_t, c_void_p, cast, create_string_buffer, string_at
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ._call import Array, check, new_report, numbers, text, vector
from ._callbacks import Carrier
from ._errors import InputError, SoaError, error, status_name
from ._own import C as _c
from .frames import Axes, Wrench

if TYPE_CHECKING:
    from .constraints import Constraints
    from .embedding import Embedding
    from .grasp import Grasp
    from .model import Model

    def __getattr__(name: str) -> Expr: ...


Space = Literal["one", "joint", "link", "edge", "tip", "base", "constraint", "object", "primary"]
SPACES: tuple[Space, ...] = ("one", "joint", "link", "edge", "tip", "base", "constraint", "object", "primary")
Causality = Literal["memoryless", "causal", "anticausal", "mixed"]
CAUSALITIES: tuple[Causality, ...] = ("memoryless", "causal", "anticausal", "mixed")
_ROOM = 4000  # bytes for a message
_lock = RLock()  # parts of expressions are counted without locks


class _Unlocked:
    """Frees a C object with the lock held."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, pointer: Any) -> None:
        with _lock:
            self._function(pointer)


_free = _Unlocked(_c.soa_expr_free)


def _space(space: str) -> int:
    if space not in SPACES:
        raise ValueError(f"space is {space!r}, expected one of {', '.join(SPACES)}")
    return SPACES.index(space)


def _space_name(number: int) -> str:
    return text(_c.soa_space_name(number))


def _printed(function: Any, pointer: Any) -> str:
    length = function(pointer, None, 0)
    room = create_string_buffer(length + 1)
    function(pointer, room, length + 1)
    return room.value.decode()


class Expr:
    """An operator, or a vector, written with the operators of this module; immutable.

    A vector is an expression whose domain is `"one"`.  Products, sums and multiples are checked when they are made:

    >>> from soa.operators import H, T, phi, Mass
    >>> (Mass.inv() @ T).codomain
    'joint'
    >>> H @ H
    Traceback (most recent call last):
        ...
    soa._errors.InputError: H @ H: the right factor gives joint, the left one takes link
    """

    __slots__ = ("__weakref__", "_pointer", "_shape")
    __array_ufunc__ = None  # numbers of NumPy leave `number * expr` to __rmul__

    _pointer: Any
    _shape: tuple[Any, ...] | None

    def __init__(self) -> None:
        raise TypeError("make expressions with the operators of soa.operators, parse(), form() or variable()")

    @classmethod
    def _adopt(cls, pointer: Any, why: str = "") -> Expr:
        if not pointer:
            raise error(_c.SOA_E_ARGUMENT, why or "no such expression")
        made = object.__new__(cls)
        made._pointer = pointer
        made._shape = None
        weakref.finalize(made, _free, pointer).atexit = False
        return made

    # --- building ---------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Expr | AnyIdentity) -> Expr:
        if isinstance(other, AnyIdentity):
            return self * other.factor
        if not isinstance(other, Expr):
            raise self._no_numbers("@", other)
        with _lock:
            return Expr._adopt(
                _c.soa_expr_product(self._pointer, other._pointer),
                f"{self} @ {other}: the right factor gives {other.codomain}, the left one takes {self.domain}",
            )

    def _sum(self, other: Expr | AnyIdentity, function: Any, sign: str) -> Expr:
        if isinstance(other, AnyIdentity):
            other = other.of(self.domain)
        if not isinstance(other, Expr):
            return NotImplemented
        with _lock:
            return Expr._adopt(
                function(self._pointer, other._pointer),
                f"{self} {sign} {other}: the first maps "
                f"{self.domain} to {self.codomain}, the second {other.domain} to {other.codomain}",
            )

    def __add__(self, other: Expr | AnyIdentity) -> Expr:
        return self._sum(other, _c.soa_expr_sum, "+")

    def __sub__(self, other: Expr | AnyIdentity) -> Expr:
        return self._sum(other, _c.soa_expr_difference, "-")

    def __mul__(self, factor: float) -> Expr:
        if isinstance(factor, np.ndarray):
            raise self._no_numbers("*", factor)
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        if not np.isfinite(factor):
            raise ValueError(f"{factor} is not a finite number")
        with _lock:
            return Expr._adopt(_c.soa_expr_scale(float(factor), self._pointer))

    __rmul__ = __mul__

    def __rmatmul__(self, other: object) -> NoReturn:
        raise self._no_numbers("@", other)

    def _no_numbers(self, sign: str, other: object) -> TypeError:
        return TypeError(
            f"'{self}' {sign} {type(other).__name__}: numbers are given where an expression is computed. Name them: "
            f"model.op(\"({self}) x\", q=q, x=array), or soa.operators.variable(\"x\", \"{self.domain}\")"
        )

    def __truediv__(self, divisor: float) -> Expr:
        return self * (1.0 / divisor)

    def __neg__(self) -> Expr:
        return self * -1.0

    def __pos__(self) -> Expr:
        return self

    @property
    def T(self) -> Expr:
        """The adjoint; operators are real, so that it is the transpose."""
        with _lock:
            return Expr._adopt(_c.soa_expr_adjoint(self._pointer), f"{self} is a vector and has no adjoint")

    H = T

    def inv(self) -> Expr:
        """The inverse.  Whether it exists shows when it is computed."""
        with _lock:
            return Expr._adopt(
                _c.soa_expr_inverse(self._pointer), f"inverse of {self}: it maps {self.domain} to {self.codomain}"
            )

    def pinv(self) -> Expr:
        """The inverse of least norm (Moore and Penrose); `Machine.rank` tells the rank that it found.

        >>> from soa.operators import J
        >>> print(J.pinv())
        pinv(J)
        """
        with _lock:
            return Expr._adopt(_c.soa_expr_pseudoinverse(self._pointer), f"{self} has no inverse of least norm")
    # --- derivatives ------------------------------------------------------------------------------------------------

    def d(self) -> Expr:
        """The derivative in the direction dq, dthd, dthdd, dT, df0, as an expression.

        `Machine.evaluate` and `dense` take the direction as dq, dv, da, dtau, df0.  dq lies in the tangent space of q,
        as `Model.integrate` takes it.

        >>> from soa.operators import V, phi
        >>> print(phi.d())
        phi E_phi Theta phi
        >>> print(V.d(), "=", V.d().definition)
        dV = phi' (Theta' E_phi' V + dH' thd + H' dthd)
        """
        return self._differentiated()[0]

    def differentiation(self) -> list[tuple[str, str]]:
        """The rules that `d` uses: pairs of a reason and a rule or form.

        >>> from soa.operators import E_phi, phi
        >>> (phi @ E_phi).differentiation()[0]
        ('phi shifts motions rigidly: dE_phi = E_phi Theta', 'd(E_phi) = E_phi Theta')
        """
        return self._differentiated()[1]

    def _differentiated(self) -> tuple[Expr, list[tuple[str, str]]]:
        steps: list[tuple[str, str]] = []
        collect = _c.soa_derivation_fn(lambda _user, rule, result: steps.append((text(rule), text(result))))
        made = POINTER(_c.soa_expr)()
        with _lock:
            status = _c.soa_expr_differentiate(self._pointer, collect, None, byref(made))
            if status == _c.SOA_E_ARGUMENT:
                raise error(status, f"d({self}): there is no rule for it: second derivatives, Delta and the like, 300 operators")
            check(status, None, f"d({self})")
            return Expr._adopt(made), steps

    def jacobian(self, argument: str) -> Expr:
        """The derivative of a vector with respect to one argument of the state, as an operator.

        argument: "q", "v", "a", "tau" or "f0".  Expressions with psi, P, D, G, K or Mc have none that is made of
        operators; `Machine.jacobian` takes any.

        >>> from soa.operators import V, form
        >>> print(V.jacobian("v"))
        phi' H'
        >>> form("ID").jacobian("q").domain
        'joint'
        """
        made = POINTER(_c.soa_expr)()
        with _lock:
            status = _c.soa_expr_jacobian(self._pointer, _direction(argument), byref(made))
            if status == _c.SOA_E_NO_CONVERGENCE:
                raise error(status, f"jacobian of {self}: dP or dMc occurs; Machine.jacobian computes it by columns")
            if status == _c.SOA_E_ARGUMENT:
                raise error(status, f"jacobian of {self}: expected a vector without derivatives in it")
            check(status, None, f"jacobian of {self}")
            return Expr._adopt(made)

    # --- looking inside ---------------------------------------------------------------------------------------------

    @property
    def domain(self) -> str:
        """The space it maps from: `"one"` for a vector, `"joint"`, `"link"`, `"edge"`, `"tip"`, `"base"`."""
        return _space_name(_c.soa_expr_domain(self._pointer))

    @property
    def codomain(self) -> str:
        """The space it maps to."""
        return _space_name(_c.soa_expr_codomain(self._pointer))

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector."""
        return self.domain == "one"

    @property
    def causality(self) -> str:
        """Which way information runs: "memoryless", "causal" (tips to base), "anticausal" or "mixed"."""
        return CAUSALITIES[int(_c.soa_expr_causality(self._pointer))]

    @property
    def meaning(self) -> str:
        """What an operator or vector of the algebra is; empty for anything else."""
        return text(_info(self._pointer).what)

    @property
    def definition(self) -> Expr | None:
        """The definition of a leaf in terms of others; None: it has none.

        >>> from soa.operators import Mass
        >>> print(Mass.definition)
        H phi M phi' H' + Jr
        """
        found = _info(self._pointer).definition
        return None if found is None else parse(text(found))

    @property
    def parts(self) -> list[Expr]:
        """The factors of a product, terms of a sum, or what a multiple, adjoint or inverse is made of, as expressions.
        """
        made = []
        with _lock:
            for index in range(_info(self._pointer).count):
                part = _c.soa_expr_part(self._pointer, index)
                made.append(Expr._adopt(_c.soa_expr_scale(1.0, part)))
        return made

    def variables(self) -> dict[str, tuple[str, str]]:
        """Names of the caller's vectors and operators in it, with the spaces they map from and to."""
        return {name: (_space_name(a), _space_name(b)) for name, a, b, _ in _callers(self._pointer)}

    def _declared(self) -> dict[str, str | tuple[str, ...]]:
        """The same as `parse` takes them."""
        blocks = self._with_blocks()
        return {n: (*ends, "blocks") if n in blocks else ends for n, ends in self.variables().items()}

    def _with_blocks(self) -> set[str]:
        """Those of the caller's operators that have one block for each body."""
        return {name for name, _, _, blocks in _callers(self._pointer) if blocks}

    def __str__(self) -> str:
        return _printed(_c.soa_expr_print, self._pointer)

    def __repr__(self) -> str:
        return f"<soa.Expr {self}: {self.domain} -> {self.codomain}>"

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def latex(self) -> str:
        r"""The expression in LaTeX.

        >>> from soa.operators import form
        >>> form("compliance").latex()
        'B^* \\psi^* H^* D^{-1} H \\psi B f(0)'
        """
        return _latex(self._pointer, 0)

    def _key(self) -> tuple[Any, ...]:
        if self._shape is None:
            self._shape = (str(self), *sorted(_callers(self._pointer)))
        return self._shape

    def __eq__(self, other: object) -> bool:
        """Whether two expressions are written alike; `identity` decides whether they are equal as operators."""
        return isinstance(other, Expr) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    # --- rewriting --------------------------------------------------------------------------------------------------

    def _improved(self, bound: int) -> tuple[Expr, list[tuple[str, str]]]:
        steps: list[tuple[str, str]] = []
        collect = _c.soa_derivation_fn(lambda _user, rule, result: steps.append((text(rule), text(result))))
        better = POINTER(_c.soa_expr)()
        with _lock:
            check(_c.soa_expr_improve(self._pointer, bound, collect, None, byref(better)), None, f"improve {self}")
            return Expr._adopt(better), steps

    def improve(self, most_forms: int = 2000) -> Expr:
        """An equal expression whose sweeps cost least, found among at most `most_forms` forms.

        >>> from soa.operators import Mass, T
        >>> print((Mass.inv() @ T).improve())
        (I - H psi K)' inv(D) (I - H psi K) T
        """
        return self._improved(most_forms)[0]

    def derive(self, most_forms: int = 0, to: Expr | str | None = None) -> Derivation:
        """How `improve` gets there: each form with the rule that leads to it; the first is the start.

        to: another form, or its text; then every step on the way from this one to that one (for machines without
        rotors).  At most `most_forms` forms are tried (0: 2,000; 4,000 from each end with `to`).  A SoaError says that
        no way was found, and whether the two are equal nevertheless.

        >>> from soa.operators import J, Mass, T, form
        >>> print((Mass.inv() @ T).derive())
            inv(Mass) T
          = (I - H psi K)' inv(D) (I - H psi K) T        [RJK91 (13), inverse of the innovations factorisation]
        >>> print((J @ Mass.inv()).derive(to="B' psi' H' inv(D) (I - H psi K)"))
            J inv(Mass)
          = B' phi' H' inv(Mass)        [definition of J]
          = B' phi' H' (I - H psi K)' inv(D) (I - H psi K)        [RJK91 (13), inverse of the innovations factorisation]
          = B' psi' H' inv(D) (I - H psi K)        [adjoint of RK88-I (a.35), RJK91 lemma 4]
        >>> len(form("FD1").derive(to=form("FD4"))) - 1
        8
        """
        if to is None:
            return Derivation(self._improved(most_forms)[1], self._declared())
        goal = to if isinstance(to, Expr) else self._read_as(to)
        steps: list[tuple[str, str]] = []
        collect = _c.soa_derivation_fn(lambda _user, rule, result: steps.append((text(rule), text(result))))
        with _lock:
            status = _c.soa_expr_derive(self._pointer, goal._pointer, most_forms, collect, None)
            if status == _c.SOA_E_NO_CONVERGENCE:
                proof = _c.soa_expr_prove(self._pointer, goal._pointer, _c.soa_derivation_fn(), None)
                equal = "they are equal by rewriting" if proof == _c.SOA_OK else "there is no proof that they are equal"
                raise error(status, f"{self} to {goal}: no derivation was found; {equal}")
            check(status, None, f"{self} to {goal}: both have to map {self.domain} to {self.codomain}" if status else "")
        return Derivation(steps, {**self._declared(), **goal._declared()})

    def _read_as(self, expression: str) -> Expr:
        """Text with the letters of this expression."""
        return parse(expression, self._declared())

    # --- running ----------------------------------------------------------------------------------------------------

    def explain(self, model: Model, tips: Sequence[str | int] | None = None) -> str:
        """The sweeps that compute it, as the papers print recursions.

        An operator is shown applied to T, f0 or a vector x of its space.
        """
        return Machine(model, tips)._explain(_applied(self, scalar=False))

    def plan(self, model: Model, tips: Sequence[str | int] | None = None) -> Plan:
        """The sweeps that compute it, for programs; `explain` prints them.

        >>> import soa
        >>> plan = soa.operators.form("FD3").plan(soa.Model.open("arm7"))
        >>> plan.sweep_count, plan.pass_count, plan.recursion_count
        (3, 3, 5)
        >>> next(step.right for step in plan.steps if step.left == "P(k)")
        "M(k) + sum phi(k,c) P+(c) phi'(k,c)"
        """
        return Machine(model, tips)._planned(_applied(self, scalar=False))

    def count(
        self,
        model: Model,
        tips: Sequence[str | int] | None = None,
        *,
        axes: Axes = "body",
        by_matrix: bool = False,
        generic: bool = False,
    ) -> Count:
        """Operations of one evaluation with known zeros and constants removed; an operator is applied to T or f0.

        axes="world" works in axes of the world; by_matrix=True forms and solves the mass matrix, only for `inv(Mass)`
        times a vector; with generic=True numbers of the model that happen to be 1 count as any number.

        >>> import soa
        >>> soa.operators.form("FD3").count(soa.Model.open("arm7")).multiplications > 0
        True
        """
        return Machine(model, tips)._count(_applied(self, scalar=True), axes, by_matrix, generic)

    def emit_c(
        self,
        model: Model,
        name: str = "soa_op",
        tips: Sequence[str | int] | None = None,
        *,
        axes: Axes = "body",
        by_matrix: bool = False,
    ) -> str:
        """One C function `void name(q, thd, thdd, T, f0, result)` that computes it for this model, as text; with
        variables of yours `void name(q, thd, thdd, T, f0, own, result)`, and a comment that says where each begins.
        """
        return Machine(model, tips)._emit(_applied(self, scalar=True), name, axes, by_matrix)


_DIRECTIONS = {"q": "Q", "v": "V", "a": "A", "tau": "TAU", "f0": "F0"}


def _direction(argument: str) -> int:
    if argument not in _DIRECTIONS:
        raise ValueError(f"argument is {argument!r}, expected one of {', '.join(map(repr, _DIRECTIONS))}")
    return int(getattr(_c, f"SOA_DIRECTION_{_DIRECTIONS[argument]}"))


class Derivation(list[tuple[str, str]]):
    """The steps of `Expr.derive`: pairs of a rule and the form that it leads to; notebooks show them as mathematics."""

    def __init__(self, steps: Sequence[tuple[str, str]], variables: dict[str, str | tuple[str, ...]]) -> None:
        super().__init__(steps)
        self._variables = dict(variables)

    @property
    def forms(self) -> list[Expr]:
        """The forms as expressions."""
        return [parse(form, self._variables) for _, form in self]

    def __str__(self) -> str:
        lines = [f"    {form}" if n == 0 else f"  = {form}        [{rule}]" for n, (rule, form) in enumerate(self)]
        return "\n".join(lines)

    def latex(self) -> str:
        """All steps in LaTeX, one below the other, each with its rule."""
        lines = []
        for number, ((rule, _), form) in enumerate(zip(self, self.forms)):
            said = rf"={{}} & {form.latex()} && \text{{{_latex_text(rule)}}}"
            lines.append(said if number else f"& {form.latex()}")
        return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"


def _latex_text(words: str) -> str:
    """Words inside \\text{}."""
    return "".join(rf"\{letter}" if letter in "_#$%&{}" else letter for letter in words)


class AnyIdentity:
    """The identity `I`, or a multiple of it, of whatever space the expression beside it needs.

    >>> from soa.operators import H, I, K, psi
    >>> print(I - H @ psi @ K)
    I - H psi K
    """

    __slots__ = ("factor",)
    __array_ufunc__ = None

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def of(self, space: str) -> Expr:
        """The same in a space."""
        made = identity_operator(space)
        return made if self.factor == 1 else made * self.factor

    def __matmul__(self, other: Expr) -> Expr:
        return other if self.factor == 1 else other * self.factor

    def __add__(self, other: Expr) -> Expr:
        return self.of(other.codomain) + other

    def __sub__(self, other: Expr) -> Expr:
        return self.of(other.codomain) - other

    def __mul__(self, factor: float) -> AnyIdentity:
        return AnyIdentity(self.factor * float(factor))

    __rmul__ = __mul__

    def __neg__(self) -> AnyIdentity:
        return AnyIdentity(-self.factor)

    @property
    def T(self) -> AnyIdentity:
        """Its adjoint, itself."""
        return self

    H = T

    def inv(self) -> AnyIdentity:
        """Its inverse."""
        return AnyIdentity(1.0 / self.factor)

    def __str__(self) -> str:
        return {1.0: "I", -1.0: "-I"}.get(self.factor, f"{self.factor:.15g} I")

    def __repr__(self) -> str:
        return f"<soa.operators.AnyIdentity {self}>"


@dataclass(frozen=True)
class PlanStep:
    """One line of the recursions of a plan: `left` = `right`, say z(k) = z1(k) + sum psi(k,c) z(c).

    sweep: from 1; 0: before the first.  The recursions of P, D, G and of Mc belong to the inward
        sweep that needs them.  In plans with Delta, roots of D, derivatives or blocks they come
        before all sweeps: -2 that of P, D, G, -1 that of Mc, -3 that of Delta and the roots of D.
    way: of its sweep: "causal" from tips to base, "anticausal" from base to tips, "memoryless" no
        loop, dense.
    runs: of the step itself: along the tree one way or the other, or "memoryless", at each body.
    space: that of the value.  recursion: whether it needs its own value at neighbouring bodies.
    factor: the operator that is applied; "+" for a sum or a multiple.
    remark: about the line, or empty.
    """

    sweep: int
    way: Causality
    runs: Causality
    space: Space
    recursion: bool
    factor: str
    left: str
    right: str
    remark: str


@dataclass(frozen=True)
class Plan:
    """How an expression is computed: its steps in order, and how many sweeps, passes and recursions.

    sweep_count: as the papers count them, where recursions of one operator in one direction are one
    sweep. pass_count: over the bodies; a pass may do several sweeps of its direction.
    recursion_count: lines of sweeps that need their own value at neighbouring bodies.
    steps: in order.
    """

    sweep_count: int
    pass_count: int
    recursion_count: int
    steps: tuple[PlanStep, ...]


@dataclass(frozen=True)
class Operations:
    """Numbers of operations; subtractions are additions, `sines` counts sines and cosines together.

    additions, multiplications, divisions: of numbers.  roots: square roots.
    """

    additions: int
    multiplications: int
    divisions: int
    sines: int
    roots: int


@dataclass(frozen=True)
class Count(Operations):
    """What `Expr.count` returns: all operations, those of each body (in the bodies' order) and of each part of the
    work.

    bodies: those of each body. parts: name of a part of the work, and its operations.
    """

    bodies: tuple[Operations, ...] = ()
    parts: dict[str, Operations] = field(default_factory=dict)


def _info(pointer: Any) -> Any:
    info = _c.soa_expr_info()
    check(_c.soa_expr_get_info(pointer, byref(info)))
    return info


def _callers(pointer: Any) -> set[tuple[str, int, int, bool]]:
    info = _info(pointer)
    if info.kind == _c.SOA_EXPR_LEAF:
        name = text(info.name)
        own = info.what is None and name not in _leaf_names()
        ends = (_c.soa_expr_domain(pointer), _c.soa_expr_codomain(pointer))
        return {(name, *ends, bool(info.blocks))} if own else set()
    found: set[tuple[str, int, int, bool]] = set()
    for index in range(info.count):
        found |= _callers(_c.soa_expr_part(pointer, index))
    return found


# --- LaTeX ----------------------------------------------------------------------------------------------------------

_LATEX = {
    "phi": r"\phi",
    "psi": r"\psi",
    "phit": r"\tilde\phi",
    "psit": r"\tilde\psi",
    "Phi": r"\Phi",
    "Psi": r"\Psi",
    "Delta_phi": r"\Delta_\phi",
    "Delta_psi": r"\Delta_\psi",
    "E_phi": r"\mathcal{E}_\phi",
    "E_psi": r"\mathcal{E}_\psi",
    "inv(D)": r"D^{-1}",
    "Mass": r"\mathcal{M}",
    "Mc": "M_c",
    "Jr": "J_r",
    "thd": r"\dot\theta",
    "thdd": r"\ddot\theta",
    "f0": "f(0)",
    "alpha": r"\alpha",
    "Inc": r"\mathrm{Inc}",
    "Delta": r"\Delta",
    "Sigma": r"\Sigma",
    "Pplus": "P^+",
    "sqrt(D)": "D^{1/2}",
    "inv(sqrt(D))": "D^{-1/2}",
    "wxv": r"\omega\times v",
    "ac": "a_c",
    "bc": "b_c",
    "alphac": r"\alpha_c",
    "dq": r"\delta q",
    "dthd": r"\delta\dot\theta",
    "dthdd": r"\delta\ddot\theta",
    "dT": r"\delta T",
    "df0": r"\delta f(0)",
    "Ht": "H_t",
    "Wx": "W_\\times",
    "Lv": "L_v",
    "Theta": r"\Theta",
    "dH": r"\delta H",
    "dP": r"\delta P",
    "dMc": r"\delta M_c",
    "dD": r"\delta D",
    "dG": r"\delta G",
    "dE_psi": r"\delta\mathcal{E}_\psi",
    "dV": r"\delta V",
    "da": r"\delta a",
    "db": r"\delta b",
    "dalpha": r"\delta\alpha",
}
_SUM, _PRODUCT, _POWER = 0, 1, 2  # how tightly the surroundings bind


def _leaf_latex(name: str) -> str:
    if name in _LATEX:
        return _LATEX[name]
    return name if len(name) == 1 else r"\mathrm{%s}" % name.replace("_", r"\_")


def _latex(pointer: Any, around: int) -> str:
    info = _info(pointer)
    parts = [_c.soa_expr_part(pointer, index) for index in range(info.count)]
    if info.kind == _c.SOA_EXPR_LEAF:
        made, binds = _leaf_latex(text(info.name)), _POWER
        if made.endswith("}") and "^" in made and around == _POWER:
            binds = _PRODUCT
    elif info.kind == _c.SOA_EXPR_SUM:
        made, binds = "", _SUM
        for part in parts:
            term = _latex(part, _PRODUCT if made else _SUM)
            made += term if not made else f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    elif info.kind == _c.SOA_EXPR_PRODUCT:
        made, binds = (
            " ".join(_latex(part, _PRODUCT + (info.count > 1 and _needs_brackets(part))) for part in parts),
            _PRODUCT,
        )
    elif info.kind == _c.SOA_EXPR_SCALE:
        inside = _latex(parts[0], _PRODUCT)
        factor = {1.0: "", -1.0: "-"}.get(info.factor, f"{info.factor:.15g} ")
        made, binds = factor + inside, _PRODUCT
    elif info.kind in (_c.SOA_EXPR_CROSS, _c.SOA_EXPR_BAR):
        function = "cross" if info.kind == _c.SOA_EXPR_CROSS else "bar"
        made, binds = rf"\mathrm{{{function}}}\left({_latex(parts[0], _SUM)}\right)", _POWER
    else:
        sign = {_c.SOA_EXPR_ADJOINT: "^*", _c.SOA_EXPR_INVERSE: "^{-1}"}.get(info.kind, r"^\dagger")
        inside_info = _info(parts[0])
        if info.kind == _c.SOA_EXPR_ADJOINT and inside_info.kind == _c.SOA_EXPR_INVERSE:
            return _latex(_c.soa_expr_part(parts[0], 0), _POWER) + "^{-*}"
        if inside_info.kind in (_c.SOA_EXPR_ADJOINT, _c.SOA_EXPR_INVERSE, _c.SOA_EXPR_PSEUDOINVERSE):
            made, binds = rf"\left({_latex(parts[0], _SUM)}\right){sign}", _POWER
        else:
            made, binds = _latex(parts[0], _POWER) + sign, _POWER
    return rf"\left({made}\right)" if binds < around else made


def _needs_brackets(pointer: Any) -> bool:
    """A multiple inside a product."""
    info = _info(pointer)
    return bool(info.kind == _c.SOA_EXPR_SCALE)


# --- making expressions ---------------------------------------------------------------------------------------------


def _message(status: int, message: Any, what: str) -> None:
    if status != _c.SOA_OK:
        said = message.value.decode(errors="replace")
        if status == _c.SOA_E_FORMAT:  # of a text, not of a file
            raise InputError(said, status_name(status))
        raise error(status, said if said else f"{what}: {text(_c.soa_status_text(status))}")


def parse(expression: str, variables: dict[str, str | tuple[str, ...]] | None = None) -> Expr:
    """An expression from text, as the papers write it: products by juxtaposition, `'` the adjoint, `inv()` the inverse.

    Also `^T`, or a star that touches only the factor before it (`phi* H*`), and `Mass^-1`; Greek letters; the papers'
    algorithms by name (`FD1`); letters of yours, declared first: `"x: joint, A: tip>tip; A J x"`.

    variables: vectors of yours by name with their space; a pair of spaces (from, to): an operator; (space, space,
    "blocks"), space "joint", "link" or "edge": an operator with one block for each body.

    >>> from soa.operators import parse
    >>> parse("H phi x", {"x": "link"})
    <soa.Expr H phi x: one -> joint>
    >>> parse("H phi phi H")
    Traceback (most recent call last):
        ...
    soa._errors.InputError: the factor before this one takes link, but this one gives joint
      H phi phi H
                ^
    """
    names = variables or {}
    for name in names:
        _check_name(name)
    array = (_c.soa_variable * max(1, len(names)))()
    for slot, (name, space) in zip(array, names.items()):
        source, to, *blocks = ("one", space) if isinstance(space, str) else space
        slot.name, slot.space, slot.blocks = name.encode(), _space(to), blocks == ["blocks"]
        setattr(slot, "from", _space(source))
    pointer = POINTER(_c.soa_expr)()
    message = create_string_buffer(_ROOM)
    with _lock:
        _message(
            _c.soa_expr_parse(
                expression.encode(), array if names else None, len(names), byref(pointer), message, _ROOM
            ),
            message,
            expression,
        )
        return Expr._adopt(pointer)


def form(name: str) -> Expr:
    """One of the papers' algorithms by name; `forms()` lists them.

    >>> from soa.operators import form
    >>> print(form("due_to_torque"))
    (I - H Psi L)' inv(D) (I - H Psi L) T
    """
    pointer = POINTER(_c.soa_expr)()
    with _lock:
        status = _c.soa_expr_from_form(name.encode(), byref(pointer))
        check(status, None, f"form {name!r} (there are {', '.join(forms())})" if status else "")
        return Expr._adopt(pointer)


def forms() -> dict[str, str]:
    """Names of the papers' algorithms, and what they are."""
    found = {}
    what = c_char_p()
    index = 0
    while (name := _c.soa_expr_form_name(index, None, byref(what))) is not None:
        found[text(name)] = text(what.value)
        index += 1
    return found


def variable(name: str, space: str, source: str = "one", *, blocks: bool = False) -> Expr:
    """A vector of yours in a space; with `source` an operator from there; with `blocks` an operator of "joint", "link"
    or "edge" space to itself with one block for each body, so that it costs O(n).

    >>> from soa.operators import phi, variable
    >>> phi @ variable("x", "link")
    <soa.Expr phi x: one -> link>
    """
    _check_name(name)
    with _lock:
        if blocks:
            pointer = _c.soa_expr_blocks(name.encode(), _space(space) if source in ("one", space) else 0)
        elif source == "one":
            pointer = _c.soa_expr_variable(name.encode(), _space(space))
        else:
            pointer = _c.soa_expr_operator(name.encode(), _space(source), _space(space))
        return Expr._adopt(
            pointer, f"a variable {name!r} from {source} to {space}: blocks are those of joint, link or edge space"
        )


def at(link: str) -> Expr:
    """Keeps the six numbers of one link and makes all others zero: `at(i) @ phi @ at(j)` is the block phi(i, j).

    >>> from soa.operators import at, phi
    >>> print(at("hand") @ phi @ at("forearm"))
    at(hand) phi at(forearm)
    """
    with _lock:
        return Expr._adopt(_c.soa_expr_at(link.encode()), f"a link {link!r}: names have 1 to 63 bytes")


def zero(space: str, source: str = "one") -> Expr:
    """The zero vector of a space; with `source` the zero operator from there."""
    with _lock:
        return Expr._adopt(_c.soa_expr_zero(_space(source), _space(space)), f"zero from {source} to {space}")


_LONGEST_NAME = 31


def _check_name(name: str) -> None:
    if not (name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME):
        raise InputError(
            f"a variable {name!r}: names have letters, digits and _, no digit first, at most {_LONGEST_NAME}",
            "SOA_E_NAME",
        )
    if name in _leaf_names() or name in ("inv", "pinv", "sqrt"):
        raise InputError(f"a variable {name!r}: this is a name of the algebra", "SOA_E_NAME")


def cross(x: Expr) -> Expr:
    """The operator that multiplies link motions by a link vector x, body by body: cross(x) @ y is x × y.

    cross(x).T @ f is -x ×* f, of link forces.

    >>> from soa.operators import H, V, cross, thd
    >>> print(cross(V) @ H.T @ thd)
    cross(V) H' thd
    """
    with _lock:
        return Expr._adopt(_c.soa_expr_cross(x._pointer), f"cross({x}): expected a link vector")


def bar(f: Expr) -> Expr:
    """The operator that turns link forces f with link motions y, body by body: bar(f) @ y is y ×* f.

    >>> from soa.operators import M, V, bar
    >>> print(bar(M @ V) @ V)
    bar(M V) V
    """
    with _lock:
        return Expr._adopt(_c.soa_expr_bar(f._pointer), f"bar({f}): expected a link vector")


def identity_operator(space: str) -> Expr:
    """The identity of a space; `I` is that of any space."""
    with _lock:
        return Expr._adopt(_c.soa_expr_identity(_space(space)), f"the identity of {space}")


def leaves() -> dict[str, str]:
    """Names of all operators and vectors of the algebra, and what they are."""
    found = {}
    what = c_char_p()
    index = 0
    while (name := _c.soa_expr_leaf_name(index, byref(what))) is not None:
        found[text(name)] = text(what.value)
        index += 1
    return found


_names: frozenset[str] | None = None


def _leaf_names() -> frozenset[str]:
    global _names
    if _names is None:
        _names = frozenset(leaves())
    return _names


def _leaf(name: str) -> Expr:
    with _lock:
        return Expr._adopt(_c.soa_expr_leaf(name.encode()), f"no operator {name!r}")


def _applied(expression: Expr, scalar: bool) -> Expr:
    """A vector: the expression itself, or the operator times T, f0 or x."""
    if expression.is_vector:
        return expression
    if expression.domain == "joint":
        return expression @ _leaf("T")
    if expression.domain == "tip":
        return expression @ _leaf("f0")
    if scalar:
        raise ValueError(f"{expression} is an operator on {expression.domain} space: multiply it by a vector first")
    return expression @ variable("x", expression.domain)


# --- running --------------------------------------------------------------------------------------------------------

_MOST_PLANS = 64


class Machine:
    """A model with the frames of its tips, at which expressions are evaluated.

    tips: frames by name or number; None: the link of the last joint.  Models with exact rotors are refused:
    open them with `ideal=True`.  With mimic joints, joint space is that of the tree with its followers free; `Eq` maps
    the model's rates to it.

    >>> import numpy as np, soa
    >>> from soa.operators import Machine, form
    >>> arm = soa.Model.open("arm7")
    >>> machine = Machine(arm)
    >>> q = arm.neutral() + 0.3
    >>> np.allclose(machine.evaluate(form("FD3"), q=q), arm.aba(q, None, None))
    True
    """

    def __init__(self, model: Model, tips: Sequence[str | int] | None = None) -> None:
        if tips is None:
            tips = [model.body(model.body_count).link] if model.body_count else []
        if isinstance(tips, (str, int)):
            tips = [tips]
        numbers_ = [model.find_frame(tip) for tip in tips]
        self.model = model
        self.tips = [model.frame(number).name for number in numbers_]
        self._pointer = POINTER(_c.soa_machine)()
        self._plans: dict[Expr, Any] = {}
        report = new_report()
        array = (c_int * max(1, len(numbers_)))(*numbers_)
        with _lock:
            check(
                _c.soa_machine_create(model._pointer, array, len(numbers_), byref(self._pointer), byref(report)), report
            )
        weakref.finalize(self, _release_machine, self._pointer, self._plans, model).atexit = False

    # --- closed chains ----------------------------------------------------------------------------------------------

    def close(
        self,
        by: Constraints | Grasp | Embedding,
        q: ArrayLike,
        v: ArrayLike | None = None,
        *,
        object_frame: str | int | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Gives the leaves of closed chains their numbers at a state, and returns q and v for `evaluate`.

        by: constraints: Bc, Rc, Gc, gammac.  A grasp: the same for its contacts; with object_frame (a frame of the
        object) also RK88-II's Ao, Mo, bo, Tc, gammao, if the tips are the frames of the arms, contact by contact.  An
        embedding: Eq, ed, where q and v are Q and Qdot.

        >>> import numpy as np, soa
        >>> bar = soa.Model.open("four-bar")
        >>> loops = soa.Constraints.of_model(bar)
        >>> q = loops.assemble(bar.neutral())
        >>> machine = soa.operators.Machine(bar, [])
        >>> q, v = machine.close(loops, q)
        >>> free = "inv(Mass) (T - H phi (M phi' a + b))"
        >>> a = machine.evaluate(f"{free} - inv(Mass) Gc' pinv(Gc inv(Mass) Gc') (Gc {free} + gammac)", q=q, v=v)
        >>> bool(np.allclose(a, loops.fd(q, v, None).qdd))
        True
        """
        from .embedding import Embedding
        from .grasp import Grasp
        from ._own import State

        if by.model is not self.model:
            raise ValueError("the constraints belong to another model")
        with _lock:
            self._drop_plans()
            if isinstance(by, Embedding):
                return by._close_machine(self._pointer, q, v, t)
            state = State(self.model, q, v, t=t)
            frame = -1 if object_frame is None else self.model.find_frame(object_frame)
            with by._guard:
                if isinstance(by, Grasp):
                    status = _c.soa_grasp_close_machine(by._pointer, by._work, state.pointer, frame, self._pointer)
                    said = "the grasp as operators (tips: the arms' frames, contact by contact; object: a single body)"
                else:
                    status = _c.soa_constraints_close_machine(by._pointer, by._work, state.pointer, self._pointer)
                    said = "the constraints as operators"
                by._guard.check(status, None, said)
            rates = np.zeros(self.model.nv) if state.v is None else state.v
            return np.asarray(state.q), rates

    def _drop_plans(self) -> None:
        for plan in self._plans.values():
            _c.soa_plan_free(plan)
        self._plans.clear()

    def set_constraints(
        self,
        rows: int,
        wrenches: Sequence[tuple[int, str | int, ArrayLike]] = (),
        joint_rows: ArrayLike | None = None,
        gamma: ArrayLike | None = None,
    ) -> None:
        """Rows of your own for Gc thdd + gammac = 0: (row, frame, wrench of a unit multiplier in the frame's axes)
        each; joint_rows (rows, nv): coefficients of the joint rates; gamma (rows).
        """
        terms = (_c.soa_row_wrench * max(1, len(wrenches)))()
        for term, (row, frame, wrench) in zip(terms, wrenches):
            term.row, term.frame = row, self.model.find_frame(frame)
            term.wrench[:] = np.asarray(vector("wrench", wrench, 6)).tolist()
        gears = None if joint_rows is None else vector("joint_rows", np.ravel(joint_rows), rows * self.model.nv)
        rest = None if gamma is None else vector("gamma", gamma, rows)
        with _lock:
            self._drop_plans()
            check(
                _c.soa_machine_set_constraints(
                    self._pointer, rows, terms, len(wrenches), numbers(gears), numbers(rest)
                ),
                None,
                "rows of constraints",
            )

    def set_objects(
        self,
        A: ArrayLike,
        M: ArrayLike,
        b: ArrayLike,
        selection: ArrayLike | None = None,
        gamma: ArrayLike | None = None,
    ) -> None:
        """Objects of your own: Ao (tips, 6 objects), Mo, bo, and Tc (tips, rows), gammao (rows) of the rows set
        before.
        """
        bias = np.ascontiguousarray(b, dtype=np.float64)
        count, rows, tips = bias.size // 6, self.size("constraint"), self.size("tip")
        size = 6 * count
        given = [vector("A", np.ravel(A), tips * size), vector("M", np.ravel(M), size * size), vector("b", bias, size)]
        chosen = None if selection is None else vector("selection", np.ravel(selection), tips * rows)
        rest = None if gamma is None else vector("gamma", gamma, rows)
        with _lock:
            self._drop_plans()
            check(
                _c.soa_machine_set_objects(
                    self._pointer, count, *(numbers(one) for one in given), numbers(chosen), numbers(rest)
                ),
                None,
                "objects",
            )

    def set_primary(self, E: ArrayLike, rest: ArrayLike | None = None) -> None:
        """Primary coordinates of your own: Eq (nv, count), and ed (nv), the joint accelerations for Qdd = 0."""
        matrix = np.ascontiguousarray(E, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != self.model.nv:
            raise ValueError(f"E has shape {matrix.shape}, expected ({self.model.nv}, count)")
        given = None if rest is None else vector("rest", rest, self.model.nv)
        with _lock:
            self._drop_plans()
            check(
                _c.soa_machine_set_primary(self._pointer, matrix.shape[1], numbers(matrix), numbers(given)),
                None,
                "primary coordinates",
            )

    def size(self, space: Space) -> int:
        """How many numbers a vector of that space has."""
        return self._size(space)

    def _size(self, space: str) -> int:
        return int(_c.soa_machine_space_size(self._pointer, _space(space)))

    @property
    def condition(self) -> float:
        """The largest condition number (1-norm) of what the last evaluation inverted, D and known inverses aside; 1:
        nothing.
        """
        return float(_c.soa_machine_condition(self._pointer))

    @property
    def rank(self) -> int | None:
        """The lowest rank of what the last evaluation took the inverse of least norm of; None: nothing."""
        found = int(_c.soa_machine_rank(self._pointer))
        return None if found < 0 else found

    @property
    def failure(self) -> str:
        """Why the last evaluation failed: which inverse, which joint; empty where it did not."""
        return text(_c.soa_machine_failure(self._pointer))

    def evaluate(
        self,
        expr: str | Expr,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        f0: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
        dq: ArrayLike | None = None,
        dv: ArrayLike | None = None,
        da: ArrayLike | None = None,
        dtau: ArrayLike | None = None,
        df0: ArrayLike | None = None,
        **vectors: ArrayLike,
    ) -> Array:
        """The value of an expression at a state: a vector by planned O(n) sweeps, an operator as its dense matrix,
        O(n^3).

        q None is the neutral configuration, anything else None zero.  `v` is the papers' thd, `a` thdd, `tau` T; `f0`
        has six numbers a tip, on the environment, in the tips' axes.  dq, dv, da, dtau and df0 are the direction of
        derivatives, `Expr.d`.  expr may be the name of one of the papers'
        algorithms, too (`forms()`).  `vectors` are the values of variables, matrices
        for operators. In an expression given as text each variable lies in the first space, of joint, tip, link, edge,
        base, that has the size of its value and makes sense there.  `dense` computes vectors by matrices, too.
        """
        direction = (dq, dv, da, dtau, df0)
        return self._evaluate(expr, False, q, v, a, tau, f0, wrenches, direction, vectors)

    def dense(
        self,
        expr: str | Expr,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        f0: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
        dq: ArrayLike | None = None,
        dv: ArrayLike | None = None,
        da: ArrayLike | None = None,
        dtau: ArrayLike | None = None,
        df0: ArrayLike | None = None,
        **vectors: ArrayLike,
    ) -> Array:
        """As `evaluate`, by dense arithmetic from the definitions alone: shares nothing with the sweeps, takes any
        inverse.
        """
        direction = (dq, dv, da, dtau, df0)
        return self._evaluate(expr, True, q, v, a, tau, f0, wrenches, direction, vectors)

    def _evaluate(
        self,
        expr: str | Expr,
        dense: bool,
        q: ArrayLike | None,
        v: ArrayLike | None,
        a: ArrayLike | None,
        tau: ArrayLike | None,
        f0: ArrayLike | None,
        wrenches: Sequence[Wrench],
        direction: Sequence[ArrayLike | None],
        vectors: dict[str, ArrayLike],
    ) -> Array:
        expression = self._read(expr, vectors) if isinstance(expr, str) else expr
        with _lock:
            self._set_state(q, v, a, tau, f0, wrenches)
            self._set_direction(direction)
            self._set_variables(expression, vectors)
            result = np.zeros((self._size(expression.codomain), self._size(expression.domain)))
            if expression.is_vector and not dense:
                status = _c.soa_plan_run(self._plan(expression), numbers(result))
            else:
                status = _c.soa_machine_dense_matrix(self._pointer, expression._pointer, numbers(result))
            if status != _c.SOA_OK:
                raise error(status, f"{expression}: {self.failure or text(_c.soa_status_text(status))}")
        return result[:, 0] if expression.is_vector else result

    def jacobian(
        self,
        expr: str | Expr,
        argument: str,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        f0: ArrayLike | None = None,
        wrenches: Sequence[Wrench] = (),
        **vectors: ArrayLike,
    ) -> Array:
        """The Jacobian of a vector expression with respect to "q", "v", "a", "tau" or "f0", as a matrix.

        Columns by sweeps of `Expr.d`, O(n) each; those of "q" belong to the tangent space.

        >>> import numpy as np, soa
        >>> from soa.operators import Machine
        >>> arm = soa.Model.open("arm7", ideal=True)
        >>> q, v, tau = arm.neutral() + 0.3, np.ones(7), np.zeros(7)
        >>> by_q = Machine(arm).jacobian("inv(Mass) (T - H phi (M phi' a + b))", "q", q=q, v=v, tau=tau)
        >>> np.allclose(by_q, arm.aba_derivatives(q, v, tau)[0])
        True
        """
        expression = self._read(expr, vectors) if isinstance(expr, str) else expr
        column = {"f0": "tip"}.get(argument, "joint")
        derivative, which = expression.d(), _direction(argument)
        with _lock:
            self._set_state(q, v, a, tau, f0, wrenches)
            self._set_variables(expression, vectors)
            result = np.zeros((self._size(expression.codomain), self._size(column)))
            status = _c.soa_plan_jacobian(self._plan(derivative), which, numbers(result))
            if status != _c.SOA_OK:
                raise error(status, f"{expression}: {self.failure or text(_c.soa_status_text(status))}")
        return result

    def _read(self, expression: str, vectors: dict[str, ArrayLike]) -> Expr:
        """Text, or the name of one of the papers' algorithms."""
        name = expression.strip()
        if name not in vectors and name not in _leaf_names() and name in forms():
            return form(name)
        return self._parse(expression, vectors)

    def _parse(self, expression: str, vectors: dict[str, ArrayLike]) -> Expr:
        """Text with variables: tries the spaces that have their sizes."""
        order: tuple[Space, ...] = ("joint", "tip", "link", "edge", "base")
        choices: list[list[str | tuple[str, ...]]] = []
        for name, value in vectors.items():
            shape = np.shape(value)
            fitting: list[str | tuple[str, ...]] = [s for s in order if self.size(s) == int(np.prod(shape))]
            if len(shape) == 2:
                ends: tuple[Space, ...] = ("tip", "base", "joint", "link", "edge")
                fitting += [(s, t) for t in ends for s in ends if shape == (self.size(t), self.size(s))]
            if len(shape) == 3 and shape[1:] == (6, 6):
                fitting += [(s, s, "blocks") for s in ("link", "edge") if shape[0] == self.model.body_count]
            if not fitting:
                sizes = ", ".join(f"{s} {self.size(s)}" for s in order)
                raise ValueError(f"{name} has shape {shape}: no space of this machine has that size ({sizes})")
            choices.append(fitting)
        first: SoaError | None = None
        for combination in itertools.product(*choices):
            try:
                return parse(expression, dict(zip(vectors, combination)))
            except SoaError as problem:
                first = first or problem
        assert first is not None
        raise first

    def _set_state(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        a: ArrayLike | None,
        tau: ArrayLike | None,
        f0: ArrayLike | None,
        wrenches: Sequence[Wrench],
    ) -> None:
        from .model import wrench_array

        model = self.model
        given = [
            vector("q", q, model.nq),
            vector("v", v, model.nv),
            vector("a", a, model.nv),
            vector("tau", tau, model.nv),
            None if f0 is None else vector("f0", np.ravel(f0), self.size("tip")),
        ]
        array = wrench_array(model, wrenches)
        check(
            _c.soa_machine_set_state(self._pointer, *(numbers(one) for one in given), array, len(wrenches)),
            None,
            "state of the machine",
        )

    def _set_direction(self, direction: Sequence[ArrayLike | None]) -> None:
        names, tips = ("dq", "dv", "da", "dtau", "df0"), self.size("tip")
        sizes = (*[self.model.nv] * 4, tips)
        given = [
            None if one is None else vector(name, np.ravel(one), size)
            for name, one, size in zip(names, direction, sizes)
        ]
        status = _c.soa_machine_set_direction(self._pointer, *(numbers(one) for one in given))
        check(status, None, "direction of derivatives")

    def _set_variables(self, expression: Expr, vectors: dict[str, ArrayLike]) -> None:
        wanted = expression.variables()
        missing, extra = [n for n in wanted if n not in vectors], [n for n in vectors if n not in wanted]
        if missing:
            raise ValueError(f"{expression}: no value for {', '.join(missing)}; give {missing[0]}=...")
        if extra:
            raise ValueError(f"{expression}: there is no variable {', '.join(extra)} in it")
        blocks = expression._with_blocks()
        for name, (source, to) in wanted.items():
            if name in blocks:
                self._set_blocks(name, to, vectors[name])
                continue
            rows, columns = self._size(to), self._size(source)
            value = np.ascontiguousarray(vectors[name], dtype=np.float64)
            right = value.size == rows if source == "one" else value.shape == (rows, columns)
            if not right:
                shape = (rows,) if source == "one" else (rows, columns)
                raise ValueError(f"{name} has shape {value.shape}, expected {shape}")
            if source == "one":
                status = _c.soa_machine_set_vector(self._pointer, name.encode(), _space(to), numbers(value))
            else:
                status = _c.soa_machine_set_matrix(
                    self._pointer, name.encode(), _space(source), _space(to), numbers(value)
                )
            check(status, None, f"variable {name}")

    def _set_blocks(self, name: str, space: str, value: Any) -> None:
        """One block for each body: an array, or a sequence of arrays of different sizes, row by row."""
        parts = [value] if isinstance(value, np.ndarray) else list(value)
        flat = np.concatenate([np.zeros(0), *(np.ravel(np.asarray(part, dtype=np.float64)) for part in parts)])
        size = int(_c.soa_machine_blocks_size(self._pointer, _space(space)))
        if flat.size != size:
            raise ValueError(f"{name} has {flat.size} numbers, expected {size}: the blocks of {space} space")
        status = _c.soa_machine_set_blocks(self._pointer, name.encode(), _space(space), numbers(flat))
        check(status, None, f"variable {name}")

    def _plan(self, expression: Expr) -> Any:
        plan = self._plans.get(expression)
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                _c.soa_plan_free(self._plans.pop(next(iter(self._plans))))
            plan = POINTER(_c.soa_plan)()
            message = create_string_buffer(_ROOM)
            _message(
                _c.soa_plan_create(self._pointer, expression._pointer, byref(plan), message, _ROOM),
                message,
                str(expression),
            )
            self._plans[expression] = plan
        return plan

    def _zero_variables(self, expression: Expr) -> None:
        """Values for all variables, for calls that need plans but no numbers."""
        for name, (source, to) in expression.variables().items():
            if name in expression._with_blocks():
                size = int(_c.soa_machine_blocks_size(self._pointer, _space(to)))
                self._set_blocks(name, to, np.zeros(size))
                continue
            shape = (self._size(to), self._size(source))
            self._set_variables(variable(name, to, source), {name: np.zeros(shape)})

    def _explain(self, expression: Expr) -> str:
        with _lock:
            self._zero_variables(expression)
            return _printed(_c.soa_plan_explain, self._plan(expression))

    def _planned(self, expression: Expr) -> Plan:
        steps: list[PlanStep] = []
        carrier = Carrier()

        def collect(_user: object, pointer: Any) -> None:
            carrier.run(lambda: steps.append(_plan_step(pointer.contents)), None)

        with _lock:
            self._zero_variables(expression)
            plan = self._plan(expression)
            with carrier:
                _c.soa_plan_visit_steps(plan, _c.soa_plan_step_fn(collect), None)
            return Plan(
                _c.soa_plan_sweep_count(plan),
                _c.soa_plan_pass_count(plan),
                _c.soa_plan_recursion_count(plan),
                tuple(steps),
            )

    def _graph(self, expression: Expr, axes: str, by_matrix: bool, generic: bool) -> Any:
        from .model import _axes

        self._zero_variables(expression)
        options = _c.soa_scalar_graph_options(_axes(axes), bool(by_matrix), bool(generic))
        graph = POINTER(_c.soa_scalar_graph)()
        message = create_string_buffer(_ROOM)
        _message(
            _c.soa_scalar_graph_create(
                self._pointer, expression._pointer, byref(options), byref(graph), message, _ROOM
            ),
            message,
            str(expression),
        )
        return graph

    def _count(self, expression: Expr, axes: str, by_matrix: bool, generic: bool) -> Count:
        with _lock:
            graph = self._graph(expression, axes, by_matrix, generic)
            try:
                whole = _operations(graph, 0, -1)
                bodies = tuple(_operations(graph, body, -1) for body in range(1, self.model.body_count + 1))
                parts = {}
                index = 0
                while (name := _c.soa_scalar_graph_part_name(index, None)) is not None:
                    parts[text(name)] = _operations(graph, 0, index)
                    index += 1
            finally:
                _c.soa_scalar_graph_free(graph)
        return Count(whole.additions, whole.multiplications, whole.divisions, whole.sines, whole.roots, bodies, parts)

    def _emit(self, expression: Expr, name: str, axes: str, by_matrix: bool) -> str:
        if not name.isidentifier() or not name.isascii():
            raise ValueError(f"{name!r} is not the name of a C function")
        made, length = c_char_p(), c_size_t()
        with _lock:
            graph = self._graph(expression, axes, by_matrix, False)
            try:
                check(_c.soa_scalar_graph_emit_c(graph, name.encode(), byref(made), byref(length)), None, "emit_c")
            finally:
                _c.soa_scalar_graph_free(graph)
        address = cast(made, c_void_p)
        try:
            return string_at(address, length.value).decode()
        finally:
            _c_free(address)

    def __repr__(self) -> str:
        return f"<soa.operators.Machine {self.model.name!r}, tips {', '.join(self.tips) or 'none'}>"


_c_free = CDLL(None).free
_c_free.argtypes, _c_free.restype = [c_void_p], None


def _operations(graph: Any, body: int, part: int) -> Operations:
    count = _c.soa_count()
    check(_c.soa_scalar_graph_operations(graph, body, part, byref(count)))
    return Operations(count.additions, count.multiplications, count.divisions, count.sines, count.roots)


def _plan_step(step: Any) -> PlanStep:
    right, _, remark = text(step.right).partition("  ")  # a remark follows after several spaces
    return PlanStep(
        step.sweep,
        CAUSALITIES[step.way],
        CAUSALITIES[step.runs],
        SPACES[step.space],
        bool(step.recursion),
        text(step.factor),
        text(step.left),
        right,
        remark.strip(),
    )


def _release_machine(pointer: Any, plans: dict[Expr, Any], _model: Model) -> None:
    with _lock:
        for plan in plans.values():
            _c.soa_plan_free(plan)
        plans.clear()
        _c.soa_machine_free(pointer)


# --- identities -----------------------------------------------------------------------------------------------------

# Inverses up to this condition number are accurate to five digits or more; beyond it a difference proves nothing.
_MOST_CONDITION = 1e9
# Rounding error allowed in a difference, as a multiple of the condition number.
_ROUNDING = 1e-14
# Differences allowed where rewriting has proved the identity, and where it has not.
_PROVED, _UNPROVED = 1e-7, 1e-9
_LEAST_SIZE = 1e-3  # differences are relative to the sides' largest number, or to this
_FIRST_MACHINES = ("planar-chain:3", "chain:5", "arm7", "satellite")


@dataclass(frozen=True)
class Trial:
    """Both sides of an identity on one machine at a random state; `left` and `right` are their matrices.

    machine: its name, as for `Model.open`; model: the machine; tips: its tips. state: q and the
    vectors that were drawn. residual: the largest difference, relative to the sides' size.
    condition: of the worst inverse on the way.
    """

    machine: str
    model: Model
    tips: tuple[str, ...]
    state: dict[str, Array]
    left: Array
    right: Array
    residual: float
    condition: float


@dataclass(frozen=True)
class Identity:
    """What `identity` found out.

    proved: by rewriting. counter_example: a machine on which the sides differ, or None. left,
    right: the sides.

    `holds` is None where no machine has both sides; `steps` is the proof, each form of left - right with the rule that
    led to it; `residual` the largest difference, relative to the sides' size, on `tried` machines; `skipped` machines
    where a side does not exist, with the reason.
    """

    left: Expr
    right: Expr
    holds: bool | None
    proved: bool
    steps: tuple[tuple[str, str], ...]
    tried: int
    residual: float
    skipped: tuple[tuple[str, str], ...]
    counter_example: Trial | None

    def __bool__(self) -> bool:
        return self.holds is True

    def _repr_latex_(self) -> str:
        sign = {True: "=", False: r"\ne", None: r"\overset{?}{=}"}[self.holds]
        return f"$${self.left.latex()} {sign} {self.right.latex()} \\qquad \\text{{{_latex_text(str(self))}}}$$"

    def __str__(self) -> str:
        if self.holds is None:
            said = (
                "not settled: " + ("equal by rewriting" if self.proved else "no proof") + ", no machine has both sides"
            )
        elif self.counter_example is not None:
            said = f"false: on {self.counter_example.machine} the sides differ by {self.residual:.2g} of their size"
        else:
            how = "proved by rewriting" if self.proved else "not proved, but tested"
            said = f"true: {how}; largest residual {self.residual:.1e} on {self.tried} machines"
        if self.skipped:
            said += (
                f"; skipped {len(self.skipped)} machines, where a side is undefined; first {self.skipped[0][0]}: "
                f"{self.skipped[0][1]}"
            )
        return said


def identities() -> dict[str, str]:
    """The identities of the papers by name, as texts "LEFT = RIGHT"; `identity` proves one by its name.

    >>> from soa.operators import identities, identity
    >>> identities()["RJK91 lemma 4, (16)"]
    '(I - H psi K) H phi = H psi'
    >>> identity("RJK91 lemma 4", trials=2).proved
    True
    """
    found = {}
    said = c_char_p()
    index = 0
    while (name := _c.soa_expr_identity_name(index, byref(said))) is not None:
        found[text(name)] = text(said.value)
        index += 1
    return found


def rules() -> list[tuple[str, str]]:
    """The rules by which `Expr.derive` and `Expr.improve` rewrite: pairs of a name and an equation.

    >>> from soa.operators import rules
    >>> ("RK88-I (a.13)", "phit G = phi K") in rules()
    True
    """
    found = []
    left, right = c_char_p(), c_char_p()
    index = 0
    while (name := _c.soa_expr_rule_name(index, byref(left), byref(right), None)) is not None:
        found.append((text(name), f"{text(left.value)} = {text(right.value)}"))
        index += 1
    return found


def _equation(equation: str | tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    if not isinstance(equation, str):
        return equation
    index = -1 if "=" in equation else _c.soa_expr_find_identity(equation.encode())
    sides = equation if index < 0 else list(identities().values())[index]
    left, right = POINTER(_c.soa_expr)(), POINTER(_c.soa_expr)()
    message = create_string_buffer(_ROOM)
    with _lock:
        _message(
            _c.soa_expr_parse_equation(sides.encode(), None, 0, byref(left), byref(right), message, _ROOM),
            message,
            sides,
        )
        return Expr._adopt(left), Expr._adopt(right)


def _machines(machines: Sequence[str | Model] | None, trials: int) -> Iterator[tuple[str, str | Model]]:
    if machines is not None:
        for one in machines:
            yield (one if isinstance(one, str) else one.name), one
        return
    for index in range(trials):
        name = _FIRST_MACHINES[index] if index < len(_FIRST_MACHINES) else f"random-ideal:{index}"
        yield name, name


def _try(name: str, model: Model, count: int, left: Expr, right: Expr, rng: np.random.Generator) -> Trial | str:
    """Both sides on a model with so many tips, or why they cannot be compared."""
    last = model.body_count
    bodies = [last, 1 + last // 2][:count]
    try:
        machine = Machine(model, [model.body(body).link for body in bodies])
        draw = {name: rng.uniform(-1, 1, model.nv) for name in ("v", "a", "tau")}
        state: dict[str, Any] = {
            "q": model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv), 1.0),
            **draw,
            "f0": rng.uniform(-1, 1, 6 * count),
            **{name: rng.uniform(-1, 1, model.nv) for name in ("dq", "dv", "da", "dtau")},
            "df0": rng.uniform(-1, 1, 6 * count),
        }
        sides, condition = [], 1.0
        letters: dict[str, Array] = {}
        blocks = left._with_blocks() | right._with_blocks()
        for letter, (source, to) in {**left.variables(), **right.variables()}.items():
            shape: tuple[int, ...] = (machine._size(to),)
            if letter in blocks:
                shape = (int(_c.soa_machine_blocks_size(machine._pointer, _space(to))),)
            elif source != "one":
                shape = (machine._size(to), machine._size(source))
            letters[letter] = rng.uniform(-1, 1, shape)
        for side in (left, right):
            own: dict[str, Any] = {letter: letters[letter] for letter in side.variables()}
            sides.append(machine.dense(side, **state, **own))
            condition = max(condition, machine.condition)
    except SoaError as problem:
        return str(problem)
    if not condition <= _MOST_CONDITION:
        return (
            f"an inverse is too close to singular to compare (condition {condition:.1e}, limit {_MOST_CONDITION:.0e})"
        )
    size = max(_LEAST_SIZE, *(float(np.abs(side).max(initial=0)) for side in sides))
    apart = float(np.abs(sides[0] - sides[1]).max(initial=0)) / size
    return Trial(name, model, tuple(machine.tips), state, sides[0], sides[1], apart, condition)


def identity(
    equation: str | tuple[Expr, Expr], machines: Sequence[str | Model] | None = None, trials: int = 20, seed: int = 0
) -> Identity:
    """Is `"LEFT = RIGHT"` true for every machine?  By proof, then by trial with dense matrices at random states.

    equation: a text, where the papers' algorithms have their names (`"FD1 = FD4"`) and letters of yours are declared
    first (`"x: joint, A: tip>base; A @ ..."`, without the `@`); two expressions; or the name of one of `identities()`,
    or words of it, `"a.35"`.  Letters of yours are opaque in a proof, and random in a trial.
    machines: models or names of shipped ones; None: `trials` arms, trees and floating bases, most of them random.
    Machines on which a side does not exist, or nearly so, are skipped.  A machine on which the sides differ is the
    counter-example.

    >>> from soa.operators import identity
    >>> print(identity("inv(I + H phi K) = I - H psi K", trials=4).proved)
    True
    >>> wrong = identity("Mass = H M H'")
    >>> wrong.holds, wrong.counter_example.machine
    (False, 'planar-chain:3')
    """
    from .model import Model

    left, right = _equation(equation)
    steps: list[tuple[str, str]] = []
    collect = _c.soa_derivation_fn(lambda _user, rule, result: steps.append((text(rule), text(result))))
    with _lock:
        status = _c.soa_expr_prove(left._pointer, right._pointer, collect, None)
    if status not in (_c.SOA_OK, _c.SOA_E_NO_CONVERGENCE):
        check(status, None, f"{left} = {right}")
    proved = bool(status == _c.SOA_OK)
    allowed = _PROVED if proved else _UNPROVED
    rng = np.random.default_rng(seed)
    tried, worst, skipped = 0, 0.0, []
    for name, given in _machines(machines, trials):
        model = Model.open(given, ideal=True) if isinstance(given, str) else given
        found: Trial | str = "the machine has no bodies"
        one_link = model.body_count < 2
        for count in ((1,) if one_link else (2, 1)) if model.body_count else ():
            found = _try(name, model, count, left, right, rng)
            if isinstance(found, Trial):
                break
        if isinstance(found, str):
            skipped.append((name, found))
            continue
        tried += 1
        worst = max(worst, found.residual)
        if not found.residual <= max(allowed, _ROUNDING * found.condition):
            return Identity(left, right, False, proved, tuple(steps), tried, found.residual, tuple(skipped), found)
    return Identity(left, right, True if tried else None, proved, tuple(steps), tried, worst, tuple(skipped), None)


I = AnyIdentity()
for _name in leaves():
    if _name.isidentifier() and _name != "I":
        globals()[_name] = _leaf(_name)
del _name

__all__ = [
    "AnyIdentity",
    "Count",
    "Derivation",
    "Expr",
    "Identity",
    "Machine",
    "Operations",
    "Plan",
    "PlanStep",
    "Trial",
    "at",
    "form",
    "forms",
    "identities",
    "identity",
    "identity_operator",
    "leaves",
    "parse",
    "rules",
    "variable",
    "zero",
]

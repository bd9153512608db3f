"""Numbers that carry their derivatives along one direction, for functions U of an embedding.

>>> import numpy as np
>>> from soa.taylor import Taylor
>>> x = Taylor.variable(0.5, order=2)
>>> y = np.sin(x) * x
>>> [float(round(y.derivative(k) - d, 12)) for k, d in enumerate(
...     [0.5 * np.sin(0.5), np.sin(0.5) + 0.5 * np.cos(0.5), 2 * np.cos(0.5) - 0.5 * np.sin(0.5)])]
[0.0, 0.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._own import C as _c


def _struct(value: Any) -> Any:
    if isinstance(value, Taylor):
        return value._struct
    if isinstance(value, (int, float, np.integer, np.floating)):
        return _c.soa_taylor_constant(float(value))
    return None


class Taylor:
    """c[0] + c[1] e + ... + c[order] e^order, exact to rounding; order 0 to 8.

    `+ - * / **` and NumPy's sqrt, exp, log, sin, cos, tan, arcsin, arccos, arctan, arctan2, hypot work on it.
    """

    __slots__ = ("_struct",)

    def __init__(self, coefficients: Sequence[float]) -> None:
        if not 1 <= len(coefficients) <= _c.SOA_TAYLOR_MOST + 1:
            raise ValueError(f"{len(coefficients)} coefficients, expected 1 to {_c.SOA_TAYLOR_MOST + 1}")
        self._struct = _c.soa_taylor()
        self._struct.order = len(coefficients) - 1
        self._struct.c[: len(coefficients)] = [float(one) for one in coefficients]

    @classmethod
    def _of(cls, struct: Any) -> Taylor:
        made = object.__new__(cls)
        made._struct = struct
        return made

    @classmethod
    def variable(cls, value: float, direction: float = 1.0, order: int = 2) -> Taylor:
        """value + direction e."""
        return cls._of(_c.soa_taylor_variable(order, float(value), float(direction)))

    @property
    def order(self) -> int:
        """The highest power it has."""
        return int(self._struct.order)

    @property
    def coefficients(self) -> tuple[float, ...]:
        """c[0] to c[order]."""
        return tuple(self._struct.c[: self.order + 1])

    def derivative(self, k: int) -> float:
        """The k-th derivative at e = 0, k! c[k]; 0: the value."""
        return float(_c.soa_taylor_derivative(self._struct, int(k)))

    def _with(self, function: Any, other: Any, turned: bool = False) -> Any:
        struct = _struct(other)
        if struct is None:
            return NotImplemented
        return Taylor._of(function(struct, self._struct) if turned else function(self._struct, struct))

    def __add__(self, other: Taylor | float) -> Taylor:
        return self._with(_c.soa_taylor_add, other)  # type: ignore[no-any-return]

    __radd__ = __add__

    def __sub__(self, other: Taylor | float) -> Taylor:
        return self._with(_c.soa_taylor_sub, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Taylor | float) -> Taylor:
        return self._with(_c.soa_taylor_sub, other, True)  # type: ignore[no-any-return]

    def __mul__(self, other: Taylor | float) -> Taylor:
        return self._with(_c.soa_taylor_mul, other)  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __truediv__(self, other: Taylor | float) -> Taylor:
        return self._with(_c.soa_taylor_div, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Taylor | float) -> Taylor:
        return self._with(_c.soa_taylor_div, other, True)  # type: ignore[no-any-return]

    def __pow__(self, power: float) -> Taylor:
        if not isinstance(power, (int, float, np.integer, np.floating)):
            return NotImplemented
        return Taylor._of(_c.soa_taylor_pow(self._struct, float(power)))

    def __neg__(self) -> Taylor:
        return Taylor._of(_c.soa_taylor_scale(-1.0, self._struct))

    def __pos__(self) -> Taylor:
        return self

    def affine(self, scale: float, offset: float = 0.0) -> Taylor:
        """scale * self + offset, in one step.

        >>> from soa.taylor import Taylor
        >>> Taylor([1.0, 2.0]).affine(3.0, 0.5)
        Taylor([3.5, 6.0])
        """
        return Taylor._of(_c.soa_taylor_affine(float(scale), self._struct, float(offset)))

    def sqrt(self) -> Taylor:
        """The square root."""
        return Taylor._of(_c.soa_taylor_sqrt(self._struct))

    def exp(self) -> Taylor:
        """The exponential function."""
        return Taylor._of(_c.soa_taylor_exp(self._struct))

    def log(self) -> Taylor:
        """The natural logarithm."""
        return Taylor._of(_c.soa_taylor_log(self._struct))

    def sin(self) -> Taylor:
        """The sine."""
        return Taylor._of(_c.soa_taylor_sin(self._struct))

    def cos(self) -> Taylor:
        """The cosine."""
        return Taylor._of(_c.soa_taylor_cos(self._struct))

    def tan(self) -> Taylor:
        """The tangent."""
        return Taylor._of(_c.soa_taylor_tan(self._struct))

    def arcsin(self) -> Taylor:
        """The angle with this sine."""
        return Taylor._of(_c.soa_taylor_asin(self._struct))

    def arccos(self) -> Taylor:
        """The angle with this cosine."""
        return Taylor._of(_c.soa_taylor_acos(self._struct))

    def arctan(self) -> Taylor:
        """The angle with this tangent."""
        return Taylor._of(_c.soa_taylor_atan(self._struct))

    def arctan2(self, x: Taylor | float) -> Taylor:
        """The angle of the point (x, self)."""
        return self._with(_c.soa_taylor_atan2, x)  # type: ignore[no-any-return]

    def hypot(self, other: Taylor | float) -> Taylor:
        """The root of the sum of squares."""
        return self._with(_c.soa_taylor_hypot, other)  # type: ignore[no-any-return]

    def __array_ufunc__(self, ufunc: Any, call: str, *inputs: Any, **options: Any) -> Any:
        operators = {
            "add": "__add__",
            "subtract": "__sub__",
            "multiply": "__mul__",
            "divide": "__truediv__",
            "power": "__pow__",
            "negative": "__neg__",
            "positive": "__pos__",
        }
        if call != "__call__" or options:
            return NotImplemented
        if any(isinstance(one, np.ndarray) and one.ndim for one in inputs):
            arrays = [one if isinstance(one, np.ndarray) else _boxed(one) for one in inputs]
            return ufunc(*(one.astype(object) for one in arrays))
        first, *rest = (one if isinstance(one, Taylor) else Taylor([float(one)]) for one in inputs)
        if ufunc.__name__ == "power":
            rest = list(inputs[1:])
        method = getattr(first, operators.get(ufunc.__name__, ufunc.__name__), None)
        return NotImplemented if method is None else method(*rest)

    def __repr__(self) -> str:
        return f"Taylor({list(self.coefficients)})"


def _boxed(value: Any) -> Any:
    array = np.empty((), dtype=object)
    array[()] = value
    return array


__all__ = ["Taylor"]

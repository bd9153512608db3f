"""All of libsoa's C interface for ctypes. The module is made from include/soa/*.h: for mypy its names are of any type."""

from typing import Any

def __getattr__(name: str) -> Any: ...

"""Logged values: right, and as the Inspector makes them."""

from __future__ import annotations

from typing import Any

from tests.support.plain_rows import SCALAR_MEMBERS
from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError
from tests.tools.parity.tensors import Tensor, plain_number, read_tensor

_DIGITS = {"Float": 6, "Double": 12}

Json = dict[str, Any]


def inflate(entry: Json | None, buffer: bytes | None, bugs: frozenset[Bug]) -> Any:
    """A logged value: a Tensor, a list of them, a bool, a number or None.

    Raises:
        InspectorError: if the Inspector would.
    """
    kind = entry["val"] if entry else "Null"
    if entry is None or kind not in (*SCALAR_MEMBERS, "Tensor", "TensorList"):
        return None
    if kind == "Tensor":
        return _tensor(entry.get("tensor"), buffer, bugs)
    if kind == "TensorList":
        tensors = (_member(entry, "tensor_list", kind, bugs) or {}).get("tensors", [])
        return [_tensor(tensor, buffer, bugs) for tensor in tensors]
    member, name = SCALAR_MEMBERS[kind]
    found = _member(entry, member, kind, bugs)
    if found and kind in _DIGITS and Bug.I5 in bugs:
        return float(f"{found[name]:.{_DIGITS[kind]}f}")
    return found[name] if found else None


def plain(value: Any) -> Any:
    """An inflated value as JSON has it: as text what it has no number for."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.plain() if isinstance(value, Tensor) else plain_number(value)


def _member(entry: Json, member: str, kind: str, bugs: frozenset[Bug]) -> Json | None:
    if member not in entry and Bug.X1 in bugs:
        raise InspectorError(Bug.X1, "ValueError", f"Expected {kind} value, `None` provided")
    return entry.get(member)


def _tensor(tensor: Json | None, buffer: bytes | None, bugs: frozenset[Bug]) -> Tensor | None:
    if tensor is not None:
        return read_tensor(tensor, buffer, bugs)
    if Bug.X1 in bugs:
        raise InspectorError(Bug.X1, "ValueError", "Tensor cannot be None")
    return None

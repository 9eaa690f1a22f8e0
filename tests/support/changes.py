"""Rows of the query `comparison` made by hand."""

from __future__ import annotations

from typing import Any

_TEXTS = ("delegate_id", "backend", "pool", "reference", "note", "may_be", "explained_by")
_NUMBERS = ("state_delta", "base_slow", "head_slow", "minimum_detectable")


def change_row(verdict: str = "regression", **columns: Any) -> dict[str, Any]:
    """A row of an operator that takes 5 % more, or what `columns` say; costs follow from these."""
    row: dict[str, Any] = {
        **dict.fromkeys((*_TEXTS, *_NUMBERS)),
        "level": "operator",
        "kind": "kernel",
        "device": "lab",
        "model": "net",
        "run": "Execute",
        "event_name": "native_call_conv.out",
        "ordinal": 1,
        "frame": "raw",
        "base_count": 12,
        "head_count": 12,
        "verdict": verdict,
        "base_ns": 1e6,
        "delta": 0.05,
        "delta_low": 0.04,
        "delta_high": 0.07,
        **columns,
    }
    base, delta = row["base_ns"], row["delta"]
    head = None if None in (base, delta) else base * (1 + delta)
    row.setdefault("head_ns", head)
    row.setdefault("cost_ns", None if head is None else head - base)
    return row

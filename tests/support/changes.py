"""Rows of the query `comparison` made by hand, and their table in a page."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from tracehouse.queries.report.html import page_environment
from tracehouse.queries.report.tables import ChangeTable

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


def changes_html(table: ChangeTable) -> Markup:
    """The table of changes as pages include it, and below it what is folded."""
    macros = page_environment().get_template("change.html.jinja").module
    return Markup(macros.change_list(table))  # type: ignore[attr-defined]  # noqa: S704

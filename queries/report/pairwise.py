"""The report of one build against another."""

from __future__ import annotations

from queries.report.content import Report
from queries.report.settings import Settings
from warehouse.store import Warehouse


def compare_report(store: Warehouse, settings: Settings, *, base: str, head: str) -> Report:
    """The report of a build against another."""
    raise NotImplementedError

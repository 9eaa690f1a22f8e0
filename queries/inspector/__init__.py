"""The ExecuTorch Inspector's Python interface, without torch."""

from __future__ import annotations

from queries.inspector.drop_in import Event, EventBlock, Inspector, PerfData, TimeScale

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale"]

"""Hand-made runs, and their event blocks."""

from __future__ import annotations

from typing import Any

from tests.support.etdump_builder import build_etdump
from tracehouse import decode_dumps
from tracehouse.queries.event_blocks.blocks import EventBlock
from tracehouse.queries.event_blocks.build import build_event_blocks
from tracehouse.queries.event_blocks.table import event_blocks_json
from tracehouse.queries.event_blocks.time_scales import TimeScale

Content = dict[str, Any]


def timed(name: str, start: int, end: int, **fields: Any) -> Content:
    return {"profile_event": {"name": name, "start_time": start, "end_time": end, **fields}}


def logged(value: Content, **fields: Any) -> Content:
    return {"debug_event": {"debug_entry": value, **fields}}


def integer(value: int) -> Content:
    return {"val": "Int", "int_value": {"int_val": value}}


def run(*events: Content, name: str = "Execute", **fields: Any) -> Content:
    return {"name": name, "events": list(events), **fields}


def blocks_of(*runs: Content, **scales: Any) -> list[EventBlock]:
    batch = decode_dumps([build_etdump({"run_data": list(runs)})])
    assert not batch.errors.num_rows
    return build_event_blocks(batch.tables, **scales)


def json_of(*runs: Content, **scales: TimeScale) -> list[Content]:
    return event_blocks_json(blocks_of(*runs, **scales))["event_blocks"]

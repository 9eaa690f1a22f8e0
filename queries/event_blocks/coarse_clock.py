"""What to say of a clock that steps more coarsely than the unit of its ticks. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tracehouse.queries.event_blocks.time_scales import TimeScale, target_per_source
from tracehouse.warehouse.statistics.clock_steps import RUNTIME
from tracehouse.warehouse.statistics.rollups import clock_resolution, group_events

COARSE_NS = 1e3  # steps from here on are told


def coarse_clock_note(tables: Mapping[str, pa.Table], tick: TimeScale) -> str | None:
    """A sentence about the clock of a decoded dump if it steps coarsely; None otherwise."""
    if tick is TimeScale.CYCLES:
        return None
    groups = group_events(tables["events"])
    ticks = float(clock_resolution(groups, tables["event_signatures"], 1)[0, RUNTIME])
    step_ns = ticks * float(target_per_source(tick, TimeScale.NS))
    if ticks == 1 or step_ns < COARSE_NS:
        return None
    return (
        f"the clock counts {tick}, but steps in {step_ns / 1e3:,.4g} us: "
        "times are known to a step only"
    )

"""The contents of a simulated farm: sizes, changes and defects. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.tools.simulation.changes import Change, describe_effect
from tests.tools.simulation.plan import FarmPlan
from tests.tools.simulation.recorder import Recording


@dataclass
class FarmSummary:
    """Counts of what was written so far."""

    dumps: int = 0
    events: int = 0
    byte_count: int = 0
    failed_runs: list[dict[str, Any]] = field(default_factory=list)
    truncated_dumps: list[str] = field(default_factory=list)
    missing_dumps: list[str] = field(default_factory=list)

    def add(self, path: str, recording: Recording) -> None:
        """Count a dump."""
        self.dumps += 1
        self.events += recording.event_count
        self.byte_count += len(recording.data)
        if recording.failed_run is not None:
            run, count = recording.failed_run
            self.failed_runs.append({"path": path, "run_index": run, "n_events": count})
        if recording.is_truncated:
            self.truncated_dumps.append(path)


def describe_truth(plan: FarmPlan, summary: FarmSummary) -> dict[str, Any]:
    """The content of ``truth.json``."""
    return {
        "synthetic": True,
        "seed": plan.seed,
        "size": plan.size._asdict(),
        "devices": [
            {
                **device.describe(),
                "slowness": device.slowness,
                "ticks_per_second": device.kind.clock.ticks_per_second,
                "clock_bits": device.kind.clock.bits,
            }
            for device in plan.devices
        ],
        "changes": [_describe_change(plan, change) for change in plan.changes],
        "missing_nights": [
            {"device": plan.devices[device].name, "build": plan.builds[build].id}
            for device, build in sorted(plan.missing_nights)
        ],
        "missing_dumps": summary.missing_dumps,
        "truncated_dumps": summary.truncated_dumps,
        "failed_runs": summary.failed_runs,
    }


def _describe_change(plan: FarmPlan, change: Change) -> dict[str, Any]:
    family = plan.families[change.family]
    pool = change.pool or plan.devices[0].kind.pool
    before, after = (
        plan.program(change.family, build, pool) for build in (change.build - 1, change.build)
    )
    undone = [
        later.build
        for later in plan.changes
        if later.build > change.build
        and (later.family, later.origin) == (change.family, change.origin)
    ]
    return {
        "kind": change.kind.value,
        "base": plan.builds[change.build - 1].id,
        "head": plan.builds[change.build].id,
        "last_build": plan.builds[(undone or [0])[0] - 1].id,
        "pool": change.pool,
        "model": family.model,
        "backend": family.backend,
        **describe_effect(before, after, change),
    }

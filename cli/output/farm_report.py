"""A simulated device farm: how large it will be, and what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.simulation import FarmPlan, FarmSummary


def write_estimate(farm: FarmSummary) -> None:
    """Print on standard error how large a farm will be, more or less."""
    sizes = f"{farm.dumps:,} dumps, {farm.events:,} events, {farm.byte_count / 1e6:,.0f} MB"
    write_note(f"about {sizes}")


def farm_table(plan: FarmPlan, summary: FarmSummary, seconds: float) -> pa.Table:
    """One row: what was written and what was planted, and the seconds that took."""
    import pyarrow as pa

    row = {
        "dumps": summary.dumps,
        "events": summary.events,
        "megabytes": summary.byte_count / 1e6,
        "changes": len(plan.changes),
        "failed_runs": len(summary.failed_runs),
        "truncated_dumps": len(summary.truncated_dumps),
        "missing_dumps": len(summary.missing_dumps),
        "missing_nights": len(plan.missing_nights),
        "seconds": seconds,
    }
    return pa.Table.from_pylist([row])

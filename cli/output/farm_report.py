"""The output of `tracehouse simulate`: the expected size, and what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.simulation import FarmPlan, FarmSummary


def write_estimate(farm: FarmSummary) -> None:
    """Print the approximate size of a farm on standard error."""
    sizes = f"{farm.dumps:,} dumps, {farm.events:,} events, {farm.byte_count / 1e6:,.0f} MB"
    write_note(f"about {sizes}")


def farm_table(plan: FarmPlan, summary: FarmSummary, seconds: float) -> pa.Table:
    """One row: what was written, which changes it contains, and the seconds it took."""
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

"""The view of the fleet: its devices, the age of their data, and the builds they recorded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cli.serve.page.charts import coverage_plot
from cli.serve.page.site import Cell, PageRequest, Parts, Table, link, more_text
from queries.report.figures import NONE, count_text, number_text

NEWEST = 20  # builds in a device's coverage
MOST_DEVICES = 500


def fleet(request: PageRequest) -> Parts:
    """A line for each device."""
    rows = request.rows("coverage")
    order = request.builds(rows)
    devices: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        devices[row["device"]].append(row)
    stale = sum(_newest(found, order) != order[-1] for found in devices.values())
    tiles = [
        ("", len(devices), "device", ""),
        ("", len(order), "build", ""),
        ("", len({(row["model"], row["backend"]) for row in rows}), "model", ""),
        ("", sum(row["dump_count"] for row in rows), "dump", ""),
        ("", sum(row["event_count"] for row in rows), "event", ""),
        ("warn" if stale else "", stale, "device", " without the newest build"),
    ]
    builds = order[-NEWEST:]
    table = Table(
        "Devices",
        ("Device", "Pool", "Models", "Dumps", "Newest build", "Last recorded", "Coverage"),
        [_row(devices[name], builds, order) for name in sorted(devices)[:MOST_DEVICES]],
        frozenset({2, 3}),
        note=(
            f"Coverage has a square for each of the newest {count_text(len(builds), 'build')}, the "
            "newest on the right. A full square: all models of the device were recorded."
        ),
    )
    return {
        "title": "Fleet",
        "tiles": [
            (kind, number_text(count), f"{noun}{'' if count == 1 else 's'}{rest}")
            for kind, count, noun, rest in tiles
        ],
        "tables": [table] if rows else [],
        "empty": "No dumps here yet: upload some, or widen the filters.",
        "cut": more_text(len(devices) - MOST_DEVICES, "device"),
    }


def _newest(rows: Sequence[dict[str, Any]], order: Sequence[str]) -> str:
    builds = {row["build"] for row in rows}
    return next(build for build in reversed(order) if build in builds)


def _row(
    rows: Sequence[dict[str, Any]], builds: Sequence[str], order: Sequence[str]
) -> list[Cell | str]:
    device, n_models = rows[0]["device"], len({(row["model"], row["backend"]) for row in rows})
    newest = _newest(rows, order)
    behind = len(order) - 1 - order.index(newest)
    late = f" ({count_text(behind, 'build')} behind)" if behind else ""
    times = [row["last_captured_at"] or row["last_ingested_at"] for row in rows]
    counts = Counter(row["build"] for row in rows)
    return [
        Cell(device, link("/latency", device=device)),
        rows[0]["pool"] or NONE,
        f"{n_models:,}",
        f"{sum(row['dump_count'] for row in rows):,}",
        Cell(f"{newest}{late}", link("/operators", device=device, build=newest)),
        age_text(max(times)),
        Cell("", picture=coverage_plot(builds, counts, n_models)),
    ]


def age_text(when: datetime | None) -> str:
    """How long ago a time was."""
    if when is None:
        return NONE
    seconds = max((datetime.now(UTC) - when).total_seconds(), 0.0)
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}s ago"
    return f"{seconds:.0f} s ago"

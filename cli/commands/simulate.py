"""`tracehouse simulate OUT`: a synthetic device farm."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_note


def simulate(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write to; new or empty.")],
    *,
    devices: Annotated[int, typer.Option(min=1, max=1000, help="Devices, of six kinds.")] = 6,
    builds: Annotated[int, typer.Option(min=1, max=1000, help="Builds, one per night.")] = 8,
    models: Annotated[int, typer.Option(min=1, max=12, help="Models, in two backends each.")] = 3,
    dumps: Annotated[
        int, typer.Option(min=1, max=1000, help="Dumps of each model, backend, device and build.")
    ] = 10,
    iterations: Annotated[int, typer.Option(min=1, max=10_000, help="Iterations in a dump.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 1,
    options: OutputOptions,
) -> None:
    """Write a synthetic device farm, for tests, demos and capacity planning.

    Real programs on imaginary devices, over builds in which operators get slower, get faster or
    move between delegate and kernels. OUT/truth.json lists these changes; every manifest is tagged
    synthetic. To compare builds, use at least 8 dumps and 25 iterations.
    """
    from tracehouse.cli.output.progress import progress_bar
    from tracehouse.ingest.simulation import FarmSize, FarmWriter, plan_farm

    plan = plan_farm(FarmSize(devices, builds, models, dumps, iterations), seed)
    writer = FarmWriter(plan)
    if sys.stderr.isatty():
        farm = writer.estimate()
        sizes = f"{farm.dumps:,} dumps, {farm.events:,} events, {farm.byte_count / 1e6:,.0f} MB"
        write_note(f"about {sizes}")
    began = time.perf_counter()
    with progress_bar() as progress:
        summary = writer.write(out, progress)
    row = {
        "dumps": summary.dumps,
        "events": summary.events,
        "megabytes": summary.byte_count / 1e6,
        "changes": len(plan.changes),
        "failed_runs": len(summary.failed_runs),
        "truncated_dumps": len(summary.truncated_dumps),
        "missing_dumps": len(summary.missing_dumps),
        "missing_nights": len(plan.missing_nights),
        "seconds": time.perf_counter() - began,
    }
    options.write_rows([row])

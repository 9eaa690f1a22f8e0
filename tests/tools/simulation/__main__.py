"""`python -m tests.tools.simulation OUT`: writes a synthetic device farm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tests.tools.simulation import FarmSize, FarmWriter, plan_farm
from tracehouse.cli.output.progress import progress_bar


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
) -> None:
    """Write a synthetic device farm, for tests and benchmarks of any size.

    Real programs on imaginary devices, over builds in which operators get slower, get faster or
    move between delegate and kernels. OUT/truth.json lists these changes; every manifest is tagged
    synthetic. To compare builds, use at least 8 dumps and 25 iterations.
    """
    plan = plan_farm(FarmSize(devices, builds, models, dumps, iterations), seed)
    with progress_bar() as progress:
        summary = FarmWriter(plan).write(out, progress)
    row = {
        "dumps": summary.dumps,
        "events": summary.events,
        "megabytes": summary.byte_count / 1e6,
        "changes": len(plan.changes),
        "failed_runs": len(summary.failed_runs),
        "truncated_dumps": len(summary.truncated_dumps),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    typer.run(simulate)

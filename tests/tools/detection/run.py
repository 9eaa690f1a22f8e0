"""Measures how well changes are told from noise: `make bench-detection`. Reports, never gates.

The nightly rule on simulated farms by itself, and on pools of devices; side by side with Apache
Otava and asv, run by another Python, on the same series; one cause on many devices; and a farm of
real dumps through the whole command line, beside the rule on its arrays.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.tools.benchmarks.record import Figures, Record, render_figure
from tests.tools.benchmarks.report import publish
from tests.tools.detection.agreement import try_command_line
from tests.tools.detection.detectors import Detector, detect_nightly
from tests.tools.detection.farms import NOISES, SERIES_PER_FAMILY
from tests.tools.detection.peers import Peer, list_versions
from tests.tools.detection.pools import try_pools
from tests.tools.detection.trials import (
    BUILDS,
    FALSE,
    RATE,
    SIZES,
    Extent,
    count_suspects,
    found_unit,
    right_unit,
    try_noise,
    try_one_cause,
)

RECORD = Path(__file__).parent / "record.json"
SEED = 1
ALONE = Extent(calm=50, nights=90, changed=150)
SIDE_BY_SIDE = Extent(calm=10, nights=90, changed=40)
SUSPECTS = "suspects per 1,000 series-nights"
NIGHTLY = f"rule, {SIDE_BY_SIDE.calm * SERIES_PER_FAMILY} series"
ON_MORE = f"rule, {ALONE.calm * SERIES_PER_FAMILY} series"
SHOWN_TO_ALL = ("normal", "Student t3", "AR(1) nights, 1 %", "two-speed processes")


def try_alone() -> Figures:
    """The nightly rule on farms large enough to tell 1 % of the series."""
    figures: Figures = {}
    for noise in NOISES:
        figures |= try_noise(noise, {ON_MORE: detect_nightly}, ALONE, SEED)
        suspects = count_suspects(noise, ALONE._replace(calm=SIDE_BY_SIDE.calm), SEED + 1)
        figures[f"{noise.title}: {ON_MORE}"][SUSPECTS] = suspects
        figures |= try_pools(noise, SEED + 3)
    return figures


def try_side_by_side(python: Path) -> Figures:
    """The nightly rule, Otava and asv on the same series."""
    detectors: dict[str, Detector] = {
        NIGHTLY: detect_nightly,
        "Otava": Peer(python, "otava"),
        "asv": Peer(python, "asv"),
    }
    figures: Figures = {}
    for noise in NOISES:
        if noise.title in SHOWN_TO_ALL:
            figures |= try_noise(noise, detectors, SIDE_BY_SIDE, SEED + 2)
    return figures


def list_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """A row for every noise and detector."""
    shown = ""
    for what, figures in record.figures.items():
        if FALSE not in figures:
            continue
        noise, _, detector = what.partition(": ")
        numbers = (_render(figures, unit) for unit in (SUSPECTS, RATE, FALSE))
        found = (_slashed(figures, ratio) for ratio in SIZES)
        yield ("" if noise == shown else noise, detector, *numbers, *found)
        shown = noise


def _slashed(figures: dict[str, float], ratio: float) -> str:
    units = [*(found_unit(ratio, builds) for builds in BUILDS), right_unit(ratio)]
    return "/".join(f"{figures[unit]:.0f}" if unit in figures else "-" for unit in units)


def _render(figures: dict[str, float], unit: str) -> str:
    return render_figure(figures[unit]) if unit in figures else ""


def main(python: Path, path: Path) -> None:
    """Try everything with the peers of that Python, print tables and write the record."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-detection-") as folder:
        figures = try_command_line(Path(folder), SEED)
    figures |= {"one cause, 40 devices": try_one_cause(40, SEED)}
    figures |= try_alone()
    figures |= try_side_by_side(python)
    record, before = Record.of(figures, **list_versions(python)), Record.read(RECORD)
    columns = ("noise", "detector", "suspects", "alarms", "false, %", "+5 % found", "+10 % found")
    publish(record, before, path, columns=columns, rows=list_rows(record))
    print("suspects, alarms: per 1,000 series-nights without a change; false: share of the series")
    print("found: within 1/2/5 builds/of them those whose first bad build is right, %")
    for what, by_unit in record.figures.items():
        if FALSE not in by_unit:
            print(what, *(f"{unit}: {render_figure(value)}" for unit, value in by_unit.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

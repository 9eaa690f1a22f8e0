"""A farm of real dumps through the whole command line, beside the rule on its arrays.

Every dump holds iterations of exactly the array's values, so that both must say the same: which
alerts there are after every night, which build each begins with, and on what.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.support.command import run_process
from tests.tools.benchmarks.record import Figures
from tests.tools.detection.detectors import build_name, group_alerts, operator_name
from tests.tools.detection.farms import NOISES, SERIES_PER_FAMILY, Farm, plant_cause, simulate_farm
from tracehouse import ETDumpWriter

DEVICES = 2
NIGHTS = 12
FIRST_BAD = 8
POSITION = 4
_ITERATIONS = 26
_FIRST_HEAD = 6


class Regression(NamedTuple):
    """A regression, from a report or from the arrays."""

    id: str
    is_confirmed: bool
    first_bad: str
    members: frozenset[tuple[str, str]]


def small_farm(seed: int) -> Farm:
    """One cause on two devices, in whole nanoseconds."""
    calm = simulate_farm(
        NOISES[0], families=DEVICES, nights=NIGHTS, rng=np.random.default_rng(seed)
    )
    farm = plant_cause(calm, 1.1, position=POSITION, first_bad=FIRST_BAD)
    return farm._replace(values=np.rint(farm.values))


def try_command_line(folder: Path, seed: int) -> Figures:
    """How many of the reports, one a night, say what the arrays say."""
    farm = small_farm(seed)
    write_farm(farm, folder / "farm")
    store = str(folder / "store")
    run("ingest", str(folder / "farm"), "--store", store)
    heads = range(_FIRST_HEAD, NIGHTS)
    pairs = [(list_reported(store, head), list_replayed(farm, head)) for head in heads]
    figures = {
        "reports": len(pairs),
        "that agree": sum(reported == replayed for reported, replayed in pairs),
        "alerts in them": sum(len(reported) for reported, _ in pairs),
        "dumps": farm.values[..., 0].size // SERIES_PER_FAMILY * farm.values.shape[2],
    }
    return {"real dumps through the command line": figures}


def write_farm(farm: Farm, folder: Path) -> None:
    """Write a dump for every family, night and dump number, with manifests."""
    values = farm.values.astype(np.int64)
    for family, night in itertools.product(range(DEVICES), range(farm.values.shape[1])):
        place = folder / device_name(family) / build_name(night)
        place.mkdir(parents=True)
        manifest = {
            "device": {"name": device_name(family)},
            "build": {"id": build_name(night), "branch": "main", "ordinal": night},
            "model": {"name": "net", "backend": "portable"},
            "clock": {"unit": "ns"},
        }
        (place / "manifest.json").write_text(json.dumps(manifest))
        own = values[farm.family == family, night]
        for number, ticks in enumerate(own.T.tolist()):
            (place / f"{number:03}.etdp").write_bytes(make_dump(ticks, seed=number))


def make_dump(ticks: list[int], seed: int) -> bytes:
    """A dump of iterations that all take the same times; it begins at an instant of its own."""
    instants = _instants(ticks, 1_000_000 * (seed + 1))
    writer = ETDumpWriter(clock=lambda: next(instants))
    for _ in range(_ITERATIONS):
        with writer.block("Execute"):
            for position in range(len(ticks)):
                with writer.profile(event_name(position), instruction=position + 1):
                    pass
    return writer.finish().etdump


def _instants(ticks: list[int], instant: int) -> Iterator[int]:
    for duration in itertools.cycle(ticks):
        yield instant
        instant += duration
        yield instant


def list_reported(store: str, head: int) -> set[Regression]:
    """The open regressions of `tracehouse report`."""
    text = run("report", "--head", build_name(head), "--format", "json", "--store", store)
    return {
        Regression(
            group["id"],
            group["state"] == "confirmed",
            group["first_bad"],
            frozenset((member["device"], member["event_name"]) for member in group["members"]),
        )
        for group in json.loads(text)["groups"]
        if group["direction"] == "regression" and group["state"] != "fixed"
    }


def list_replayed(farm: Farm, head: int) -> set[Regression]:
    """The same from the arrays."""
    groups = group_alerts(farm._replace(values=farm.values[:, : head + 1]))
    return {
        Regression(
            group.id,
            any(change.confirmed is not None for change in group.changes),
            build_name(group.first_bad),
            frozenset(
                (device_name(int(farm.family[change.series])), event_name(change.series))
                for change in group.changes
            ),
        )
        for group in groups
        if group.direction > 0 and any(change.fixed is None for change in group.changes)
    }


def device_name(family: int) -> str:
    """Name of a family's device."""
    return f"board-{family}"


def event_name(series: int) -> str:
    """Name of a series' operator: alike on all devices."""
    return f"native_call_{operator_name(series)}.out"


def run(*arguments: str) -> str:
    """What a command prints on stdout; it must end well."""
    done = run_process(*arguments)
    assert done.code == 0, done.err
    return done.text

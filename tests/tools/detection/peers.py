"""Other projects' detectors, in an environment of their own: Apache Otava's and asv's.

Both take one value per build, the median of its dumps, and look at the whole history anew every
night. It is an alarm when they name a build for the first time, and none near it was named before.
Series mean nothing to each other for them, so that of farms with planted changes they are given
those series alone.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.tools.detection.detectors import Alarm
from tests.tools.detection.farms import Farm

ROOT = Path(__file__).parents[3]


class PeerAlarm(NamedTuple):
    """A build that a detector names in the report of a night; direction as of an alarm."""

    series: int
    night: int
    build: int
    direction: int


class Peer:
    """A detector of another project, run by the Python that has it."""

    def __init__(self, python: Path, name: str) -> None:
        self._python, self._name = python, name

    def __call__(self, farm: Farm) -> list[Alarm]:
        """What it says of the series with a planted change, or of all where there is none."""
        series = [change.series for change in farm.planted] or list(range(len(farm.values)))
        levels = np.median(farm.values[series], axis=2).tolist()
        answer = subprocess.run(
            [self._python, "-m", "tests.tools.detection.peers_worker", self._name],
            input=json.dumps(levels), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
        ).stdout  # fmt: skip
        named = (PeerAlarm(*one) for one in json.loads(answer))
        return keep_first([one._replace(series=series[one.series]) for one in named])


def keep_first(named: list[PeerAlarm], near: int = 2) -> list[Alarm]:
    """Alarms: builds of a series that no night before named, nor one within `near` of them."""
    alarms: list[Alarm] = []
    told: dict[tuple[int, int], list[int]] = {}
    for one in sorted(named, key=lambda one: (one.series, one.night, one.build)):
        before = told.setdefault((one.series, one.direction), [])
        if all(abs(one.build - build) > near for build in before):
            alarms.append(Alarm(one.series, one.night, one.build, one.direction))
        before.append(one.build)
    return alarms


def list_versions(python: Path) -> dict[str, str]:
    """Versions of the detectors, as that Python has them."""
    program = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({name: m.version(name) for name in ('apache-otava', 'asv')}))"
    )
    versions: dict[str, str] = json.loads(
        subprocess.check_output([python, "-c", program], text=True)
    )
    return versions

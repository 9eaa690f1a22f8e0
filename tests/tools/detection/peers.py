"""Other projects' detectors, in an environment of their own: Apache Otava's and asv's.

Both take one value per build, the median of its dumps, and see the whole history anew every night.
What they say is an alarm the first night that they name a build, or one near it.
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


class Named(NamedTuple):
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
        """What it says of the farm, night by night."""
        levels = np.median(farm.values, axis=2).tolist()
        answer = subprocess.run(
            [self._python, "-m", "tests.tools.detection.peers_worker", self._name],
            input=json.dumps(levels), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
        ).stdout  # fmt: skip
        return keep_first([Named(*named) for named in json.loads(answer)])


def keep_first(named: list[Named], near: int = 2) -> list[Alarm]:
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

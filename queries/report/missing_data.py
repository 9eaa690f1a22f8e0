"""Data needed to judge a model on a device that a night could not judge."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tracehouse.queries.report.figures import count_text
from tracehouse.warehouse.regressions.nightly import Rules, Status
from tracehouse.warehouse.statistics.arrays import Ints
from tracehouse.warehouse.statistics.sample_sizes import LEAST_DUMPS
from tracehouse.warehouse.statistics.two_samples import least_p

_MOST_DUMPS = 1000


class ModelCounts(NamedTuple):
    """Counts of a model on a device in a night.

    Attributes:
        dump_count: Dumps of the head that the store has.
        status: The Status of each operator.
        builds: Number of builds in each operator's base.
        base_dumps: Number of dumps in each operator's base.
        head_dumps: Number of the head's dumps that count for each operator.
    """

    dump_count: int
    status: Ints
    builds: Ints
    base_dumps: Ints
    head_dumps: Ints


def list_missing(model: ModelCounts, rules: Rules) -> str:
    """Present and needed data: '4 dumps, 5 wanted; 1 build before it, 2 wanted'."""
    head = int(model.head_dumps.max(initial=0))
    if not head:
        dumps = count_text(model.dump_count, "dump")
        return f"{dumps}, none with 20 values of an operator after its first 5 runs"
    if (model.status == Status.BELOW_RESOLUTION).all():
        return "its operators are too short for their clock"
    builds = int(model.builds.max(initial=0))
    wanted = [*_list_dumps(model, head, rules), *_list_builds(builds, rules)]
    return "; ".join(wanted) or "no dumps in the last session of the head"


def _list_builds(builds: int, rules: Rules) -> list[str]:
    if builds >= rules.least_builds:
        return []
    return [f"{count_text(builds, 'build')} before it, {rules.least_builds} wanted"]


def _list_dumps(model: ModelCounts, head: int, rules: Rules) -> list[str]:
    base = int(model.base_dumps.max(initial=0))
    wanted = []
    needed = _head_dumps_needed(base, len(model.status), rules)
    if head < needed:
        wanted.append(f"{count_text(head, 'dump')}, {needed} wanted")
    if base < LEAST_DUMPS and model.builds.any():
        wanted.append(f"{count_text(base, 'dump')} before it, {LEAST_DUMPS} wanted")
    return wanted


@lru_cache
def _head_dumps_needed(base: int, series: int, rules: Rules) -> int:
    """Dumps of a head that can show a single change among so many operators."""
    least = rules.least_dumps if base >= rules.least_base_dumps else LEAST_DUMPS
    if base < LEAST_DUMPS:
        return least
    counts = np.arange(least, _MOST_DUMPS)
    enough = least_p(np.full(len(counts), base), counts) <= rules.q / series
    return int(counts[np.argmax(enough)])

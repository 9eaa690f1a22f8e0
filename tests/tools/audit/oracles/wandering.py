"""How times wander: from the first third of a series to its last, and from build to build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from tests.tools.audit.oracles.places import Row, build_facts, builds_in_order
from tests.tools.audit.recordings import Recording
from tests.tools.audit.statistics import middle, ratio

LEAST = 6  # dumps, or builds, that tell of a drift
Key = tuple[str, str, str | None, str, str]  # device, model, backend, build, run


def drift(values: Sequence[float], least: int = 1) -> float | None:
    """The median of the last third over that of the first, less 1."""
    n = len(values)
    if n < least:
        return None
    last = [value for place, value in enumerate(values, start=1) if 3 * place > 2 * n]
    first = [value for place, value in enumerate(values, start=1) if 3 * place <= n]
    share = ratio(median(last), median(first))
    return None if share is None else share - 1


def across_builds(dumps: Sequence[Recording], values: Mapping[Key, float]) -> dict[Key, Row]:
    """The columns of stability that tell of several builds, for the value of each."""
    order = {build: place for place, build in enumerate(builds_in_order(dumps))}
    series: dict[object, list[Key]] = defaultdict(list)
    for key in sorted(values, key=lambda key: order[key[3]]):
        role = build_facts(dumps, key[3])["role"]
        series[key[:3], key[4], role].append(key)
    rows: dict[Key, Row] = {}
    for keys in series.values():
        shares = [ratio(values[key], values[before]) for before, key in pairwise(keys)]
        changes = [None, *(None if share is None else share - 1 for share in shares)]
        common = {
            "build_count": len(keys),
            "build_step": middle(abs(change) for change in changes if change is not None),
            "build_drift": drift([values[key] for key in keys], LEAST),
        }
        rows |= {
            key: common | {"change": change} for key, change in zip(keys, changes, strict=True)
        }
    return rows

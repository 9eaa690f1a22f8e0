"""What a dump says of an operator that a delegate times in whole microseconds.

XNNPACK floors: k stands for k to k + 1 us. Compared are the grouped median, which the store keeps,
trimmed means, and interval-censored likelihoods: on made-up operators, and on the pairs of builds
of a farm of real dumps. docs/nightly-rule.md has the outcome::

    python -m tests.tools.detection.coarse_clocks FARM
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse import Warehouse
from warehouse.regressions.nightly import adjust_p
from warehouse.statistics.percentiles import grouped_median
from warehouse.statistics.two_samples import compare_samples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Estimate = Callable[[Ints], Floats]  # a location of each row of whole microseconds

ITERATIONS = 45
LEVELS_US = (1.4, 3.15, 5.1, 8.7, 19.6, 50.9)
SPREADS = (0.01, 0.03, 0.1)
_PROCESS_SPREAD = 0.01  # from dump to dump
_CHANGE = 1.05
_FLOOR_US, _HALF_TICK_US = 2.0, 0.5
_Q, _LEAST_CHANGE = 0.01, 0.03
_GRID, _ROUNDS = 21, 4
_USUAL_SPREAD = 0.03  # of an operator, where its few counts do not tell
_EVENTS = """SELECT e.device, e.build, e.model, e.event_signature_id AS operator, e.dump_id,
array_agg(e.duration_ticks // 1000 ORDER BY e.run_index) AS counts FROM named_events AS e
WHERE e.kind = 'delegate_op' AND e.backend = 'xnnpack' AND e.run_index >= 5
GROUP BY ALL ORDER BY ALL"""


class Noise(NamedTuple):
    """How iterations of an operator differ besides their spread."""

    title: str
    outlier_share: float = 0.0  # that take 50 to 500 % more
    slow_share: float = 0.0  # that take 20 % more


NOISES = (
    Noise("log-normal"),
    Noise("2 % outliers", outlier_share=0.02),
    Noise("10 % outliers", outlier_share=0.1),
    Noise("two speeds", slow_share=0.3),
)


def spread_ties(rows: Ints) -> Floats:
    """Each row in ascending order, what was counted alike spread evenly over its microsecond."""
    ordered = np.sort(rows, axis=1)
    place = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    is_first, is_last = (np.ones(rows.shape, bool) for _ in range(2))
    is_first[:, 1:] = is_last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(is_last, place, rows.shape[1])[:, ::-1], axis=1)[:, ::-1]
    spread: Floats = ordered + (place - first + 0.5) / (last - first + 1)
    return spread


def trimmed_mean(share: float) -> Estimate:
    """The mean without that share of the iterations at either end."""

    def estimate(rows: Ints) -> Floats:
        cut = round(share * rows.shape[1])
        mean: Floats = spread_ties(rows)[:, cut : rows.shape[1] - cut].mean(axis=1)
        return mean

    return estimate


def student_cdf(z: Floats) -> Floats:
    """The distribution function of Student's t with 3 degrees of freedom."""
    scaled = z / np.sqrt(3)
    cdf: Floats = 0.5 + (scaled / (1 + scaled**2) + np.arctan(scaled)) / np.pi
    return cdf


def laplace_cdf(z: Floats) -> Floats:
    """The distribution function of Laplace's distribution."""
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z < 0, tail, 1 - tail)


def censored(cdf: Callable[[Floats], Floats]) -> Estimate:
    """The likeliest location where all that is known of an iteration is its microsecond.

    A log-normal prior of the spread, 3 % with a factor of e to either side, decides where counts
    of one or two values leave it open.
    """

    def estimate(rows: Ints) -> Floats:
        return np.array([_likeliest(cdf, *np.unique(row, return_counts=True)) for row in rows])

    return estimate


def _likeliest(cdf: Callable[[Floats], Floats], counts: Ints, weight: Ints) -> float:
    """The location of the largest likelihood, on grids that get finer."""
    ordered = np.repeat(counts, weight)
    middle = float(np.median(ordered)) + 0.5
    mad = float(np.median(np.abs(ordered + 0.5 - middle)))
    width, scale, scale_width = 1.5 + 3 * mad, np.log(max(1.5 * mad, 0.1)), 3.0
    for _ in range(_ROUNDS):
        at = np.linspace(middle - width, middle + width, _GRID)[:, None, None]
        log_scale = np.linspace(scale - scale_width, scale + scale_width, _GRID)[:, None]
        each = np.exp(log_scale)
        inside = cdf((counts + 1 - at) / each) - cdf((counts - at) / each)
        likelihood = (weight * np.log(np.maximum(inside, 1e-12))).sum(axis=2)
        usual = np.log(_USUAL_SPREAD * np.maximum(at[..., 0], 0.3))
        likelihood -= (log_scale[:, 0] - usual) ** 2 / 2
        best, best_scale = np.unravel_index(likelihood.argmax(), likelihood.shape)
        middle, scale = float(at[best, 0, 0]), float(log_scale[best_scale, 0])
        width, scale_width = width / 4, scale_width / 4
    return middle


def _grouped(rows: Ints) -> Floats:
    return grouped_median(np.sort(rows, axis=1), np.ones(len(rows), np.int64))


ESTIMATES: Mapping[str, Estimate] = {
    "grouped median": _grouped,
    "grouped median + 1/2": lambda rows: _grouped(rows) + 0.5,
    "10 % trimmed mean": trimmed_mean(0.1),
    "25 % trimmed mean": trimmed_mean(0.25),
    "censored, Student t3": censored(student_cdf),
    "censored, Laplace": censored(laplace_cdf),
}


def simulate_counts(
    level_us: float, spread: float, noise: Noise, dumps: int, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Iterations of dumps in whole microseconds, and the level of each dump."""
    levels = level_us * np.exp(_PROCESS_SPREAD * rng.standard_normal(dumps))
    shape = (dumps, ITERATIONS)
    times = levels[:, None] * np.exp(spread * rng.standard_normal(shape))
    times *= np.where(rng.random(shape) < noise.slow_share, 1.2, 1)
    times *= np.where(rng.random(shape) < noise.outlier_share, 1 + rng.uniform(0.5, 5, shape), 1)
    return np.floor(times).astype(np.int64), levels


class Precision(NamedTuple):
    """How good an estimate is: its bias as a share, and +5 % in spreads of dumps."""

    bias: float
    separation: float


def measure_precision(
    estimate: Estimate, level_us: float, spread: float, noise: Noise, *, dumps: int, seed: int
) -> Precision:
    """The precision of an estimate of one operator."""
    rng = np.random.default_rng(seed)
    (base, levels), (head, new) = (
        simulate_counts(level, spread, noise, dumps, rng)
        for level in (level_us, level_us * _CHANGE)
    )
    was, now = (np.log(np.maximum(estimate(rows), 0.05)) for rows in (base, head))
    pooled = np.sqrt((was.var() + now.var()) / 2) + 1e-9
    bias = np.median(np.concatenate([was - np.log(levels), now - np.log(new)]))
    return Precision(float(np.expm1(bias)), float((now.mean() - was.mean()) / pooled))


class Operators(NamedTuple):
    """A delegate's operators in the dumps of two builds: values by operator, then dump."""

    where: str
    base: Floats
    head: Floats

    def count_changes(self) -> tuple[int, int]:
        """How many have changed by the pairwise rule, of how many above the clock's floor."""
        levels = np.exp(np.maximum(np.median(self.base, axis=1), np.median(self.head, axis=1)))
        is_above = levels >= _FLOOR_US
        found = compare_samples(self.base[is_above], self.head[is_above])
        family = np.zeros(len(found.p), np.int64)
        p = adjust_p(found.p, family, np.full(len(family), len(family)))
        step = (1 - np.exp(-np.abs(found.shift))) * levels[is_above]
        is_sure = (found.low > 0) | (found.high < 0)
        is_large = (step >= _HALF_TICK_US) & (np.abs(found.shift) >= np.log1p(_LEAST_CHANGE))
        return int(np.count_nonzero((p <= _Q) & is_sure & is_large)), len(p)


def read_farm(farm: Path) -> dict[tuple[str, str], dict[str, dict[int, Ints]]]:
    """Counts of a farm's dumps by device and model, build, and operator; a row per dump."""
    with (
        tempfile.TemporaryDirectory(prefix="tracehouse-coarse-") as folder,
        Warehouse.open(Path(folder) / "s", create=True) as store,
    ):
        store.ingest([farm])
        rows = store.sql(_EVENTS).to_pylist()
    found: dict[tuple[str, str], dict[str, dict[int, list[list[int]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in rows:
        found[row["device"], row["model"]][row["build"]][row["operator"]].append(row["counts"])
    return {
        place: {
            build: {operator: np.array(counts) for operator, counts in operators.items()}
            for build, operators in builds.items()
        }
        for place, builds in found.items()
    }


def pair_builds(
    farm: Mapping[tuple[str, str], Mapping[str, Mapping[int, Ints]]], estimate: Estimate
) -> Iterator[Operators]:
    """All pairs of builds of each device and model, as an estimate sees them."""
    for (device, model), builds in farm.items():
        values = {
            build: {
                operator: np.log(np.maximum(estimate(counts), _HALF_TICK_US))
                for operator, counts in operators.items()
            }
            for build, operators in builds.items()
        }
        for base, head in combinations(sorted(values), 2):
            shared = sorted(values[base].keys() & values[head].keys())
            sides = (np.array([values[build][each] for each in shared]) for build in (base, head))
            yield Operators(f"{device} {model} {base}..{head}", *sides)


def main(farm: Path) -> None:
    """Print what each estimate makes of made-up operators and of a farm."""
    print("bias, % / +5 % in spreads of dumps, by level in us:", *LEVELS_US)
    for noise in NOISES:
        for spread in SPREADS:
            print(f"{noise.title}, iterations differ by {spread:.0%}")
            for name, estimate in ESTIMATES.items():
                points = (
                    measure_precision(estimate, level, spread, noise, dumps=100, seed=1)
                    for level in LEVELS_US
                )
                shown = (f"{100 * bias:6.1f} /{found:5.1f}" for bias, found in points)
                print(f"  {name:22}", *shown, flush=True)
    read = read_farm(farm)
    for name, estimate in ESTIMATES.items():
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for pair in pair_builds(read, estimate):
            is_changed = pair.where.split()[0].endswith("-ab")
            key = pair.where if is_changed else f"A/A on {pair.where.split()[0]}"
            counts[key] = [a + b for a, b in zip(counts[key], pair.count_changes(), strict=True)]
        said = ", ".join(f"{place}: {hits} of {of}" for place, (hits, of) in counts.items())
        print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

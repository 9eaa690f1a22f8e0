"""What is asked, of which farm, and which oracle knows the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.questions import every_query, required, takes


@dataclass(frozen=True)
class Question:
    """One canned query, asked of one farm with some parameters."""

    farm: str
    query: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for it: ``plain/percentiles model=net``."""
        return " ".join(
            [f"{self.farm}/{self.query}", *(f"{k}={v}" for k, v in self.params.items())]
        )


Params = Mapping[str, Any]
NOTHING: Params = {}

# Asked only of the farms that MORE names, which have an answer.
SELDOM = {
    "backend_comparison", "ingest_errors", "layer_hotspots", "module_totals", "numeric_divergence",
    "roofline", "scaling", "variance_components",
}  # fmt: skip
VALUES = {"event": "*", "dump": 1}
OPTIONS: Mapping[str, Params] = {
    "device_comparison": {"event": "*"},
    "framework_tax": {"scope": "all"},
}
# Asked of farms that have an old and a new build.
OF_TWO_BUILDS = [name for name in every_query() if takes(name, "base") and name not in SELDOM]
# Asked of every farm, with these parameters.
EVERYWHERE: Sequence[tuple[str, Params]] = [
    (name, required(name, **VALUES) | OPTIONS.get(name, {}))
    for name in every_query()
    if name not in {*SELDOM, *OF_TWO_BUILDS}
]
# Asked of one farm, beside the others.
MORE: tuple[tuple[str, str, Params], ...] = (
    ("plain", "operator_hotspots", {"top_n": 3, "device": "phone"}),
    ("plain", "percentiles", {"group_by": "pool", "since": "2026-01-01T03:00:00Z"}),
    ("plain", "framework_tax", {"scope": "total", "pool": "lab"}),
    ("plain", "scaling", {"size_tag": "tokens"}),
    ("plain", "dumps", {"tag": "tokens=16"}),
    ("plain", "operator_variance", {"top_n": 2}),
    ("plain", "variance_components", NOTHING),
    ("plain", "token_latency", {"step": 10}),
    ("plain", "warmup", {"tolerance": 0.01}),
    ("plain", "outlier_runs", {"min_excess": 0.01}),
    ("plain", "memory_totals", {"scope": "total"}),
    ("memory", "memory_totals", {"scope": "total"}),
    ("plain", "coverage_gaps", {"fresh_since": "2026-01-01T12:00:00Z"}),
    ("faults", "coverage_gaps", {"last_n": 2}),
    ("language", "token_latency", {"step": 16}),
    ("faults", "ingest_errors", NOTHING),
    ("programs", "roofline", {"peak_gflops": 1.5, "peak_gbps": 2.0}),
    ("logged", "numeric_divergence", {"base": "old", "head": "new"}),
    ("programs", "module_totals", NOTHING),
    ("programs", "module_totals", {"scope": "own"}),
    ("programs", "layer_hotspots", NOTHING),
    ("programs", "layer_hotspots", {"top_n": 2}),
    ("programs", "backend_comparison", {"base_backend": "again", "head_backend": "xnnpack"}),
    ("clocks", "run_timeline", {"dump": 13, "run": 7}),
    ("long_runs", "percentiles", {"approx": True}),
    ("plain", "dumps", {"tag": "in.h=224"}),
    ("plain", "scaling", {"size_tag": "in.h"}),
    ("mixed_clocks", "operator_hotspots", {"group_by": "pool"}),
    ("mixed_clocks", "framework_tax", {"group_by": "pool"}),
    ("plain", "framework_tax", {"group_by": "backend"}),
    ("mixed_clocks", "framework_tax", {"group_by": "backend", "scope": "all"}),
    ("plain", "percentiles", {"event": "native*"}),
    ("mixed_clocks", "token_latency", {"group_by": "pool"}),
    ("mixed_clocks", "operator_variance", {"group_by": "pool"}),
    ("mixed_clocks", "delegation_coverage", {"group_by": "pool"}),
    ("clocks", "run_timeline", {"dump": 9, "run": 3}),
    ("clocks", "event_blocks", {"dump": 11}),
    ("faults", "event_blocks", {"dump": 2}),
    ("steps", "nightly_verdicts", NOTHING),
    ("steps", "change_points", NOTHING),
    ("steps", "change_points", {"head": "b5"}),
)
FARMS = (
    "plain", "clocks", "faults", "memory", "coarse_memory", "even_runs", "language", "long_runs",
    "mixed_clocks", "branches", "logged", "widened", "nights", "corpus",
)  # fmt: skip
# Farms of two builds, and what these are called.
PAIRS = {
    "plain": ("old", "new"),
    "memory": ("old", "new"),
    "language": ("old", "new"),
    "widened": ("base", "f136"),
    "nights": ("qt-qt00", "qt-qt01"),
    "corpus": ("real", "synthetic"),
}

QUESTIONS: tuple[Question, ...] = (
    *(Question(farm, query, params) for farm in FARMS for query, params in EVERYWHERE),
    *(
        Question(farm, query, {"base": base, "head": head})
        for farm, (base, head) in PAIRS.items()
        for query in OF_TWO_BUILDS
    ),
    *(Question(*more) for more in MORE),
)

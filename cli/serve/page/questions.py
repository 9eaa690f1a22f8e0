"""The canned queries as questions of people: in groups, with plain names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tracehouse.cli.serve.page.cells import link

# In the order of docs/questions.md. The first of each group stand beside every answer.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "What got slower": {
        "regression_deltas": "Operators of two builds",
        "change_points": "Change points",
        "build_history": "History of an operator",
        "environment_changes": "Changed environment",
        "comparison": "Two builds on all levels",
        "run_shifts": "Models that moved together",
        "memory_deltas": "Changed memory",
        "exact_changes": "Changes of exact counts",
        "tax_history": "History of the framework tax",
        "op_type_history": "History of operator types",
        "nightly_verdicts": "All verdicts of a night",
        "numeric_divergence": "Where values begin to differ",
    },
    "Where time goes": {
        "operator_hotspots": "Slowest operators",
        "framework_tax": "Framework tax",
        "module_totals": "Time by module",
        "layer_hotspots": "Time by source line",
        "delegation_coverage": "Share in delegates",
        "delegate_transitions": "Crossings into delegates",
        "outlier_runs": "Slow runs and their cause",
        "operator_variance": "Operators of slow runs",
        "roofline": "Distance from the device's peak",
        "variance_components": "Why dumps differ",
    },
    "How fast": {
        "percentiles": "Percentiles",
        "cold_start": "First inference",
        "warmup": "Runs to steady speed",
        "token_latency": "Tokens per second",
        "stability": "Steadiness",
        "scaling": "Growth with the input",
        "device_comparison": "Devices side by side",
        "backend_comparison": "Two backends",
    },
    "Memory and energy": {
        "memory_totals": "Memory by allocator",
        "memory_by_instruction": "Memory by instruction",
        "counter_totals": "Counters",
    },
    "Fleet": {
        "coverage": "What was recorded",
        "coverage_gaps": "What is missing",
        "device_health": "Devices that stand out",
        "ingest_errors": "Refused files",
        "device_days": "Days of devices",
        "data_quality": "Gaps in the dumps",
        "dumps": "Dumps",
        "notes": "Notes",
    },
    "One dump": {
        "run_timeline": "Events of a run",
        "event_blocks": "Inspector's event blocks",
        "dump_values": "Value of each operator",
    },
}
SHORT = 4  # questions of a group beside an answer
_NAMES = {name: title for group in GROUPS.values() for name, title in group.items()}


class Question(NamedTuple):
    """A link to a question."""

    title: str
    href: str
    is_current: bool


def title_of(name: str) -> str:
    """The plain name of a canned query."""
    return _NAMES.get(name, name.replace("_", " ").capitalize())


def rail(current: str) -> list[tuple[str, list[Question]]]:
    """The links beside an answer: some of each group, and all of the current one."""
    found = []
    for group, names in GROUPS.items():
        most = len(names) if current in names else SHORT
        shown = [
            Question(title, link(f"/explore/{name}"), name == current)
            for name, title in list(names.items())[:most]
        ]
        found.append((group, shown))
    return found

"""The questions that canned queries answer: their groups and titles, on the page and in help."""

from __future__ import annotations

from collections.abc import Mapping

# The most useful ones of a group first.
QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "What got slower": {
        "regression_deltas": "Operators of two builds", "change_points": "Change points",
        "build_history": "History of an operator", "environment_changes": "Changed environment",
        "comparison": "Two builds on all levels", "run_shifts": "Models that moved together",
        "memory_deltas": "Changed memory", "exact_changes": "Changes of exact counts",
        "tax_history": "History of the framework tax",
        "op_type_history": "History of operator types",
        "nightly_verdicts": "All verdicts of a night",
        "numeric_divergence": "Where values begin to differ",
    },
    "Where time goes": {
        "operator_hotspots": "Slowest operators", "framework_tax": "Framework tax",
        "module_totals": "Time by module", "layer_hotspots": "Time by source line",
        "delegation_coverage": "Share in delegates",
        "delegate_transitions": "Crossings into delegates",
        "outlier_runs": "Slow runs and their cause", "operator_variance": "Operators of slow runs",
        "roofline": "Distance from the device's peak", "variance_components": "Why dumps differ",
    },
    "How fast": {
        "percentiles": "Percentiles", "cold_start": "First inference",
        "warmup": "Runs to steady speed", "token_latency": "Tokens per second",
        "stability": "Steadiness", "scaling": "Growth with the input",
        "device_comparison": "Devices side by side", "backend_comparison": "Two backends",
    },
    "Memory and energy": {
        "memory_totals": "Memory by allocator", "memory_by_instruction": "Memory by instruction",
        "counter_totals": "Counters",
    },
    "Fleet": {
        "coverage": "What was recorded", "coverage_gaps": "What is missing",
        "device_health": "Devices that stand out", "ingest_errors": "Refused files",
        "device_days": "Days of devices", "data_quality": "Gaps in the dumps", "dumps": "Dumps",
        "notes": "Notes",
    },
    "One dump": {
        "run_timeline": "Events of a run", "event_blocks": "Inspector's event blocks",
        "dump_values": "Value of each operator",
    },
}  # fmt: skip
TITLES = {name: title for group in QUESTIONS.values() for name, title in group.items()}
FIRST = (
    "coverage", "percentiles", "operator_hotspots", "framework_tax", "regression_deltas",
    "build_history",
)  # fmt: skip

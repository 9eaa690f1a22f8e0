"""Every canned query worked out from raw bytes, plainly and slowly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.tools.audit.oracles import (
    contents,
    divergence,
    histories,
    memory,
    modules,
    programs,
    runs,
    shifts,
    times,
    tokens,
    values,
    verdicts,
)
from tests.tools.audit.oracles.places import Asked, Row
from tests.tools.audit.recordings import Recording

Oracle = Callable[[Sequence[Recording], Asked], list[Row]]

# Canned queries that no oracle works out, and why.
NOT_COMPUTED: Mapping[str, str] = {
    "ingest_errors": "is of files that were refused, on which it is held to the reference reader",
    "variance_components": "solves equations that its own tests hold to simulated components",
    "roofline": "goes by rules for the costs of nodes that tests/sql/test_roofline.py has by hand",
}

ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        contents.counter_totals,
        contents.coverage,
        contents.coverage_gaps,
        contents.data_quality,
        contents.dumps,
        contents.environment_changes,
        divergence.numeric_divergence,
        memory.exact_changes,
        memory.memory_by_instruction,
        memory.memory_deltas,
        memory.memory_totals,
        modules.backend_comparison,
        modules.layer_hotspots,
        modules.module_totals,
        programs.delegate_transitions,
        programs.delegation_coverage,
        programs.event_blocks,
        programs.run_timeline,
        runs.cold_start,
        runs.outlier_runs,
        runs.stability,
        tokens.token_latency,
        runs.warmup,
        times.framework_tax,
        histories.op_type_history,
        times.operator_hotspots,
        times.operator_variance,
        times.percentiles,
        histories.tax_history,
        values.build_history,
        values.device_comparison,
        values.dump_values,
        values.scaling,
        shifts.change_points,
        verdicts.comparison,
        verdicts.regression_deltas,
        shifts.run_shifts,
    )
}

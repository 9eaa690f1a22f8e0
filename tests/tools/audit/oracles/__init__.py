"""Every canned query worked out from raw bytes, plainly and slowly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules

from tests.tools.audit.oracles.places import Params, Row, is_named
from tests.tools.audit.recordings import Recording
from tracehouse.warehouse.catalogue.queries import list_queries

_MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]

Oracle = Callable[[Sequence[Recording], Params], list[Row]]

# Canned queries that no oracle works out, and why.
NOT_COMPUTED: Mapping[str, str] = {
    "ingest_errors": "is of files that were refused, on which it is held to the reference reader",
    "notes": "are what people wrote, which no dump has",
    "device_health": "is of uploads and refusals, on which tests/sql/test_device_health.py has it",
    "device_days": "is of uploads and refusals, on which tests/sql/test_device_days.py has it",
    "variance_components": "solves equations that its own tests hold to simulated components",
    "nightly_verdicts": "is the judge's, whose laws tests/warehouse/regressions has",
    "roofline": "goes by rules for the costs of nodes that tests/sql/test_roofline.py has by hand",
}

# Queries of which a filter of events leaves rows out, and changes no figure.
_FILTERED = {
    *("percentiles", "operator_hotspots", "operator_variance", "framework_tax"),
    *("delegate_transitions", "memory_by_instruction", "event_blocks", "run_timeline"),
    *("numeric_divergence", "regression_deltas", "comparison"),
}


def _filtering(oracle: Oracle) -> Oracle:
    """The oracle, whose rows are those of the events that are asked for."""

    def answer(dumps: Sequence[Recording], params: Params) -> list[Row]:
        rows = oracle(dumps, params)
        return [row for row in rows if is_named(row["event_name"], params.get("event"))]

    return answer


# An oracle has the name of its query.
ORACLES: dict[str, Oracle] = {
    name: _filtering(getattr(module, name)) if name in _FILTERED else getattr(module, name)
    for module in _MODULES
    for name in list_queries()
    if hasattr(module, name)
}

"""The ExecuTorch Inspector's Python interface, without torch."""

from __future__ import annotations

from queries.inspector.blocks import EventBlock
from queries.inspector.comparators import (
    DebugHandle,
    IntermediateOutputMapping,
    L1Comparator,
    MSEComparator,
    NumericalComparatorBase,
    SNRComparator,
)
from queries.inspector.drop_in import Inspector, TimeScale
from queries.inspector.events import Event, PerfData
from queries.inspector.results import compare_results
from queries.inspector.vgf_neural_statistics import (
    parse_vgf_neural_statistics_delegate_metadata,
    parse_vgf_neural_statistics_metadata,
)

__all__ = [
    "DebugHandle",
    "Event",
    "EventBlock",
    "Inspector",
    "IntermediateOutputMapping",
    "L1Comparator",
    "MSEComparator",
    "NumericalComparatorBase",
    "PerfData",
    "SNRComparator",
    "TimeScale",
    "compare_results",
    "parse_vgf_neural_statistics_delegate_metadata",
    "parse_vgf_neural_statistics_metadata",
]

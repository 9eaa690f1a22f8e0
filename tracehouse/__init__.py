"""The public names of tracehouse, each imported on first use.

The folders ``ingest``, ``warehouse``, ``queries``, ``cli`` and ``sql`` of the repository are parts
of this package, through links, so that an installation takes a single name of its environment.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracehouse.answers import Answer, Document, Picture
    from tracehouse.cli.main import main
    from tracehouse.client import AsyncClient, Client
    from tracehouse.ingest.decode import DecodedBatch, decode_dumps, stream_dump
    from tracehouse.ingest.dump import Dump
    from tracehouse.ingest.errors import (
        AllocatorError,
        DumpError,
        EntryError,
        FilterError,
        IngestError,
        NoBlockError,
        ServiceError,
        SinkError,
        TracerError,
        UnwritableError,
    )
    from tracehouse.ingest.manifest.models import Manifest
    from tracehouse.ingest.remote import OutgoingDump, Receipt
    from tracehouse.ingest.tracer.event_tracer import (
        DebugLevel,
        DelegateOutputFilter,
        EventTracer,
        ProfilingLevel,
        Tensor,
    )
    from tracehouse.ingest.tracer.streaming import FolderSink, StreamingTracer, UploadSink
    from tracehouse.ingest.tracer.writer import ETDumpWriter
    from tracehouse.local import Warehouse
    from tracehouse.queries.event_blocks.blocks import Event, EventBlock, PerfData
    from tracehouse.queries.inspector.drop_in import Inspector, TimeScale
    from tracehouse.queries.inspector.results import compare_results
    from tracehouse.queries.inspector.vgf_neural_statistics import (
        parse_vgf_neural_statistics_delegate_metadata,
        parse_vgf_neural_statistics_metadata,
    )
    from tracehouse.queries.numeric_gap.comparators import (
        DebugHandle,
        IntermediateOutputMapping,
        L1Comparator,
        MSEComparator,
        NumericalComparatorBase,
        SNRComparator,
    )
    from tracehouse.queries.profiler_blob import (
        ProfilerTimeScale,
        build_profiler_blocks,
        deserialize_profile_results,
        titled_tables,
    )
    from tracehouse.questions import Questions
    from tracehouse.warehouse.errors import QueryError, WarehouseError
    from tracehouse.warehouse.inbox.inbox import Inbox
    from tracehouse.warehouse.spark.answers import SparkLake
    from tracehouse.warehouse.spark.ingest import LakeIngester
    from tracehouse.warehouse.spark.source import EtdumpSource
    from tracehouse.warehouse.spark.tasks import SparkTasks

__all__ = [
    "AllocatorError",
    "Answer",
    "AsyncClient",
    "Client",
    "DebugHandle",
    "DebugLevel",
    "DecodedBatch",
    "DelegateOutputFilter",
    "Document",
    "Dump",
    "DumpError",
    "ETDumpWriter",
    "EntryError",
    "EtdumpSource",
    "Event",
    "EventBlock",
    "EventTracer",
    "FilterError",
    "FolderSink",
    "Inbox",
    "IngestError",
    "Inspector",
    "IntermediateOutputMapping",
    "L1Comparator",
    "LakeIngester",
    "MSEComparator",
    "Manifest",
    "NoBlockError",
    "NumericalComparatorBase",
    "OutgoingDump",
    "PerfData",
    "Picture",
    "ProfilerTimeScale",
    "ProfilingLevel",
    "QueryError",
    "Questions",
    "Receipt",
    "SNRComparator",
    "ServiceError",
    "SinkError",
    "SparkLake",
    "SparkTasks",
    "StreamingTracer",
    "Tensor",
    "TimeScale",
    "TracerError",
    "UnwritableError",
    "UploadSink",
    "Warehouse",
    "WarehouseError",
    "build_profiler_blocks",
    "compare_results",
    "decode_dumps",
    "deserialize_profile_results",
    "main",
    "parse_vgf_neural_statistics_delegate_metadata",
    "parse_vgf_neural_statistics_metadata",
    "stream_dump",
    "titled_tables",
]

_HOMES = {
    "answers": ("Answer", "Document", "Picture"),
    "cli.main": ("main",),
    "client": ("AsyncClient", "Client"),
    "ingest.decode": ("DecodedBatch", "decode_dumps", "stream_dump"),
    "ingest.dump": ("Dump",),
    "ingest.errors": (
        "AllocatorError",
        "DumpError",
        "EntryError",
        "FilterError",
        "IngestError",
        "NoBlockError",
        "ServiceError",
        "SinkError",
        "TracerError",
        "UnwritableError",
    ),
    "ingest.manifest.models": ("Manifest",),
    "ingest.remote": ("OutgoingDump", "Receipt"),
    "ingest.tracer.event_tracer": (
        "DebugLevel",
        "DelegateOutputFilter",
        "EventTracer",
        "ProfilingLevel",
        "Tensor",
    ),
    "ingest.tracer.streaming": ("FolderSink", "StreamingTracer", "UploadSink"),
    "ingest.tracer.writer": ("ETDumpWriter",),
    "local": ("Warehouse",),
    "queries.event_blocks.blocks": ("Event", "EventBlock", "PerfData"),
    "queries.numeric_gap.comparators": (
        "DebugHandle",
        "IntermediateOutputMapping",
        "L1Comparator",
        "MSEComparator",
        "NumericalComparatorBase",
        "SNRComparator",
    ),
    "queries.inspector.drop_in": ("Inspector", "TimeScale"),
    "queries.inspector.results": ("compare_results",),
    "queries.inspector.vgf_neural_statistics": (
        "parse_vgf_neural_statistics_delegate_metadata",
        "parse_vgf_neural_statistics_metadata",
    ),
    "queries.profiler_blob": (
        "ProfilerTimeScale",
        "build_profiler_blocks",
        "deserialize_profile_results",
        "titled_tables",
    ),
    "questions": ("Questions",),
    "warehouse.errors": ("QueryError", "WarehouseError"),
    "warehouse.inbox.inbox": ("Inbox",),
    "warehouse.spark.answers": ("SparkLake",),
    "warehouse.spark.ingest": ("LakeIngester",),
    "warehouse.spark.source": ("EtdumpSource",),
    "warehouse.spark.tasks": ("SparkTasks",),
}
_MODULES = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name: `tracehouse --help` must not wait for numpy, pyarrow and DuckDB.

    Raises:
        AttributeError: The name is not public.
    """
    if name not in _MODULES:
        raise AttributeError(f"module 'tracehouse' has no attribute '{name}'")
    return getattr(import_module(f"tracehouse.{_MODULES[name]}"), name)

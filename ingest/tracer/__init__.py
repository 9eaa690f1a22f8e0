"""ETDumps written: the runtime's EventTracer in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.tracer.streaming import FolderSink, StreamingTracer
    from ingest.tracer.writer import ETDumpWriter

__all__ = ["ETDumpWriter", "FolderSink", "StreamingTracer"]


def __getattr__(name: str) -> object:
    """The writer and the tracers, on first use: they need numpy.

    Raises:
        AttributeError: Any other name.
    """
    if name not in __all__:
        raise AttributeError(f"module 'ingest.tracer' has no attribute '{name}'")
    from ingest.tracer import streaming, writer

    return getattr(writer if name == "ETDumpWriter" else streaming, name)

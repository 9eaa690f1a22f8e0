"""Writing ETDumps: the runtime's EventTracer in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.lazy import lazy_attributes

if TYPE_CHECKING:
    from ingest.tracer.streaming import FolderSink, StreamingTracer
    from ingest.tracer.uploading import UploadSink
    from ingest.tracer.writer import ETDumpWriter

__all__ = ["ETDumpWriter", "FolderSink", "StreamingTracer", "UploadSink"]

# Imports of the tracer's types must not wait for numpy.
__getattr__ = lazy_attributes(
    __name__,
    {
        "ETDumpWriter": "ingest.tracer.writer",
        "FolderSink": "ingest.tracer.streaming",
        "StreamingTracer": "ingest.tracer.streaming",
        "UploadSink": "ingest.tracer.uploading",
    },
)

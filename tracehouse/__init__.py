"""The public names of tracehouse in one place, each imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.lazy import lazy_attributes

if TYPE_CHECKING:
    from ingest.decode import DecodedBatch, decode_dumps, stream_dump
    from ingest.dump import Dump
    from ingest.errors import IngestError, ServiceError
    from ingest.manifest.models import Manifest
    from ingest.remote.uploading import OutgoingDump, Receipt
    from ingest.tracer import ETDumpWriter, FolderSink, StreamingTracer, UploadSink
    from queries.inspector import Inspector
    from tracehouse.client import AsyncClient, Client
    from warehouse.errors import QueryError, WarehouseError
    from warehouse.inbox.inbox import Inbox
    from warehouse.store import Warehouse

__all__ = [
    "AsyncClient",
    "Client",
    "DecodedBatch",
    "Dump",
    "ETDumpWriter",
    "FolderSink",
    "Inbox",
    "IngestError",
    "Inspector",
    "Manifest",
    "OutgoingDump",
    "QueryError",
    "Receipt",
    "ServiceError",
    "StreamingTracer",
    "UploadSink",
    "Warehouse",
    "WarehouseError",
    "decode_dumps",
    "stream_dump",
]

_NAMES = {
    "ingest": ("DecodedBatch", "decode_dumps", "stream_dump"),
    "ingest.dump": ("Dump",),
    "ingest.errors": ("IngestError", "ServiceError"),
    "ingest.manifest.models": ("Manifest",),
    "ingest.remote.uploading": ("OutgoingDump", "Receipt"),
    "ingest.tracer": ("ETDumpWriter", "FolderSink", "StreamingTracer", "UploadSink"),
    "queries.inspector": ("Inspector",),
    "tracehouse.client": ("AsyncClient", "Client"),
    "warehouse": ("Inbox", "Warehouse"),
    "warehouse.errors": ("QueryError", "WarehouseError"),
}
__getattr__ = lazy_attributes(
    __name__, {name: home for home, names in _NAMES.items() for name in names}
)

"""Distinct dumps of minimal size, and their rows in a store."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import run, timed
from tests.support.stores import MANIFEST, ingest, write
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest

_STATED = Manifest.model_validate(MANIFEST)
COUNTED = """
SELECT dumps.sha256, count(events.dump_id) AS n FROM dumps LEFT JOIN events USING (dump_id)
GROUP BY dumps.dump_id, dumps.sha256
"""


@cache
def tiny_dump(number: int) -> bytes:
    """A dump of some events, as many as `tiny_dump_events` says."""
    start = 10 * number
    events = [
        timed("op", start, start + i, instruction_id=i) for i in range(tiny_dump_events(number))
    ]
    return build_etdump({"version": 0, "run_data": [run(*events, name="run")]})


def tiny_dump_events(number: int) -> int:
    """Profile events in a dump of that number."""
    return 1 + number % 3


def tiny_incoming(number: int, name: str = "", manifest: Manifest = _STATED) -> Dump:
    """The same as an incoming dump."""
    return Dump.of_bytes(name or f"{number}.etdp", tiny_dump(number), manifest)


def stored_event_counts(store: Path) -> list[tuple[str, int]]:
    """SHA-256 and events of every dump in a store, in order."""
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql(COUNTED).to_pylist()
    return sorted((row["sha256"], row["n"]) for row in rows)


def ingest_one_by_one(folder: Path, count: int) -> Path:
    """A store in a folder, in which each of some tiny dumps has a segment of its own."""
    for number in range(count):
        ingest(folder / "store", write(folder / f"{number}.etdp", tiny_dump(number)))
    return folder / "store"

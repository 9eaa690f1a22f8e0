"""The record of the last rebuild drill, a small file in the store's directory."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from tracehouse.ingest.durable import replacing
from tracehouse.warehouse.errors import write_errors

FILE_NAME = "drill.json"


@dataclass(frozen=True)
class DrillRecord:
    """The last drill of a store, which its directory keeps.

    Attributes:
        night: The night whose dumps were rebuilt, as a date.
        finished_at: When it ended, in seconds since 1970.
        succeeded_at: When a drill last ended without a difference; 0 if none did.
        dump_count: Dumps that were rebuilt and compared.
        difference_count: Dumps and shared tables that differ.
    """

    night: str
    finished_at: float
    succeeded_at: float
    dump_count: int
    difference_count: int


def read_record(store: Path) -> DrillRecord | None:
    """The record of the last drill; None if there is none, or the file is no record."""
    try:
        return DrillRecord(**json.loads((store / FILE_NAME).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def keep_record(store: Path, night: date, *, dump_count: int, difference_count: int) -> None:
    """Keep the record of a drill that has ended now.

    Raises:
        StoreError: It cannot be written.
    """
    before, now = read_record(store), datetime.now(UTC).timestamp()
    last = before.succeeded_at if before else 0.0
    record = DrillRecord(
        night.isoformat(), now, last if difference_count else now, dump_count, difference_count
    )
    path = store / FILE_NAME
    with write_errors(str(path), problem="cannot be written"), replacing(path, 0o600) as new:
        new.write_text(json.dumps(asdict(record)))

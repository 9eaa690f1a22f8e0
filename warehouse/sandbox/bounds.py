"""Limits of an untrusted statement, and its answer."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

MOST_TEXT_BYTES = 16 << 10


class Bounds(NamedTuple):
    """Limits of one statement.

    Attributes:
        seconds: Time.
        memory_bytes: Memory of the process in addition to its memory at rest.
        answer_rows: Rows of the answer.
        answer_bytes: Size of the answer.
    """

    seconds: float
    memory_bytes: int
    answer_rows: int
    answer_bytes: int


class SnapshotAnswer(NamedTuple):
    """The answer to a statement.

    Attributes:
        table: The rows; with `note` in the schema's metadata if events may be missing.
        taken_at: Time of the snapshot.
    """

    table: pa.Table
    taken_at: datetime

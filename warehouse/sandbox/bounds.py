"""Limits of a statement from anybody, and its answer."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

MOST_TEXT_BYTES = 16 << 10


class Bounds(NamedTuple):
    """Limits of one statement.

    Attributes:
        seconds: Time.
        memory_bytes: Memory of the answering process beyond what it takes at rest.
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
        table: Its rows; with `note` in the schema's metadata if they may miss events.
        taken_at: Time of the snapshot that it was answered from.
    """

    table: pa.Table
    taken_at: datetime

"""What a statement from anybody may take, and what came of one."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

MOST_TEXT_BYTES = 16 << 10


class Bounds(NamedTuple):
    """What one statement may take.

    Attributes:
        seconds: Time.
        memory_bytes: Memory of the process that answers it, besides what that takes by itself.
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
        table: Its rows; `note` in the metadata of the schema if they may miss events.
        taken_at: When the snapshot was taken that was asked.
    """

    table: pa.Table
    taken_at: datetime

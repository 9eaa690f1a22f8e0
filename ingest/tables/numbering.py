"""Numbers of dumps in decoded tables. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def renumber_dumps(rows: pa.Table, numbers: NDArray[np.int32]) -> pa.Table:
    """The rows with ``dump_index`` i replaced by ``numbers[i]``; other tables are unchanged.

    `dump_index` is the first column of every decoded table that has it.
    """
    if rows.schema.names[0] != "dump_index":
        return rows
    chunks = [pa.array(numbers[chunk.to_numpy()]) for chunk in rows.column(0).chunks]
    column = pa.chunked_array(chunks, pa.int32())
    return rows.set_column(0, rows.schema.field(0), column)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.support.stores import writing
from tracehouse.ingest.schemas.rollups import EVENT_HISTOGRAMS
from tracehouse.warehouse.load.appending import append_rows

ROWS, PIECE = 1_200_000, 70_001
GROUP_ROWS = 122_880
SMALLEST = (
    "SELECT min(n) FROM (SELECT sum(count) AS n FROM pragma_storage_info('event_histograms') "
    "WHERE column_name = 'event_count' AND segment_type <> 'VALIDITY' GROUP BY row_group_id)"
)


@pytest.mark.slow
def test_rows_stay_in_order_and_fill_their_groups_whatever_threads_there_are(
    tmp_path: Path,
) -> None:
    numbers = np.arange(3 * ROWS)
    with writing(tmp_path / "store") as connection:
        connection.execute("SET threads = 4")
        for at in range(0, 3 * ROWS, ROWS):
            counts = numbers[at : at + ROWS] * 7919 % (1 << 40)
            zeros = {
                one.name: np.zeros(ROWS, one.type.to_pandas_dtype()) for one in EVENT_HISTOGRAMS
            }
            rows = pa.table(zeros | {"event_count": counts})
            pieces = [rows.slice(begin, PIECE) for begin in range(0, ROWS, PIECE)]
            append_rows(connection, "event_histograms", pa.concat_tables(pieces))
        append_rows(connection, "event_histograms", rows.slice(0, 0))
        connection.execute("CHECKPOINT")
        ((smallest,),) = connection.execute(SMALLEST).fetchall()
        stored = connection.sql("FROM event_histograms").to_arrow_table()["event_count"].to_numpy()
    assert smallest == ROWS % GROUP_ROWS  # the last of each append
    assert (stored == numbers * 7919 % (1 << 40)).all()

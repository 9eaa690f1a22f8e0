import numpy as np
import pyarrow as pa

from tracehouse.ingest.schemas.dumps import DECODED
from tracehouse.ingest.tables.build import renumber_dumps

NUMBERS = np.array([4, 9], np.int32)


def allocators(*indices: int) -> pa.Table:
    rows = [
        {"dump_index": index, "run_index": index, "allocator_id": 1, "name": None}
        for index in indices
    ]
    return pa.Table.from_pylist(rows, DECODED["allocators"])


def test_rows_in_chunks_get_the_numbers_and_keep_the_rest():
    rows = renumber_dumps(pa.concat_tables([allocators(1, 0), allocators(1)]), NUMBERS)
    assert rows.schema == DECODED["allocators"]
    assert rows["dump_index"].to_pylist() == [9, 4, 9]
    assert rows["run_index"].to_pylist() == [1, 0, 1]


def test_an_empty_table_stays_empty():
    assert renumber_dumps(allocators(), NUMBERS) == allocators()


def test_signatures_belong_to_no_dump():
    signatures = DECODED["run_signatures"].empty_table()
    assert renumber_dumps(signatures, NUMBERS) is signatures

"""Judging the series of a store in this process, a part of the fleet at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol
from zlib import crc32

import numpy as np
import pyarrow as pa

from tracehouse.warehouse.catalogue.queries import expand_statement
from tracehouse.warehouse.queryable import Queryable, Streamable
from tracehouse.warehouse.regressions.fleet import MinChange, order_nights
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.parts import (
    ALL_PARTS,
    PART,
    PartResult,
    Selection,
    View,
    judge_part,
)
from tracehouse.warehouse.regressions.series_values import (
    encode_texts,
    list_recordings,
    read_encoded,
)
from tracehouse.warehouse.statistics.arrays import Ints

VALUES_AT_ONCE = 1_000_000  # about 200 MB while they are judged
_MOST_FILES = 128
_COUNT = "SELECT count(*) AS n FROM event_stats"
_HEADS = """SELECT build FROM builds_in_order
WHERE build_role IS NULL AND ($branch IS NULL OR branch = $branch) ORDER BY position"""


def list_heads(store: Queryable, branch: str | None) -> list[str]:
    """The builds of the nightly series in order: without a role, of a branch if one is given."""
    return [str(build) for build in store.sql(_HEADS, {"branch": branch})["build"].to_pylist()]


class Judge(Protocol):
    """Judges the parts of a fleet, and returns a view of each."""

    def __call__(
        self,
        head: str,
        min_change: MinChange,
        rules: Rules,
        view: Callable[[PartResult], View],
        selection: Selection = ALL_PARTS,
        /,
    ) -> list[View]:
        """Judge the series of a build and of earlier builds; `view` runs where a part is judged."""


def judge_here(
    store: Streamable,
    head: str,
    min_change: MinChange,
    rules: Rules,
    view: Callable[[PartResult], View],
    selection: Selection = ALL_PARTS,
) -> list[View]:
    """Judge the series of a build and of earlier builds; values of other parts wait on disk."""
    files = count_files(store)
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        with store.stream(expand_statement("fleet_values"), {"head": head}) as values:
            if files == 1 and selection == ALL_PARTS:
                return [view(judge_part(read_encoded(values), head, min_change, rules))]
            spilled = ValueFiles(Path(folder), files, values, selection)
        nights = order_nights(spilled.nights, head)
        return [view(judge_part(part, head, min_change, rules, nights)) for part in spilled.read()]


def count_files(store: Queryable) -> int:
    """The number of files for the values of a store, so that those of one can be judged at once."""
    ((count,),) = store.sql(_COUNT).to_pydict().values()
    return int(min(1 + count // VALUES_AT_ONCE, _MOST_FILES))


class ValueFiles:
    """Rows of values in files, whole parts in each; and the nights of all rows.

    Only the rows of selected parts are written.
    """

    def __init__(
        self,
        folder: Path,
        files: int,
        values: pa.RecordBatchReader,
        selection: Selection = ALL_PARTS,
    ) -> None:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._paths = [folder / f"{number}.arrows" for number in range(files)]
        no_rows = encode_texts(values.schema.empty_table())
        writers = [pa.ipc.new_stream(path, no_rows.schema, options=options) for path in self._paths]
        nights = [list_recordings(no_rows)]
        for batch in values:
            rows = encode_texts(pa.Table.from_batches([batch]))
            nights.append(list_recordings(rows))
            rows = selection.choose(rows)
            place = _place_parts(rows, files)
            order = np.argsort(place, kind="stable")
            ends = np.searchsorted(place[order], np.arange(files + 1)).tolist()
            rows = rows.take(pa.array(order))
            for number in np.unique(place).tolist():
                start, end = ends[number : number + 2]
                writers[number].write_table(rows.slice(start, end - start))
        for writer in writers:
            writer.close()
        self.nights = list_recordings(pa.concat_tables(nights))

    def read(self) -> Iterator[pa.Table]:
        """The rows of each file; at least one table, if only an empty one."""
        for path in self._paths:
            with pa.ipc.open_stream(path) as reader:
                rows = reader.read_all()
            path.unlink()
            if len(rows) or path == self._paths[0]:
                yield rows


def _place_parts(rows: pa.Table, files: int) -> Ints:
    """The number of the file of each row, equal for the rows of a part."""
    place = np.zeros(len(rows), np.uint64)
    for name in ("device", *PART):
        column = rows[name].combine_chunks()
        texts = ["" if text is None else text for text in column.dictionary.to_pylist()]
        hashes = np.array([*(crc32(text.encode()) for text in texts), 0], np.uint64)
        place = place * 31 + hashes[column.indices.fill_null(-1)]
        if name == "device":
            place[rows["pool"].is_valid()] = 0
    return (place % files).astype(np.int64)

"""Reading, decoding and summarising dumps: the part of an ingest that runs in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.decode import DecodedBatch, decode_dumps
from tracehouse.ingest.dump import Dump, HashedFile, Refusal
from tracehouse.ingest.errors import DumpError, SourceError
from tracehouse.ingest.schemas.dumps import ERRORS
from tracehouse.ingest.tables.build import renumber_dumps
from tracehouse.warehouse.load.isolate import Failure, control_dump, isolate, isolate_each
from tracehouse.warehouse.load.new_dump import NewDump
from tracehouse.warehouse.statistics.clock_steps import CLOCKS
from tracehouse.warehouse.statistics.rollups import Statistics, group_events, summarise
from tracehouse.warehouse.statistics.run_lengths import find_lengths, split_runs

UNDECODABLE = "undecodable"  # for an unforeseen reason


class Content(NamedTuple):
    """Decoded dumps and their statistics; ``dump_index`` is the position in `dumps`."""

    decoded: DecodedBatch
    statistics: Statistics
    dumps: Sequence[NewDump] = ()

    @property
    def good(self) -> NDArray[np.int32]:
        """Positions of the dumps that are not malformed."""
        positions: NDArray[np.int32] = self.decoded.tables["dumps"]["dump_index"].to_numpy()
        return positions


def read_dumps(dumps: Sequence[Dump]) -> list[HashedFile | Refusal]:
    """Read and hash dumps; an unreadable dump is refused."""
    return [_read_dump(dump) for dump in dumps]


def _read_dump(dump: Dump) -> HashedFile | Refusal:
    try:
        return dump.read_hashed()
    except SourceError as error:
        return Refusal(dump.name, None, error.reason, None, error.problem)


def decode_apart(
    dumps: Sequence[NewDump], decode: Callable[[Sequence[NewDump]], Content]
) -> list[Content]:
    """Decode and summarise dumps, all at once if none of them breaks the decoder."""

    def refuse(dump: NewDump, failure: Failure) -> Content:
        detail = failure.blame(dump.source, _decodes_control)
        return _refused(dump, detail, decode(()))

    return isolate_each(dumps, decode, refuse)


def _refused(dump: NewDump, detail: str, nothing: Content) -> Content:
    """The content of a dump that made the decoder fail: empty tables and an error."""
    row = {"dump_index": 0, "reason": UNDECODABLE, "detail": detail}
    errors = pa.Table.from_pylist([row], schema=ERRORS)
    return Content(
        DecodedBatch(nothing.decoded.tables, errors),
        Statistics(nothing.statistics.tables, np.ones((1, CLOCKS))),
        [dump],
    )


def stream_apart(parts: Iterator[DecodedBatch], source: str) -> Iterator[DecodedBatch]:
    """Parts of a big dump, decoded lazily.

    Raises:
        DumpError: The dump is malformed or makes the decoder fail; discard the earlier parts.
    """
    while (part := isolate(lambda: next(parts, None))) is not None:
        if isinstance(part, Failure):
            detail = part.blame(source, _decodes_control)
            raise DumpError(source, reason=UNDECODABLE, byte_offset=None, detail=detail)
        yield part


def decode_content(buffers: Sequence[Any]) -> Content:
    """Decode and summarise dumps."""
    decoded = decode_dumps(buffers)
    groups = group_events(decoded.tables["events"])
    if lengths := find_lengths(groups, decoded.tables["event_signatures"]):
        decoded = split_runs(decoded, lengths)
        groups = group_events(decoded.tables["events"])
    return Content(decoded, summarise(decoded, groups, len(buffers)))


def _decodes_control() -> bool:
    """Whether this process decodes a good dump."""
    return not isinstance(isolate(lambda: decode_content([control_dump().data])), Failure)


def number_dumps(
    tables: Sequence[Mapping[str, pa.Table]], ids: Sequence[NDArray[np.int32]]
) -> dict[str, pa.Table]:
    """Tables of several decoder calls joined by name, with `dump_id` for `dump_index`.

    Args:
        tables: Tables of each call.
        ids: Ids of the dumps of each call, by ``dump_index``.
    """
    return {name: _number([some[name] for some in tables], ids) for name in tables[0]}


def _number(tables: Sequence[pa.Table], ids: Sequence[NDArray[np.int32]]) -> pa.Table:
    rows = pa.concat_tables(map(renumber_dumps, tables, ids))
    names = ["dump_id" if name == "dump_index" else name for name in rows.column_names]
    return rows.rename_columns(names)

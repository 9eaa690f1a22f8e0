"""Reading, decoding and summarising dumps: the part of an ingest that runs in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from ingest import DecodedBatch, decode_dumps
from ingest.dump import Dump, HashedFile, Refusal
from ingest.errors import DumpError, SourceError
from ingest.schemas.dumps import ERRORS
from ingest.tables.numbering import renumber_dumps
from warehouse.load.isolate import Failure, isolate, isolate_each
from warehouse.statistics.rollups import Statistics, summarise

UNDECODABLE = "undecodable"  # for an unforeseen reason

_Any = TypeVar("_Any")


class Content(NamedTuple):
    """Decoded dumps and their statistics; ``dump_index`` is the position of each dump."""

    decoded: DecodedBatch
    statistics: Statistics


def read_dumps(dumps: Sequence[Dump]) -> list[HashedFile | Refusal]:
    """Read and hash dumps; an unreadable dump is refused."""
    return [_read_dump(dump) for dump in dumps]


def _read_dump(dump: Dump) -> HashedFile | Refusal:
    try:
        read = isolate(dump.read_hashed)
    except SourceError as error:
        return Refusal(dump.name, None, error.reason, None, error.problem)
    if isinstance(read, Failure):
        return Refusal(dump.name, None, "unreadable", None, read.detail)
    return read


def decode_apart(dumps: Sequence[_Any], decode: Callable[[Sequence[_Any]], Content]) -> Content:
    """Decode and summarise dumps; only a dump that makes the decoder fail is refused."""
    contents = isolate_each(dumps, decode, lambda _, failure: _refuse(failure, decode(())))
    return merge_contents(contents)


def _refuse(failure: Failure, nothing: Content) -> Content:
    """The content of a dump that made the decoder fail: empty tables and an error."""
    row = {"dump_index": 0, "reason": UNDECODABLE, "detail": failure.detail}
    errors = pa.Table.from_pylist([row], schema=ERRORS)
    resolution = np.ones(1, np.int64)
    return Content(
        DecodedBatch(nothing.decoded.tables, errors),
        Statistics(nothing.statistics.tables, resolution),
    )


def stream_apart(parts: Iterator[DecodedBatch], source: str) -> Iterator[DecodedBatch]:
    """Parts of a big dump, decoded lazily.

    Raises:
        DumpError: The dump is malformed or makes the decoder fail; discard the earlier parts.
    """
    while (part := isolate(lambda: next(parts, None))) is not None:
        if isinstance(part, Failure):
            raise DumpError(source, reason=UNDECODABLE, byte_offset=None, detail=part.detail)
        yield part


def decode_content(buffers: Sequence[Any]) -> Content:
    """Decode and summarise dumps."""
    decoded = decode_dumps(buffers)
    return Content(decoded, summarise(decoded, len(buffers)))


def merge_contents(contents: Sequence[Content]) -> Content:
    """The content of all dumps, as if decoded in one call; signatures may be repeated."""
    if len(contents) == 1:
        return contents[0]
    counts = [len(one.statistics.resolution) for one in contents]
    numbers = np.split(np.arange(sum(counts), dtype=np.int32), np.cumsum(counts)[:-1])

    def stack(tables: Sequence[pa.Table]) -> pa.Table:
        return pa.concat_tables(map(renumber_dumps, tables, numbers))

    def stack_each(tables: Sequence[dict[str, pa.Table]]) -> dict[str, pa.Table]:
        return {name: stack([one[name] for one in tables]) for name in tables[0]}

    decoded, statistics = zip(*contents, strict=True)
    return Content(
        DecodedBatch(
            stack_each([one.tables for one in decoded]), stack([one.errors for one in decoded])
        ),
        Statistics(
            stack_each([one.tables for one in statistics]),
            np.concatenate([one.resolution for one in statistics]),
        ),
    )

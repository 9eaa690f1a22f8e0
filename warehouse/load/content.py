"""Files to decoded and summarised dumps: what an ingest does in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest import DecodedBatch, decode_dumps
from ingest.dump import Dump, HashedFile, Refusal
from ingest.errors import DumpError, SourceError
from ingest.schemas.dumps import ERRORS
from ingest.tables.numbering import renumber_dumps
from warehouse.load.isolate import Failure, isolate
from warehouse.statistics.rollups import Statistics, summarise

UNDECODABLE = "undecodable"  # for no reason the decoder knows

_PARTS = 8
_Any = TypeVar("_Any")


class Content(NamedTuple):
    """Decoded dumps and their statistics; ``dump_index`` is the position of each dump."""

    decoded: DecodedBatch
    statistics: Statistics


def read_dumps(dumps: Sequence[Dump]) -> list[HashedFile | Refusal]:
    """Read and hash dumps; one that cannot be read is refused."""
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
    """Decode and summarise dumps; one that breaks the decoder is refused, and harms no other."""
    content = isolate(lambda: decode(dumps))
    if not isinstance(content, Failure):
        return content
    if len(dumps) == 1:
        return _refuse(content, decode(()))
    return merge_contents([decode_apart(some, decode) for some in split(dumps)])


def split(dumps: Sequence[_Any]) -> list[Sequence[_Any]]:
    """Parts of at least two dumps, among which one is to be found that is in the way.

    They are several, for each look at one that is may take as long as is granted to it.
    """
    size = -(-len(dumps) // _PARTS)
    return [dumps[first : first + size] for first in range(0, len(dumps), size)]


def _refuse(trouble: Failure, nothing: Content) -> Content:
    """The content of one dump that broke the decoder, from which there is nothing."""
    row = {"dump_index": 0, "reason": UNDECODABLE, "detail": trouble.detail}
    errors = pa.Table.from_pylist([row], schema=ERRORS)
    resolution = np.ones(1, np.int64)
    return Content(
        DecodedBatch(nothing.decoded.tables, errors),
        Statistics(nothing.statistics.tables, resolution),
    )


def stream_apart(parts: Iterator[DecodedBatch], source: str) -> Iterator[DecodedBatch]:
    """Parts of a big dump, as they are decoded.

    Raises:
        DumpError: It is malformed, or breaks the decoder; forget the parts before.
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
    """Contents as if their dumps had been decoded in one call; signatures may come twice."""
    if not contents:
        return decode_content(())
    decoded, statistics = zip(*contents, strict=True)
    numbers = _count_on([len(one.resolution) for one in statistics])
    errors = _stack([one.errors for one in decoded], numbers)
    resolution = np.concatenate([one.resolution for one in statistics])
    return Content(
        DecodedBatch(_stack_each([one.tables for one in decoded], numbers), errors),
        Statistics(_stack_each([one.tables for one in statistics], numbers), resolution),
    )


def _count_on(dump_counts: Sequence[int]) -> list[NDArray[np.int32]]:
    """Numbers for the dumps of each group: 0, 1, ... through all groups."""
    numbers = np.arange(sum(dump_counts), dtype=np.int32)
    return np.split(numbers, np.cumsum(dump_counts)[:-1])


def _stack_each(
    contents: Sequence[dict[str, pa.Table]], numbers: Sequence[NDArray[np.int32]]
) -> dict[str, pa.Table]:
    return {name: _stack([one[name] for one in contents], numbers) for name in contents[0]}


def _stack(tables: Sequence[pa.Table], numbers: Sequence[NDArray[np.int32]]) -> pa.Table:
    """Rows of tables; `numbers` are those of each table's dumps among all."""
    return pa.concat_tables(map(renumber_dumps, tables, numbers))

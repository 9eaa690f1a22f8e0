"""The ETRecord that an Inspector was given: a path, or ExecuTorch's object."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

from ingest.sources.paths import Source, read_source
from queries.event_blocks.build import read_correlation
from warehouse.programs.exported_programs import parse_etrecord

Path = str | os.PathLike[str]


@runtime_checkable
class SavedRecord(Protocol):
    """ExecuTorch's ETRecord object."""

    def save(self, path: str) -> None:
        """Write the record to a file."""


class GivenRecord:
    """The ETRecord, read once.

    Attributes:
        correlation: The ETRecord, ready to correlate.
    """

    def __init__(self, given: Path | SavedRecord, *, graph: str, method: str | None) -> None:
        """Read it as `read_correlation` does; what that raises, this raises."""
        self._given: Any = given
        with self.on_disk() as source:
            self.correlation = read_correlation(source, graph=graph, method=method)

    @contextmanager
    def on_disk(self) -> Iterator[Source]:
        """The record as a file, saved if need be."""
        if isinstance(self._given, str | os.PathLike):
            yield Source(os.fspath(self._given))
            return
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "etrecord")
            self._given.save(path)
            yield Source(path)

    def parse(self) -> Any:
        """ExecuTorch's object; without executorch this raises QueryError."""
        if not isinstance(self._given, str | os.PathLike):
            return self._given
        source = Source(os.fspath(self._given))
        return parse_etrecord(read_source(source), source.name)

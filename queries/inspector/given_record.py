"""The ETRecord that an Inspector was given: a path, or ExecuTorch's object."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

from ingest.etrecord.names import EDGE_PROGRAM
from ingest.etrecord.record import read_etrecord
from ingest.sources.paths import Source, read_source
from warehouse.programs.correlation import Correlation
from warehouse.programs.exported_programs import parse_etrecord

EDGE_KEY = "edge_dialect_graph_module"  # the Inspector's name for EDGE_PROGRAM

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

    def __init__(self, given: Path | SavedRecord, graph: str) -> None:
        """Read it; `graph` tells operators, stack traces and modules.

        An unreadable one raises IngestError, an unknown graph QueryError.
        """
        self._given: Any = given
        with self.on_disk() as source:
            self.correlation = Correlation(read_etrecord(source), graph=graph_name(graph))

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


def graph_name(name: str) -> str:
    """Our name of a graph that goes by the Inspector's or ours."""
    return EDGE_PROGRAM if name == EDGE_KEY else name

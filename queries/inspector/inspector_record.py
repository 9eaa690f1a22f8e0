"""The ETRecord of an Inspector, given as a path or as ExecuTorch's object."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

from tracehouse.ingest.errors import EtRecordError, SourceError
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source
from tracehouse.queries.errors import (
    InvalidRecordError,
    MissingFileError,
    UnreadableFileError,
    WrongTypeError,
)
from tracehouse.queries.event_blocks.build import read_correlation
from tracehouse.warehouse.programs.exported_programs import parse_etrecord

Path = str | os.PathLike[str]


@runtime_checkable
class SavedRecord(Protocol):
    """ExecuTorch's ETRecord object."""

    def save(self, path: str) -> None:
        """Write the record to a file."""


@contextmanager
def file_errors() -> Iterator[None]:
    """Raise the drop-in's errors for files that cannot be read.

    Raises:
        MissingFileError: A file does not exist.
        UnreadableFileError: A file cannot be read.
    """
    try:
        yield
    except SourceError as error:
        known = UnreadableFileError if os.path.exists(error.source) else MissingFileError
        raise known(error.source, error.problem, reason=error.reason) from error


class InspectorRecord:
    """An ETRecord, read once."""

    def __init__(self, given: Path | SavedRecord, *, graph: str, method: str | None) -> None:
        """Read the ETRecord with `read_correlation`, whose errors are passed on.

        Raises:
            WrongTypeError: `given` is neither a path nor ExecuTorch's object.
            InvalidRecordError: The file is not a readable ETRecord.
        """
        if not isinstance(given, str | os.PathLike | SavedRecord):
            kind = type(given).__name__
            raise WrongTypeError(f"etrecord: wanted a path or an ETRecord object, not a {kind}")
        self._given: Any = given
        with self.on_disk() as source:
            try:
                self.correlation = read_correlation(source, graph=graph, method=method)
            except EtRecordError as error:
                raise InvalidRecordError(error.source, error.problem) from error

    def __deepcopy__(self, memo: object) -> InspectorRecord:
        """The object itself, as it never changes."""
        return self

    @contextmanager
    def on_disk(self) -> Iterator[Source]:
        """The record as a file, saved temporarily if it is an object."""
        if isinstance(self._given, str | os.PathLike):
            with file_errors():
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
        with self.on_disk() as source:
            return parse_etrecord(read_source(source), source.name)

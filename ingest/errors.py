"""Errors of decoding, recording and uploading."""

from __future__ import annotations

import re

_WORDS = {  # pydantic's words, and our own
    "Value error, ": "",
    "Input should be": "wanted",
    "String should have at least 1 character": "wanted a text that is not blank",
}


class IngestError(Exception):
    """The root of the errors of `ingest`; messages name the place, the problem and the remedy."""


class _FileError(IngestError):
    """An error of a file, which the message names."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class SourceError(_FileError):
    """A path, glob or archive member cannot be read."""

    def __init__(self, source: str, problem: str, *, reason: str = "unreadable") -> None:
        super().__init__(source, problem)
        self.reason = reason


class ManifestError(_FileError):
    """The manifest of a dump is missing a field or has a malformed one."""

    reason = "manifest"


class DumpError(IngestError):
    """Bytes are not a well-formed ETDump or profiler blob; has the fault's reason and offset."""

    def __init__(self, source: str, *, reason: str, byte_offset: int | None, detail: str) -> None:
        place = "" if byte_offset is None else f"offset {byte_offset:,}: "
        super().__init__(f"{source}: {place}{detail} [{reason}]")
        self.source = source
        self.reason = reason
        self.byte_offset = byte_offset
        self.detail = detail


class EtRecordError(_FileError):
    """A file is not an ETRecord, or a part of it cannot be read."""


class RecordingError(IngestError):
    """A program could not be run under the tracer, or its dump could not be written."""


class ServiceError(IngestError):
    """A service cannot be reached, or refuses a request; `status` is None without an answer."""

    def __init__(self, url: str, detail: str, *, reason: str, status: int | None = None) -> None:
        super().__init__(f"{url}: {'' if status is None else f'{status}: '}{detail}")
        self.url = url
        self.detail = detail
        self.reason = reason
        self.status = status


class TracerError(IngestError):
    """An ETDump cannot be written; what was traced before is unchanged."""


class NoBlockError(TracerError):
    """No block is open, or there is nothing to write."""


class AllocatorError(TracerError):
    """An allocator is registered after the block's first event, or used without registration."""


class EntryError(TracerError):
    """An event is ended that is not open, or with the method for the other kind of event."""


class FilterError(TracerError):
    """A filter of logged values has a malformed regular expression, or an empty range of ids."""


class UnwritableError(TracerError):
    """An ETDump cannot hold a value: out of range, not Unicode, of unknown type or too large."""


class SinkError(TracerError):
    """A finished dump cannot be stored."""


def pydantic_problem(problem: str) -> str:
    """A message of pydantic in the style of our own messages.

    >>> pydantic_problem("Input should be less than or equal to 65535")
    'wanted less than or equal to 65535'
    """
    for theirs, ours in _WORDS.items():
        problem = problem.replace(theirs, ours)
    return re.sub(r"a valid dictionary or instance of \w+", "an object", problem)

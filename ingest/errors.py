"""What can go wrong between bytes and Arrow tables.

IngestError
├── SourceError      a path, glob or archive cannot be read
├── ManifestError    device, build, model or clock is missing or malformed
├── DumpError        bytes are not a well-formed ETDump or profiler blob
├── EtRecordError    a file, or a part of it, is not a readable ETRecord
├── RecordingError   a program could not be run under the tracer
├── ServiceError     a service cannot be reached, or refuses what it is asked
└── TracerError      what is traced cannot become an ETDump
    ├── NoBlockError     no block is open, or there is nothing to write
    ├── AllocatorError   an allocator comes after events, or is not known
    ├── EntryError       an event is ended that is not open, or is of the other kind
    ├── FilterError      a filter of logged values is malformed
    ├── UnwritableError  an ETDump cannot hold this number, text, value or size
    └── SinkError        a finished dump cannot be put where it should go
"""

from __future__ import annotations


class IngestError(Exception):
    """Bytes could not become Arrow tables; the message says where, what and what is wanted."""


class SourceError(IngestError):
    """A path, glob or archive member cannot be read."""

    def __init__(self, source: str, problem: str, *, reason: str = "unreadable") -> None:
        """Keep source, problem and machine-readable reason apart, for reports in columns."""
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem
        self.reason = reason


class ManifestError(IngestError):
    """The manifest of a dump is missing a field or holds a malformed one."""

    def __init__(self, source: str, problem: str) -> None:
        """Keep the source and the problem apart, for callers that report them in columns."""
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class DumpError(IngestError):
    """Bytes are no well-formed ETDump or profiler blob; carries reason and offset of the fault."""

    def __init__(self, source: str, *, reason: str, byte_offset: int | None, detail: str) -> None:
        """Keep the machine-readable reason and offset beside the sentence."""
        place = "" if byte_offset is None else f"offset {byte_offset:,}: "
        super().__init__(f"{source}: {place}{detail} [{reason}]")
        self.source = source
        self.reason = reason
        self.byte_offset = byte_offset
        self.detail = detail


class EtRecordError(IngestError):
    """A file is not an ETRecord, or a part of it cannot be read."""

    def __init__(self, source: str, problem: str) -> None:
        """Keep the source (``a.etrecord!member`` for a part) and the problem apart."""
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class RecordingError(IngestError):
    """A program could not be run under the tracer, or its dump could not be written."""


class ServiceError(IngestError):
    """A service cannot be reached, or refuses what it is asked."""

    def __init__(self, url: str, detail: str, *, reason: str, status: int | None = None) -> None:
        """Keep what was asked, why it is refused in words and in a word, and HTTP's status."""
        super().__init__(f"{url}: {'' if status is None else f'{status}: '}{detail}")
        self.url = url
        self.detail = detail
        self.reason = reason
        self.status = status


class TracerError(IngestError):
    """What is traced cannot become an ETDump; what was traced before is as it was."""


class NoBlockError(TracerError):
    """No block is open, or there is nothing to write."""


class AllocatorError(TracerError):
    """An allocator comes after the block's first event, or no block has registered it."""


class EntryError(TracerError):
    """An event is ended that is not open, or by the method for the other kind of event."""


class FilterError(TracerError):
    """A filter of logged values has a malformed regular expression, or an empty range of ids."""


class UnwritableError(TracerError):
    """An ETDump cannot hold this: out of range, not Unicode, of an unknown type, too large."""


class SinkError(TracerError):
    """A finished dump cannot be put where it should go."""


def pydantic_problem(problem: str) -> str:
    """What pydantic says of a value.

    >>> pydantic_problem("Input should be less than or equal to 65535")
    'wanted less than or equal to 65535'
    """
    return problem.replace("Value error, ", "").replace("Input should be", "wanted")

"""What can go wrong between bytes and Arrow tables.

IngestError
├── SourceError      a path, glob or archive cannot be read
├── ManifestError    device, build, model or clock is missing or malformed
└── DumpError        bytes are not a well-formed ETDump
"""

from __future__ import annotations


class IngestError(Exception):
    """Bytes could not become Arrow tables; the message says where, what and what is wanted."""


class SourceError(IngestError):
    """A path, glob or archive member cannot be read."""

    def __init__(self, source: str, problem: str) -> None:
        """Keep the source and the problem apart, for callers that report them in columns."""
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class ManifestError(IngestError):
    """The manifest of a dump is missing a field or holds a malformed one."""

    def __init__(self, source: str, problem: str) -> None:
        """Keep the source and the problem apart, for callers that report them in columns."""
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


class DumpError(IngestError):
    """Bytes are not a well-formed ETDump; carries reason and byte offset of the first fault."""

    def __init__(self, source: str, *, reason: str, byte_offset: int | None, detail: str) -> None:
        """Keep the machine-readable reason and offset beside the sentence."""
        place = "" if byte_offset is None else f"offset {byte_offset:,}: "
        super().__init__(f"{source}: {place}{detail} [{reason}]")
        self.source = source
        self.reason = reason
        self.byte_offset = byte_offset
        self.detail = detail

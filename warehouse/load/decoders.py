"""Who decodes what comes in: this process, for files of one's own, or a child of it, for others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ingest import DecodedBatch, stream_dump
from ingest.dump import Companion
from warehouse.load.content import Content, decode_content
from warehouse.load.new_dump import NewDump


class Decoder(Protocol):
    """Decodes dumps. What it raises because of one of them can be contained, see `isolate`."""

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump; one that is malformed raises DumpError."""

    def try_program(self, file: Companion, method: str | None) -> None:
        """Pass if an ETRecord can be read here, or is refused as it should be."""

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Pass if the debug buffers of dumps can be read here; those without one are left out."""


class _OwnDecoder:
    """Decodes in this process: what breaks it is its owner's."""

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""
        return decode_content([dump.data for dump in dumps])

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump; one that is malformed raises DumpError."""
        return stream_dump(dump.data, dump.source)

    def try_program(self, file: Companion, method: str | None) -> None:
        """Pass: it is read right after."""

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Pass, likewise."""


OWN_DECODER = _OwnDecoder()

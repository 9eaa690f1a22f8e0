"""Decoders: this process for the user's own files, or child processes for untrusted files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from tracehouse.ingest.decode import DecodedBatch, stream_dump
from tracehouse.ingest.dump import Companion
from tracehouse.warehouse.load.content import Content, decode_content
from tracehouse.warehouse.load.new_dump import NewDump
from tracehouse.warehouse.programs.reader import Program, read_program


class Decoder(Protocol):
    """Decodes dumps; `isolate` handles the errors that a dump causes."""

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump; a malformed dump raises DumpError."""

    def read_program(
        self, file: Companion, method: str | None, known: Mapping[int, Program]
    ) -> Program:
        """The ETRecord in a file; see `warehouse.programs.reader.read_program`."""

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Check that this process will survive reading the dumps' debug buffers."""


class _OwnDecoder:
    """Decodes in this process, which the user's own files may crash."""

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        return decode_content([dump.data for dump in dumps])._replace(dumps=dumps)

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        return stream_dump(dump.data, dump.source)

    def read_program(
        self, file: Companion, method: str | None, known: Mapping[int, Program]
    ) -> Program:
        return read_program(file, method, known)

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Check nothing: the debug buffers are read next."""


OWN_DECODER = _OwnDecoder()

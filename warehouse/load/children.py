"""Children of this process that decode for it: kept for the next who asks, ended where they fail.

A child may take so much memory and time for what it is given; both are far above what the decoder
promises to take, and above what honest files ever took.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ingest import DecodedBatch
from ingest.dump import Companion
from ingest.errors import DumpError
from warehouse.children.messages import Message, Reply, receive, send
from warehouse.children.process import ChildProcess
from warehouse.errors import StoreError
from warehouse.load.content import Content
from warehouse.load.isolate import ChildError
from warehouse.load.messages import find_content, find_decoded
from warehouse.load.new_dump import NewDump

MOST_BYTES = 2 << 30  # of memory
BYTES_PER_BYTE = 8  # likewise, per byte to decode
MOST_SECONDS = 30.0
SECONDS_PER_BYTE = 4 / (1 << 20)

# Memory that glibc keeps from one file to the next: giving it back took a quarter of the time.
_KEPT = {"MALLOC_MMAP_THRESHOLD_": f"{32 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{64 << 20}"}

_REMEDY = (
    "if it is honest, write it to a file with 'tracehouse archive get SHA256' and ingest that with "
    "'tracehouse ingest', which sets no such limit"
)


class FilePart(NamedTuple):
    """Where bytes stand that are to be decoded: in a file that does not change meanwhile."""

    path: Path
    offset: int
    byte_count: int


class DecodingChild:
    """A process that decodes."""

    def __init__(self) -> None:
        """Start it; it is ready by and by.

        Raises:
            StoreError: It cannot be started.
        """
        try:
            self._child = ChildProcess(
                "warehouse.load.child", environment={**os.environ, **_KEPT}, stderr=None
            )
        except OSError as error:
            raise StoreError(sys.executable, _explain_start(f"{error.strerror}")) from error

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """It."""
        return self._child.process

    def ask(self, task: str, parts: Sequence[FilePart], **more: object) -> Reply:
        """What the child answers; it has to be ended if this raises anything.

        Raises:
            ChildError: It took too much memory or time, or died.
            StoreError: It does not start.
        """
        self._await_start()
        byte_count = sum(part.byte_count for part in parts)
        most_bytes = MOST_BYTES + BYTES_PER_BYTE * byte_count
        seconds = MOST_SECONDS + SECONDS_PER_BYTE * byte_count
        files = [(str(path.absolute()), offset, count) for path, offset, count in parts]
        request: Message = {"task": task, "files": files, "most_bytes": most_bytes, **more}
        channel = self._child.channel
        channel.settimeout(seconds)
        try:
            send(channel, request)
            reply = receive(channel)
        except TimeoutError as error:
            raise ChildError(f"took more than {seconds:,.0f} s to decode; {_REMEDY}") from error
        except (EOFError, OSError) as error:
            raise ChildError(f"its decoder {self.end()}; {_REMEDY}") from error
        if reply.message.get("is_too_much"):
            limit = f"{most_bytes / (1 << 20):,.0f} MiB of memory"
            raise ChildError(f"takes more than {limit} to decode; {_REMEDY}")
        return reply

    def end(self) -> str:
        """End it; tells how it ended if it did so by itself."""
        return self._child.end()

    def _await_start(self) -> None:
        try:
            self._child.await_start()
        except (EOFError, OSError) as error:
            raise StoreError(sys.executable, _explain_start(f"it {self.end()}")) from error


def _explain_start(why: str) -> str:
    return (
        f"a process that decodes cannot be started ({why}); what is in the inbox is safe: run "
        "'tracehouse drain' when that is mended"
    )


class DecodingChildren:
    """Children that wait to be asked; as many as are asked at a time."""

    def __init__(self) -> None:
        """None is started yet."""
        self._waiting: list[DecodingChild] = []

    def prepare(self) -> None:
        """Start one ahead, if none is there; a StoreError if it cannot be started."""
        if not self._waiting:
            self._waiting.append(DecodingChild())

    @contextmanager
    def one(self) -> Iterator[DecodingChild]:
        """A child for oneself, which waits again afterwards; it is ended if the body fails."""
        try:
            child = self._waiting.pop()
        except IndexError:
            child = DecodingChild()
        try:
            yield child
        except BaseException:  # an interrupt too leaves it in the middle of something
            child.end()
            raise
        self._waiting.append(child)

    def close(self) -> None:
        """End them."""
        while self._waiting:
            self._waiting.pop().end()


class ChildDecoder:
    """Decodes in children; what one of them does not survive can be contained, see `isolate`."""

    def __init__(self, children: DecodingChildren, places: Mapping[Hashable, FilePart]) -> None:
        """Take who decodes, and where files stand: by SHA-256, ETRecords by their `Companion`.

        The places may become known later, but before a file is to be decoded.
        """
        self._children, self._places = children, places

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""
        parts = [self._places[dump.sha256] for dump in dumps]
        backends = [dump.manifest.model.backend for dump in dumps]
        return find_content(self._ask("decode", parts, backends=backends).tables)

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump.

        Raises:
            DumpError: It is malformed; forget the parts before.
            ChildError: A child did not survive it, likewise.
        """
        part, backends = self._places[dump.sha256], [dump.manifest.model.backend]
        with self._children.one() as child:
            _check(child.ask("stream", [part], name=dump.source, backends=backends))
            while (reply := child.ask("next", [part])).tables:
                yield find_decoded(reply.tables)
        if "fault" in reply.message:
            reason, byte_offset, detail = reply.message["fault"]
            raise DumpError(dump.source, reason=reason, byte_offset=byte_offset, detail=detail)
        _check(reply)

    def try_program(self, file: Companion, method: str | None) -> None:
        """Pass if a child survives an ETRecord."""
        _check(self._ask("program", [self._places[file]], method=method))

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Pass if a child survives what dumps find in their debug buffers."""
        logged = [dump for dump in dumps if dump.debug_buffer]
        if logged:
            hashes = [dump.sha256 for dump in logged]
            hashes += [dump.debug_buffer.sha256 for dump in logged if dump.debug_buffer]
            self._ask("buffers", [self._places[sha256] for sha256 in hashes])

    def _ask(self, task: str, parts: Sequence[FilePart], **more: object) -> Reply:
        with self._children.one() as child:
            reply = child.ask(task, parts, **more)
        _check(reply)
        return reply


def _check(reply: Reply) -> None:
    """Pass if nothing is wrong.

    Raises:
        ChildError: Something is, and the child survived it.
    """
    if "trouble" in reply.message:
        raise ChildError(reply.message["trouble"])

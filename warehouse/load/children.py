"""Child processes that decode dumps; they are reused, or killed after a failure.

Each request has limits on memory and time that depend on the size of its files. Both are far above
the decoder's guarantees, and above the needs of any genuine file so far.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ingest import DecodedBatch
from ingest.dump import Companion
from ingest.errors import DumpError
from warehouse.children.messages import Message, Reply, receive, send
from warehouse.children.process import ChildProcess
from warehouse.errors import StoreError
from warehouse.load.content import Content
from warehouse.load.isolate import ChildError
from warehouse.load.messages import unpack_content, unpack_decoded
from warehouse.load.new_dump import NewDump

# Bytes of a file, which do not change while they are decoded: path, offset and size.
Place = tuple[Path, int, int]

MOST_BYTES = 2 << 30  # of memory
BYTES_PER_BYTE = 8  # of memory, in addition, per byte to decode
MOST_SECONDS = 30.0
SECONDS_PER_BYTE = 4 / (1 << 20)

# Let glibc keep freed memory for the next file: returning it took a quarter of the time.
_KEPT = {"MALLOC_MMAP_THRESHOLD_": f"{32 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{64 << 20}"}

_REMEDY = (
    "if it is genuine, write it to a file with 'tracehouse archive get SHA256' and ingest that "
    "file with 'tracehouse ingest', which has no such limit"
)


class DecodingChild(ChildProcess):
    """A process that decodes."""

    def __init__(self) -> None:
        """Start the process without waiting for it to be ready.

        Raises:
            StoreError: The process cannot be started.
        """
        environment = {**os.environ, **_KEPT}
        try:
            super().__init__("warehouse.load.child", environment=environment, stderr=None)
        except OSError as error:
            raise StoreError(sys.executable, _explain_start(f"{error.strerror}")) from error

    def request(self, task: str, places: Sequence[Place], **more: object) -> Reply:
        """The child's reply; after any error, the caller must end the child.

        Raises:
            ChildError: The child took too much memory or time, or died.
            StoreError: The child does not start.
        """
        try:
            self.await_start()
        except (EOFError, OSError) as error:
            raise StoreError(sys.executable, _explain_start(f"it {self.end()}")) from error
        byte_count = sum(count for _, _, count in places)
        most_bytes = MOST_BYTES + BYTES_PER_BYTE * byte_count
        seconds = MOST_SECONDS + SECONDS_PER_BYTE * byte_count
        files = [(str(path.absolute()), offset, count) for path, offset, count in places]
        request: Message = {"task": task, "files": files, "most_bytes": most_bytes, **more}
        self.channel.settimeout(seconds)
        try:
            send(self.channel, request)
            reply = receive(self.channel)
        except TimeoutError as error:
            raise ChildError(f"took more than {seconds:,.0f} s to decode; {_REMEDY}") from error
        except (EOFError, OSError) as error:
            raise ChildError(f"its decoder {self.end()}; {_REMEDY}") from error
        if reply.message.get("is_too_much"):
            limit = f"{most_bytes / (1 << 20):,.0f} MiB of memory"
            raise ChildError(f"takes more than {limit} to decode; {_REMEDY}")
        return reply


def _explain_start(why: str) -> str:
    return (
        f"a decoding process cannot be started ({why}); dumps in the inbox are safe: run "
        "'tracehouse drain' later"
    )


class DecodingChildren:
    """A pool of children, which grows to the largest number in use at a time."""

    def __init__(self) -> None:
        self._waiting: list[DecodingChild] = []

    def prepare(self) -> None:
        """Start a child if the pool is empty; raises StoreError if it cannot be started."""
        if not self._waiting:
            self._waiting.append(DecodingChild())

    @contextmanager
    def one(self) -> Iterator[DecodingChild]:
        """A child for exclusive use in the body; it is killed if the body fails."""
        try:
            child = self._waiting.pop()
        except IndexError:
            child = DecodingChild()
        try:
            yield child
        except BaseException:  # an interrupt, too, leaves a request unfinished
            child.end()
            raise
        self._waiting.append(child)

    def close(self) -> None:
        """End all children in the pool."""
        while self._waiting:
            self._waiting.pop().end()


class ChildDecoder:
    """Decodes in children; `isolate` turns the death of a child into a Failure."""

    def __init__(self, children: DecodingChildren, places: Mapping[str, Place]) -> None:
        """Take the pool, and where files stand by SHA-256, the key of ETRecords.

        Places may be added later, but before their files are decoded.
        """
        self._children, self._places = children, places

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""
        places = [self._places[dump.sha256] for dump in dumps]
        backends = [dump.manifest.model.backend for dump in dumps]
        reply = self._ask("decode", places, backends=backends)
        return unpack_content(reply.tables)._replace(dumps=dumps)

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump.

        Raises:
            DumpError: The dump is malformed; discard the earlier parts.
            ChildError: The dump crashed a child; discard the earlier parts.
        """
        place, backends = self._places[dump.sha256], [dump.manifest.model.backend]
        with self._children.one() as child:
            _check(child.request("stream", [place], name=dump.source, backends=backends))
            while (reply := child.request("next", [place])).tables:
                yield unpack_decoded(reply.tables)
        if "fault" in reply.message:
            reason, byte_offset, detail = reply.message["fault"]
            raise DumpError(dump.source, reason=reason, byte_offset=byte_offset, detail=detail)
        _check(reply)

    def try_program(self, file: Companion, method: str | None) -> None:
        """Check that a child survives an ETRecord."""
        _check(self._ask("program", [self._places[str(file.key)]], method=method))

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Check that a child survives looking up dumps' tensors in their debug buffers."""
        logged = [dump for dump in dumps if dump.debug_buffer]
        if logged:
            hashes = [dump.sha256 for dump in logged]
            hashes += [dump.debug_buffer.sha256 for dump in logged if dump.debug_buffer]
            self._ask("buffers", [self._places[sha256] for sha256 in hashes])

    def _ask(self, task: str, places: Sequence[Place], **more: object) -> Reply:
        with self._children.one() as child:
            reply = child.request(task, places, **more)
        _check(reply)
        return reply


def _check(reply: Reply) -> None:
    if "unreadable" in reply.message:
        problem = f"cannot be read ({reply.message['unreadable']}); the dumps in it are safe"
        raise StoreError("the inbox", f"{problem}: run 'tracehouse drain' later")
    if "failure" in reply.message:
        raise ChildError(reply.message["failure"])

"""Child processes that decode dumps; they are reused, or killed after a failure.

Each request has limits on memory and time that depend on the size of its files. Both are far above
the decoder's guarantees, and above the needs of any genuine file so far.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.dump import Bytes, Companion
from tracehouse.ingest.errors import DumpError, EtRecordError, ManifestError
from tracehouse.ingest.manifest.sidecars import MAX_SIDECAR_BYTES, Fields, Sidecar, parse_sidecar
from tracehouse.warehouse.children.messages import (
    GONE,
    MOST_FILES,
    Message,
    Reply,
    Tables,
    receive,
    send,
)
from tracehouse.warehouse.children.process import ChildProcess
from tracehouse.warehouse.errors import StoreError, explain_failure
from tracehouse.warehouse.load.child import pack_files, unpack_content, unpack_decoded
from tracehouse.warehouse.load.content import ChildError, Content, NewDump
from tracehouse.warehouse.programs.reader import Program

# Bytes of a file, which do not change while they are decoded: path, offset and size.
Place = tuple[Path, int, int]
File = Place | Bytes  # opened for the child, or sent to it

MOST_BYTES = 2 << 30  # memory of a child
BYTES_PER_BYTE = 8  # more memory per byte to decode
MOST_SECONDS = 30.0
SECONDS_PER_BYTE = 4 / (1 << 20)
OWN_SIDECAR_BYTES = 4 << 10  # A sidecar up to this size needs no child

# Let glibc keep freed memory for the next file: returning it took a quarter of the time.
_KEPT = {"MALLOC_MMAP_THRESHOLD_": f"{32 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{64 << 20}"}

_SIDECAR_REMEDY = "send the dump without it, and report it if it is genuine"
_NO_TABLES: Tables = {}
_NO_PLACES: Mapping[str, Place] = {}
_REFUSALS = {one.__name__: one for one in (EtRecordError, ManifestError)}
_REMEDY = (
    "if it is genuine, write it to a file with 'tracehouse store archive get SHA256' and ingest "
    "that file with 'tracehouse ingest', which has no such limit"
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
            super().__init__(
                "tracehouse.warehouse.load.child", environment=environment, stderr=None
            )
        except OSError as error:
            raise StoreError(sys.executable, _explain_start(f"{error.strerror}")) from error

    def request(
        self,
        task: str,
        files: Sequence[File],
        tables: Tables = _NO_TABLES,
        *,
        remedy: str = _REMEDY,
        is_limited: bool = True,
        **more: Any,
    ) -> Reply:
        """The child's reply; after any error, the caller must end the child.

        Raises:
            ChildError: The child took too much memory or time, or died.
            StoreError: The child does not start, or a file cannot be read.
        """
        try:
            self.await_start()
        except (EOFError, OSError) as error:
            raise StoreError(sys.executable, _explain_start(f"it {self.end()}")) from error
        byte_count = sum(map(_count_bytes, files)) + sum(one.nbytes for one in tables.values())
        most_bytes = MOST_BYTES + BYTES_PER_BYTE * byte_count if is_limited else 0
        seconds = MOST_SECONDS + SECONDS_PER_BYTE * byte_count if is_limited else None
        self.channel.settimeout(seconds)
        try:
            with _opened(files) as opened:
                request: Message = {
                    "task": task, "files": opened.places, "most_bytes": most_bytes, **more,
                }  # fmt: skip
                sent = pack_files(opened.sent)
                send(self.channel, request, {**tables, **sent}, opened.descriptors)
            reply = receive(self.channel)
        except TimeoutError as error:
            raise ChildError(f"took more than {seconds or 0:,.0f} s to decode; {remedy}") from error
        except GONE as error:
            raise ChildError(f"its decoder {self.end()}; {remedy}") from error
        if reply.message.get("is_too_much"):
            limit = f"{most_bytes / (1 << 20):,.0f} MiB of memory"
            raise ChildError(f"takes more than {limit} to decode; {remedy}")
        return reply


def _count_bytes(file: File) -> int:
    return file[2] if isinstance(file, tuple) else len(file)


class _OpenFiles(NamedTuple):
    """Files of a request: where each one is, if in an open file, and the bytes of the others."""

    places: list[tuple[int, int, int] | None]  # number of a descriptor, offset and size
    descriptors: list[int]
    sent: list[Bytes]


@contextmanager
def _opened(files: Sequence[File]) -> Iterator[_OpenFiles]:
    """Files, opened for the body, since a child may open none.

    Raises:
        StoreError: A file cannot be read.
    """
    paths = dict.fromkeys(file[0] for file in files if isinstance(file, tuple) and file[2])
    numbers = {path: number for number, path in enumerate(islice(paths, MOST_FILES))}
    with ExitStack() as stack:
        opened = [stack.enter_context(_open(path)).fileno() for path in numbers]
        found = _OpenFiles([], opened, [])
        for file in files:
            if isinstance(file, tuple) and file[2] and file[0] in numbers:
                path, offset, count = file
                found.places.append((numbers[path], offset, count))
            else:
                found.places.append(None)
                found.sent.append(_read(*file) if isinstance(file, tuple) else file)
        yield found


def _read(path: Path, offset: int, count: int) -> bytes:
    """A part of a file."""
    if not count:
        return b""
    with _open(path) as file:
        file.seek(offset)
        return file.read(count)


def _open(path: Path) -> BinaryIO:
    """An open file.

    Raises:
        StoreError: It cannot be opened.
    """
    try:
        return path.open("rb")
    except OSError as error:
        problem = f"cannot be read: {explain_failure(error)}; the dumps in it are safe"
        raise StoreError(str(path), problem) from error


def _explain_start(why: str) -> str:
    return (
        f"a decoding process cannot be started ({why}); dumps in the inbox are safe: run "
        "'tracehouse store drain' later"
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
        child = self._take()
        try:
            yield child
        except BaseException:  # an interrupt, too, leaves a request unfinished
            child.end()
            raise
        self._waiting.append(child)

    def _take(self) -> DecodingChild:
        """A child that runs: one that was killed while it waited is no fault of the next file."""
        with suppress(IndexError):
            while not (child := self._waiting.pop()).is_running():
                child.end()
            return child
        return DecodingChild()

    def close(self) -> None:
        """End all children in the pool."""
        while self._waiting:
            self._waiting.pop().end()


class ChildDecoder:
    """Decodes in children; `isolate` turns the death of a child into a Failure."""

    def __init__(
        self,
        children: DecodingChildren,
        places: Mapping[str, Place] = _NO_PLACES,
        *,
        is_limited: bool = True,
    ) -> None:
        """Take the pool, and where files stand by SHA-256, the key of ETRecords.

        Places may be added later, but before their files are decoded. Other files are sent. Files
        that a store has accepted need no limits of memory and time.
        """
        self._children, self._places, self._is_limited = children, places, is_limited
        self._programs: dict[tuple[Hashable, str | None], int] = {}  # ids of ETRecords

    def decode(self, dumps: Sequence[NewDump]) -> Content:
        """Decode and summarise dumps."""
        files = [self._file(dump.sha256, dump.data) for dump in dumps]
        backends = [dump.manifest.model.backend for dump in dumps]
        reply = self._ask("decode", files, backends=backends)
        return unpack_content(reply.tables)._replace(dumps=dumps)

    def stream(self, dump: NewDump) -> Iterator[DecodedBatch]:
        """Parts of a big dump.

        Raises:
            DumpError: The dump is malformed; discard the earlier parts.
            ChildError: The dump crashed a child; discard the earlier parts.
        """
        file, backends = self._file(dump.sha256, dump.data), [dump.manifest.model.backend]
        parts = self._parts("stream", file, name=dump.source, backends=backends)
        yield from map(unpack_decoded, parts)

    def read_program(
        self, file: Companion, method: str | None, known: Mapping[int, Program]
    ) -> Program:
        """The ETRecord in a file; the child reads it again to trace events to it.

        Raises:
            EtRecordError: It is malformed, exceeds a limit or does not have the method.
        """
        id_ = self._programs.get((file.key, method), -1)
        if id_ in known:
            return known[id_]
        data = file.read()
        own = self._file(str(file.key), data)
        reply = self._ask("program", [own], name=file.name, method=method)
        id_, sha256 = reply.message["id"], reply.message["sha256"]
        self._programs[file.key, method] = id_

        def trace(events: pa.Table) -> Iterator[Tables]:
            return self._parts("trace", own, {"events": events}, name=file.name, method=method)

        return known.get(id_) or Program(id_, file.name, sha256, reply.tables, data, trace)

    def try_buffers(self, dumps: Sequence[NewDump]) -> None:
        """Check that a child survives looking up dumps' tensors in their debug buffers."""
        logged = [(dump, dump.debug_buffer) for dump in dumps if dump.debug_buffer]
        if logged:
            files = [self._file(dump.sha256, dump.data) for dump, _ in logged]
            files += [self._file(buffer.sha256, buffer.data) for _, buffer in logged]
            self._ask("buffers", files)

    def _file(self, sha256: str, data: Bytes) -> File:
        return self._places.get(sha256, data)

    def _ask(self, task: str, files: Sequence[File], **more: Any) -> Reply:
        with self._children.one() as child:
            reply = child.request(task, files, is_limited=self._is_limited, **more)
        _check(reply)
        return reply

    def _parts(
        self, task: str, file: File, tables: Tables = _NO_TABLES, **more: Any
    ) -> Iterator[Tables]:
        """The parts of an answer that may be long."""
        with self._children.one() as child:
            is_limited = self._is_limited
            _check(child.request(task, [file], tables, is_limited=is_limited, **more))
            while (reply := child.request("next", [file], is_limited=is_limited)).tables:
                yield reply.tables
        _check(reply)


class ChildSidecars:
    """Parses sidecars in children, but for the smallest: these cost less than the way there."""

    def __init__(self, children: DecodingChildren) -> None:
        self._children = children

    def parse(self, kind: Sidecar, place: str, data: Bytes) -> Fields:
        """The fields that a sidecar states; see `parse_sidecar`.

        Raises:
            ManifestError: The sidecar is malformed or exceeds a limit, also of the child.
        """
        if len(data) <= OWN_SIDECAR_BYTES:
            return parse_sidecar(kind, place, data)
        wanted = data[-MAX_SIDECAR_BYTES[kind] :] if kind is Sidecar.LOG else data
        if len(wanted) > MAX_SIDECAR_BYTES[kind]:
            return parse_sidecar(kind, place, wanted)  # which refuses it unread
        try:
            with self._children.one() as child:
                reply = child.request(
                    "sidecar", [wanted], remedy=_SIDECAR_REMEDY, kind=kind, name=place
                )
            _check(reply)
        except ChildError as error:
            raise ManifestError(place, str(error)) from error
        fields: Fields = reply.message["fields"]
        return fields


def _check(reply: Reply) -> None:
    """Check that a child has done what it was asked for.

    Raises:
        ChildError: A bug was met.
        DumpError: A dump is malformed.
        EtRecordError: An ETRecord is malformed.
        ManifestError: A sidecar is malformed.
        StoreError: The installation or the system lacks something.
    """
    match reply.message:
        case {"broken": str(why)}:
            raise StoreError(sys.executable, _explain_start(why))
        case {"failure": str(detail)}:
            raise ChildError(detail)
        case {"fault": (source, reason, byte_offset, detail)}:
            raise DumpError(source, reason=reason, byte_offset=byte_offset, detail=detail)
        case {"refused": (str(name), source, problem)}:
            raise _REFUSALS[name](source, problem)

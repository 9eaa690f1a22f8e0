"""Messages between a process and its child: the length, JSON, tables and open files.

Tables are Arrow streams, one after the other, in a file in memory, which the receiver maps without
a copy. Files are sent as descriptors, so a receiver that may open none can read these.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

MOST_FILES = 64  # of a message; the kernel passes 253 at once
GONE = (EOFError, BrokenPipeError, ConnectionResetError)  # errors if the other process has ended

_LENGTH = struct.Struct("<I")

Message = Mapping[str, Any]
Tables = Mapping[str, pa.Table]

_NO_TABLES: Tables = {}


class Reply(NamedTuple):
    """A message with its tables and the content of its files, in either direction."""

    message: Message
    tables: Tables
    files: Sequence[memoryview] = ()


def send(
    channel: socket.socket,
    message: Message,
    tables: Tables = _NO_TABLES,
    files: Sequence[int] = (),
) -> None:
    """Send a message with tables and open files, which stay open; an OSError is passed on."""
    own = [_write_tables(tables)] if tables else []
    data = json.dumps({**message, "tables": list(tables)}).encode()
    try:
        socket.send_fds(channel, [_LENGTH.pack(len(data))], [*own, *files])
    finally:
        for file in own:
            os.close(file)
    channel.sendall(data)


def receive(channel: socket.socket) -> Reply:
    """Receive a message; an OSError, such as a TimeoutError, is passed on.

    Raises:
        EOFError: The other process has ended.
    """
    head, files, _, _ = socket.recv_fds(channel, _LENGTH.size, 1 + MOST_FILES)
    try:
        head += receive_bytes(channel, _LENGTH.size - len(head))
        message = json.loads(receive_bytes(channel, *_LENGTH.unpack(head)))
        own = 1 if message["tables"] else 0
        tables = _read_tables(files[0], message["tables"]) if own else {}
        return Reply(message, tables, [_map(file) for file in files[own:]])
    finally:
        for file in files:
            os.close(file)


def requests(channel: socket.socket) -> Iterator[Reply]:
    """Messages until the other process ends; an OSError is passed on."""
    while True:
        try:
            received = receive(channel)
        except GONE:
            return
        yield received


def receive_bytes(channel: socket.socket, count: int) -> bytes:
    """Receive `count` bytes.

    Raises:
        EOFError: The other process has ended.
    """
    parts = []
    while count:
        parts.append(channel.recv(count))
        if not parts[-1]:
            raise EOFError
        count -= len(parts[-1])
    return b"".join(parts)


def _write_tables(tables: Tables) -> int:
    file = _open_file()
    with open(file, "wb", closefd=False) as raw, pa.PythonFile(raw, "w") as sink:
        for table in tables.values():
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
    return file


def _map(file: int) -> memoryview:
    if not os.fstat(file).st_size:
        return memoryview(b"")
    return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))


def _read_tables(file: int, names: list[str]) -> Tables:
    reader = pa.BufferReader(pa.py_buffer(_map(file)))
    return {name: pa.ipc.open_stream(reader).read_all() for name in names}


def _open_file() -> int:
    """A file without a name, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("tracehouse")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

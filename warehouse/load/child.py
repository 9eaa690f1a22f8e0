"""The decoding child: a process that decodes untrusted dumps, which may crash it.

The child reads the files itself and replies with tables. The kernel kills it when its owner, the
process that it works for, has ended.
"""

from __future__ import annotations

import gc
import mmap
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from ingest import DecodedBatch, stream_dump
from ingest.debug_buffer import build_tensors
from ingest.errors import DumpError, IngestError
from ingest.schemas.dumps import DELEGATE_METADATA
from warehouse.children.limits import (
    count_data,
    disable_core_dumps,
    limit_data,
    lower_priority,
    tie_to_owner,
)
from warehouse.children.messages import GONE, Message, Tables, requests, send
from warehouse.errors import explain_failure
from warehouse.load.content import decode_content
from warehouse.load.isolate import describe_failure
from warehouse.load.messages import pack_content, pack_decoded

_PARSED = DELEGATE_METADATA.field("parsed")


def serve(channel: int) -> None:
    """Answer requests from a socket until its other end is closed."""
    tie_to_owner()
    disable_core_dumps()
    lower_priority()  # do not compete with the owner's committing threads
    gc.freeze()
    child = _Child()
    with socket.socket(fileno=channel) as owner:
        with suppress(*GONE):
            send(owner, {})
        for message in requests(owner):
            answer = child.answer(message)
            with suppress(*GONE):
                send(owner, *answer)


class _Child:
    """Answers one request at a time."""

    def __init__(self) -> None:
        self._own_bytes = count_data()
        self._parts: Iterator[DecodedBatch] = iter(())
        self._tasks: dict[str, Callable[[Message], Tables]] = {
            "decode": _decode,
            "stream": self._stream,
            "next": self._next,
            "program": _try_program,
            "buffers": _try_buffers,
        }

    def answer(self, request: Message) -> tuple[Message, Tables]:
        """The tables of a request, or a message about a fault or failure."""
        if self._own_bytes is not None:
            limit_data(self._own_bytes + request["most_bytes"])
        try:
            return {}, self._tasks[request["task"]](request)
        except DumpError as error:
            return {"fault": (error.reason, error.byte_offset, error.detail)}, {}
        except MemoryError:
            return {"is_too_much": True}, {}
        except OSError as error:
            return {"unreadable": explain_failure(error)}, {}
        except Exception as error:  # whatever it is, only these files can be the cause here
            return {"failure": describe_failure(error)}, {}

    def _stream(self, request: Message) -> Tables:
        (data,) = _map_files(request["files"])
        parts = stream_dump(data, request["name"])
        self._parts = (_parsed(part, request["backends"]) for part in parts)
        return {}

    def _next(self, _: Message) -> Tables:
        return {} if (part := next(self._parts, None)) is None else pack_decoded(part)


def _decode(request: Message) -> Tables:
    content = decode_content(_map_files(request["files"]))
    return pack_content(content._replace(decoded=_parsed(content.decoded, request["backends"])))


def _parsed(decoded: DecodedBatch, backends: Sequence[str | None]) -> DecodedBatch:
    """The batch with delegate metadata as JSON, converted by the backend's parser, if any."""
    rows = decoded.tables["delegate_metadata"]
    if rows.num_rows:
        from warehouse.load.logged_data import parse_metadata  # slow import

        rows = parse_metadata(rows, backends.__getitem__)
    else:
        rows = rows.append_column(_PARSED, pa.nulls(0, _PARSED.type))
    return DecodedBatch({**decoded.tables, "delegate_metadata": rows}, decoded.errors)


def _try_program(request: Message) -> Tables:
    """Read an ETRecord as the owner will; the owner itself refuses malformed ones."""
    from ingest.etrecord.record import decode_etrecord
    from ingest.etrecord.tables import build_etrecord_tables

    (data,) = _map_files(request["files"])
    with suppress(IngestError):
        build_etrecord_tables(decode_etrecord(data, "ETRecord").of_method(request["method"]))
    return {}


def _try_buffers(request: Message) -> Tables:
    """Look up the tensors of dumps in debug buffers; the files are the dumps, then the buffers."""
    files = _map_files(request["files"])
    dumps, buffers = files[: len(files) // 2], files[len(files) // 2 :]
    values = decode_content(dumps).decoded.tables["debug_values"]
    index = values["dump_index"].to_numpy()
    for number, buffer in enumerate(buffers):
        parts, _ = build_tensors(values.filter(pa.array(index == number)), buffer)
        for _ in parts:
            pass
    return {}


def _map_files(files: list[tuple[str, int, int]]) -> list[memoryview]:
    """Parts of files, given by name, offset and size, as maps."""
    maps: dict[str, memoryview] = {}
    for name in {name for name, _, count in files if count}:
        with open(name, "rb") as file:
            maps[name] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    nothing = memoryview(b"")
    return [maps.get(name, nothing)[offset : offset + count] for name, offset, count in files]

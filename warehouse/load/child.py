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

from tracehouse.ingest.debug_buffer import build_tensors
from tracehouse.ingest.decode import DecodedBatch, stream_dump
from tracehouse.ingest.errors import DumpError, EtRecordError, ManifestError
from tracehouse.ingest.manifest.sidecars import Sidecar, parse_sidecar
from tracehouse.ingest.schemas.dumps import DELEGATE_METADATA
from tracehouse.warehouse.children.limits import (
    count_data,
    disable_core_dumps,
    limit_data,
    lower_priority,
    tie_to_owner,
)
from tracehouse.warehouse.children.messages import GONE, Reply, Tables, requests, send
from tracehouse.warehouse.errors import explain_failure
from tracehouse.warehouse.load.content import decode_content
from tracehouse.warehouse.load.isolate import describe_failure
from tracehouse.warehouse.load.messages import FILES, pack_content, pack_decoded

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
        for request in requests(owner):
            answer = child.answer(request)
            with suppress(*GONE):
                send(owner, *answer)
            del request, answer  # their files in memory


class _Child:
    """Answers one request at a time."""

    def __init__(self) -> None:
        self._own_bytes = count_data()
        self._parts: Iterator[Tables] = iter(())
        self._tasks: dict[str, Callable[[Reply], Reply]] = {
            "decode": _decode,
            "stream": self._stream,
            "trace": self._trace,
            "next": self._next,
            "program": _read_program,
            "buffers": _try_buffers,
            "sidecar": _parse_sidecar,
        }

    def answer(self, request: Reply) -> Reply:
        """The tables of a request, or a message about a fault or failure."""
        if self._own_bytes is not None:
            most_bytes = request.message["most_bytes"]
            limit_data(self._own_bytes + most_bytes if most_bytes else None)
        try:
            return self._tasks[request.message["task"]](request)
        except DumpError as error:
            return _say(fault=(error.source, error.reason, error.byte_offset, error.detail))
        except (EtRecordError, ManifestError) as error:
            return _say(refused=(type(error).__name__, error.source, error.problem))
        except MemoryError:
            return _say(is_too_much=True)
        except OSError as error:
            return _say(unreadable=(str(error.filename), explain_failure(error)))
        except ImportError as error:  # the installation is incomplete, whatever the files are
            return _say(broken=str(error))
        except Exception as error:  # whatever it is, only these files can be the cause here
            return _say(failure=describe_failure(error))

    def _stream(self, request: Reply) -> Reply:
        (data,) = _read_files(request)
        name, backends = request.message["name"], request.message["backends"]
        self._parts = (pack_decoded(_parsed(part, backends)) for part in stream_dump(data, name))
        return _say()

    def _trace(self, request: Reply) -> Reply:
        from tracehouse.ingest.etrecord.record import decode_etrecord
        from tracehouse.warehouse.programs.event_origins import trace_program

        (data,) = _read_files(request)
        record = decode_etrecord(data, request.message["name"])
        record = record.of_method(request.message["method"])
        self._parts = trace_program(record, request.tables["events"])
        return _say()

    def _next(self, _: Reply) -> Reply:
        return Reply({}, next(self._parts, {}))


def _say(**message: object) -> Reply:
    return Reply(message, {})


def _decode(request: Reply) -> Reply:
    content = decode_content(_read_files(request))
    decoded = _parsed(content.decoded, request.message["backends"])
    return Reply({}, pack_content(content._replace(decoded=decoded)))


def _parsed(decoded: DecodedBatch, backends: Sequence[str | None]) -> DecodedBatch:
    """The batch with delegate metadata as JSON, converted by the backend's parser, if any."""
    rows = decoded.tables["delegate_metadata"]
    if rows.num_rows:
        from tracehouse.warehouse.load.logged_data import parse_metadata  # slow import

        rows = parse_metadata(rows, backends.__getitem__)
    else:
        rows = rows.append_column(_PARSED, pa.nulls(0, _PARSED.type))
    return DecodedBatch({**decoded.tables, "delegate_metadata": rows}, decoded.errors)


def _read_program(request: Reply) -> Reply:
    """The tables of an ETRecord."""
    from tracehouse.ingest.etrecord.record import decode_etrecord
    from tracehouse.ingest.etrecord.tables import build_etrecord_tables, etrecord_id

    (data,) = _read_files(request)
    record = decode_etrecord(data, request.message["name"]).of_method(request.message["method"])
    facts = {"id": etrecord_id(record), "sha256": record.sha256}
    return Reply(facts, build_etrecord_tables(record))


def _try_buffers(request: Reply) -> Reply:
    """Look up the tensors of dumps in debug buffers; the files are the dumps, then the buffers."""
    files = _read_files(request)
    dumps, buffers = files[: len(files) // 2], files[len(files) // 2 :]
    values = decode_content(dumps).decoded.tables["debug_values"]
    index = values["dump_index"].to_numpy()
    for number, buffer in enumerate(buffers):
        parts, _ = build_tensors(values.filter(pa.array(index == number)), buffer)
        for _ in parts:
            pass
    return _say()


def _parse_sidecar(request: Reply) -> Reply:
    """The fields of a sidecar."""
    (data,) = _read_files(request)
    kind, name = Sidecar(request.message["kind"]), request.message["name"]
    return _say(fields=parse_sidecar(kind, name, data))


def _read_files(request: Reply) -> list[memoryview]:
    """The files of a request: parts of files as maps, and files whose bytes came along."""
    maps: dict[str, memoryview] = {}
    places: list[tuple[str, int, int] | None] = request.message["files"]
    for name in {place[0] for place in places if place and place[2]}:
        with open(name, "rb") as file:
            maps[name] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    sent = request.tables[FILES]["data"] if FILES in request.tables else ()
    rest = (memoryview(value.as_buffer()) for value in sent)
    nothing = memoryview(b"")
    return [
        next(rest) if place is None else maps.get(place[0], nothing)[place[1] : sum(place[1:])]
        for place in places
    ]

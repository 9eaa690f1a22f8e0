"""The decoding child: a process that decodes untrusted dumps, which may crash it.

The child maps files that its owner, the process that it works for, has opened, and replies with
tables. It opens none itself: before its first request it loads all that it will need, and confines
itself (`warehouse/children/confinement.py`). The kernel kills it when its owner has ended.
"""

from __future__ import annotations

import codecs
import gc
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from tracehouse.ingest.debug_buffer import build_tensors
from tracehouse.ingest.decode import DecodedBatch, stream_dump
from tracehouse.ingest.dump import Bytes
from tracehouse.ingest.errors import DumpError, EtRecordError, ManifestError
from tracehouse.ingest.etrecord.record import build_etrecord_tables, decode_etrecord, etrecord_id
from tracehouse.ingest.manifest.sidecars import Sidecar, parse_sidecar
from tracehouse.ingest.schemas.dumps import DELEGATE_METADATA
from tracehouse.warehouse.children.confinement import confine
from tracehouse.warehouse.children.messages import GONE, Reply, Tables, requests, send
from tracehouse.warehouse.children.process import (
    count_data,
    disable_core_dumps,
    limit_data,
    lower_priority,
    tie_to_owner,
)
from tracehouse.warehouse.errors import explain_failure
from tracehouse.warehouse.load.content import (
    Content,
    control_dump,
    decode_content,
    describe_failure,
)
from tracehouse.warehouse.load.delegate_metadata import load_parsers
from tracehouse.warehouse.load.logged_data import parse_metadata
from tracehouse.warehouse.programs.event_origins import trace_program
from tracehouse.warehouse.statistics.rollups import Statistics

_PARSED = DELEGATE_METADATA.field("parsed")
# Of names and texts in zips, pickles and sidecars; Python loads each when it is first used.
_ENCODINGS = ("ascii", "latin-1", "cp437", "utf-16", "utf-32", "raw-unicode-escape")

FILES = "files"  # a table of files whose bytes come with a request

_DECODED, _ERRORS, _STATISTICS, _RESOLUTION = "decoded/", "errors", "statistics/", "resolution"


def serve(channel: int) -> None:
    """Answer requests from a socket until its other end is closed."""
    tie_to_owner()
    disable_core_dumps()
    lower_priority()  # do not compete with the owner's committing threads
    _load_everything()
    gc.freeze()
    child = _Child()
    layers = confine()
    with socket.socket(fileno=channel) as owner:
        with suppress(*GONE):
            send(owner, {"layers": layers})
        for request in requests(owner):
            answer = child.answer(request)
            with suppress(*GONE):
                send(owner, answer.message, answer.tables)
            del request, answer  # their files in memory


def _load_everything() -> None:
    """Load what decoding loads at its first use, which may open no file later."""
    for name in _ENCODINGS:
        codecs.lookup(name)
    load_parsers()
    pack_content(decode_content([memoryview(control_dump().data)]))
    pa.table({"is_wanted": [True]}).filter(pa.array([True]))  # loads pyarrow.compute


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
        except (ImportError, OSError) as error:
            return _explain_lack(error)
        except Exception as error:  # whatever it is, only these files can be the cause here
            return _say(failure=describe_failure(error))

    def _stream(self, request: Reply) -> Reply:
        (data,) = _read_files(request)
        name, backends = request.message["name"], request.message["backends"]
        self._parts = (pack_decoded(_parsed(part, backends)) for part in stream_dump(data, name))
        return _say()

    def _trace(self, request: Reply) -> Reply:
        (data,) = _read_files(request)
        record = decode_etrecord(data, request.message["name"])
        record = record.of_method(request.message["method"])
        self._parts = trace_program(record, request.tables["events"])
        return _say()

    def _next(self, _: Reply) -> Reply:
        return Reply({}, next(self._parts, {}))


def _say(**message: object) -> Reply:
    return Reply(message, {})


def _explain_lack(error: ImportError | OSError) -> Reply:
    """A message about what the system or the installation lacks, whatever the files are.

    A permission is another matter: the files make the child open what the confinement forbids.
    """
    if isinstance(error, PermissionError):
        return _say(failure=describe_failure(error))
    return _say(broken=explain_failure(error) if isinstance(error, OSError) else str(error))


def _decode(request: Reply) -> Reply:
    content = decode_content(_read_files(request))
    decoded = _parsed(content.decoded, request.message["backends"])
    return Reply({}, pack_content(content._replace(decoded=decoded)))


def _parsed(decoded: DecodedBatch, backends: Sequence[str | None]) -> DecodedBatch:
    """The batch with delegate metadata as JSON, converted by the backend's parser, if any."""
    rows = decoded.tables["delegate_metadata"]
    if rows.num_rows:
        rows = parse_metadata(rows, backends.__getitem__)
    else:
        rows = rows.append_column(_PARSED, pa.nulls(0, _PARSED.type))
    return DecodedBatch({**decoded.tables, "delegate_metadata": rows}, decoded.errors)


def _read_program(request: Reply) -> Reply:
    """The tables of an ETRecord."""
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
    """The files of a request: parts of open files, and files whose bytes came along."""
    places: list[tuple[int, int, int] | None] = request.message["files"]
    sent = request.tables[FILES]["data"] if FILES in request.tables else ()
    rest = (memoryview(value.as_buffer()) for value in sent)
    return [
        next(rest) if place is None else request.files[place[0]][place[1] : sum(place[1:])]
        for place in places
    ]


def pack_files(files: Sequence[Bytes]) -> Tables:
    """The bytes of files that are not read from a disk, as a table; nothing without files."""
    if not files:
        return {}
    return {FILES: pa.table({"data": pa.chunked_array(map(_one_value, files), pa.large_binary())})}


def _one_value(data: Bytes) -> pa.Array:
    """An array with these bytes, which are not copied."""
    offsets = pa.py_buffer(struct.pack("<2q", 0, len(data)))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])


def pack_decoded(decoded: DecodedBatch) -> Tables:
    """All tables of decoded dumps by name."""
    tables = {_DECODED + name: table for name, table in decoded.tables.items()}
    return {**tables, _ERRORS: decoded.errors}


def unpack_decoded(tables: Tables) -> DecodedBatch:
    """The argument of `pack_decoded`."""
    return DecodedBatch(_tables_of(_DECODED, tables), tables[_ERRORS])


def pack_content(content: Content) -> Tables:
    """All tables of decoded dumps and of their statistics by name."""
    statistics = content.statistics
    tables = {_STATISTICS + name: table for name, table in statistics.tables.items()}
    steps = {str(clock): column for clock, column in enumerate(statistics.resolution.T)}
    resolution = pa.table(steps)
    return {**pack_decoded(content.decoded), **tables, _RESOLUTION: resolution}


def unpack_content(tables: Tables) -> Content:
    """The argument of `pack_content`."""
    steps = [column.to_numpy() for column in tables[_RESOLUTION].columns]
    resolution = np.stack(steps, axis=1)
    statistics = Statistics(_tables_of(_STATISTICS, tables), resolution)
    return Content(unpack_decoded(tables), statistics)


def _tables_of(prefix: str, tables: Tables) -> dict[str, pa.Table]:
    return {
        name.removeprefix(prefix): table
        for name, table in tables.items()
        if name.startswith(prefix)
    }

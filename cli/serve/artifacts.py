"""Zips of dumps that are uploaded: each dump in one is an upload of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from cli.serve.commits import Upload
from cli.serve.problems import Problem
from ingest.errors import ManifestError, SourceError
from ingest.incoming import FoundDumps, Incoming, IncomingFile
from warehouse.storage.log_records import Delivery, pack_delivery
from warehouse.storage.spools import Spool

NAME = "upload.zip"  # what an uploaded zip is called in the names of its dumps

_GROUP_BYTES = 8 << 20  # of dumps that are read before they are written; of one alone, at least
_COPIED_BYTES = 1 << 20  # at a time


class Packed(NamedTuple):
    """A dump of a zip: its name, and the upload that it is, or why it cannot be read."""

    name: str
    upload: Upload | None
    problem: Problem | None


def read_artifact(
    path: Path, stated: Mapping[str, object], most_bytes: int, room: Callable[[], Spool]
) -> Iterator[list[Packed]]:
    """The dumps of a zip, some at a time.

    Args:
        path: The zip.
        stated: Fields that hold for all dumps, and override what is found beside them in it.
        most_bytes: Size of the largest dump, and of what comes with it.
        room: Makes room for a large dump, which becomes a log of its own and holds up nobody.

    Raises:
        Problem: There is no dump in it, or what is stated is malformed.
        StoreError: The disk is full.
    """
    try:
        found = FoundDumps([path], manifest=stated, is_alone=True)
    except (SourceError, ManifestError) as error:
        problem = _refuse(error, path)
        raise problem from error
    dumps = iter(found)
    while True:
        with ExitStack() as opened:
            group = _read_group(dumps, path, most_bytes, lambda: opened.enter_context(room()))
            if not group:
                return
            yield group


def _read_group(
    dumps: Iterator[Incoming], path: Path, most_bytes: int, room: Callable[[], Spool]
) -> list[Packed]:
    group: list[Packed] = []
    size = 0
    for incoming in dumps:
        packed = _pack(incoming, path, most_bytes, room)
        group.append(packed)
        size += packed.upload.delivery.byte_count if packed.upload else 0
        if size >= _GROUP_BYTES:
            break
    return group


def _copy(delivery: Delivery, room: Callable[[], Spool]) -> Spool | None:
    """A large dump where it can become a log; None for others."""
    dump = delivery.files[0]
    if len(dump) < _GROUP_BYTES:
        return None
    spool = room()
    for start in range(0, len(dump), _COPIED_BYTES):
        spool.write(dump[start : start + _COPIED_BYTES])
    return spool


def _pack(incoming: Incoming, path: Path, most_bytes: int, room: Callable[[], Spool]) -> Packed:
    name = incoming.name.replace(str(path), NAME)
    files = (incoming, incoming.etrecord, incoming.debug_buffer)
    if any(one and one.byte_count > most_bytes for one in files):
        detail = f"{name}: more than {most_bytes:,} bytes"
        return Packed(name, None, Problem(HTTPStatus.BAD_REQUEST, "too_large", detail))
    etrecord, buffer = (_renamed(one, path) for one in files[1:])
    try:
        delivery = pack_delivery(
            replace(incoming, name=name, etrecord=etrecord, debug_buffer=buffer)
        )
        manifest = incoming.manifest()
    except (SourceError, ManifestError) as error:
        return Packed(name, None, _refuse(error, path))
    text, spool = manifest.canonical_json(), _copy(delivery, room)
    return Packed(name, Upload(name, delivery, text, spool, manifest.device.pool), None)


def _renamed(file: Incoming | IncomingFile | None, path: Path) -> IncomingFile | None:
    if not isinstance(file, IncomingFile):
        return None
    return file._replace(name=file.name.replace(str(path), NAME))


def _refuse(error: SourceError | ManifestError, path: Path) -> Problem:
    reason = error.reason if isinstance(error, SourceError) else "manifest"
    return Problem(HTTPStatus.BAD_REQUEST, reason, str(error).replace(str(path), NAME))

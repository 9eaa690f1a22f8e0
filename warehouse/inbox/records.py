"""Records of a log: a dump with its companions and manifest, and checksums of all of them.

A record is a header (mark, key of its log, sizes, checksums), facts as JSON (manifest; name, size
and SHA-256 of each file) and the files' bytes. The key is a secret of the log, so that no dump can
contain a forged record of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.dump import Bytes, Dump, HashedFile

KEY_BYTES = 8

_MARK = b"\x93TRINTK\n"
_SIZES = struct.Struct(f"<{len(_MARK)}s{KEY_BYTES}sIQI")  # facts, files and CRC of the facts
_CRC = struct.Struct("<I")  # CRC of the sizes
_HEADER_BYTES = _SIZES.size + _CRC.size
_CHUNK_BYTES = 256 << 10  # read at a time; these stay in the cache while they are hashed

_FORMAT = struct.Struct("<QQ")


class Delivery(NamedTuple):
    """A dump to append to a log.

    Attributes:
        name: Name of the dump.
        sha256: SHA-256 of the dump.
        manifest: The manifest as canonical JSON.
        facts: The record's JSON, which precedes the files' bytes.
        files: The bytes of the dump and of its companions.
    """

    name: str
    sha256: str
    manifest: str
    facts: bytes
    files: list[Bytes]

    @property
    def byte_count(self) -> int:
        """Size of the record."""
        return _HEADER_BYTES + len(self.facts) + sum(map(len, self.files))

    def padded(self, head_bytes: int) -> Delivery | None:
        """The delivery with a head of `head_bytes`; None if the head is larger."""
        room = head_bytes - _HEADER_BYTES
        return self._replace(facts=self.facts.ljust(room)) if len(self.facts) <= room else None

    def head(self, key: bytes) -> bytes:
        """The record up to the files' bytes."""
        crc = zlib.crc32(self.facts)
        sizes = _SIZES.pack(_MARK, key, len(self.facts), sum(map(len, self.files)), crc)
        head = sizes + _CRC.pack(zlib.crc32(sizes)) + self.facts
        assert len(head) + sum(map(len, self.files)) == self.byte_count
        return head


class LoggedFile(NamedTuple):
    """A file in a record: its name, its place in the log, and its SHA-256."""

    name: str
    offset: int
    byte_count: int
    sha256: str


class LogRecord(NamedTuple):
    """A record in a log: the manifest as canonical JSON, the files, and its end."""

    manifest: str
    dump: LoggedFile
    etrecord: LoggedFile | None
    debug_buffer: LoggedFile | None
    end: int


class Damage(NamedTuple):
    """Bytes of a log that are not a complete record.

    The bytes are torn if a killed process or a power failure may have left them; torn bytes were
    never acknowledged.
    """

    offset: int
    byte_count: int
    problem: str
    is_torn: bool


class Scan(NamedTuple):
    """Contents of a log: offsets of its complete records, and its damages."""

    offsets: list[int]
    damages: list[Damage]


def pack_delivery(dump: Dump) -> Delivery:
    """A dump with its manifest and companions, read and hashed.

    SourceError and ManifestError of an unreadable dump are passed on.
    """
    companions = dump.etrecord, dump.debug_buffer
    hashed = [one.read_hashed() if one else None for one in companions]
    manifest = dump.manifest().canonical_json()
    return make_delivery(manifest, dump.read_hashed(), *hashed)


def make_delivery(
    manifest: str,
    dump: HashedFile,
    etrecord: HashedFile | None = None,
    debug_buffer: HashedFile | None = None,
) -> Delivery:
    """A dump with its manifest, as canonical JSON, and companions."""
    files = (dump, etrecord, debug_buffer)
    listed = [one and (one.name, len(one.data), one.sha256) for one in files]
    facts = json.dumps({"manifest": manifest, "files": listed}).encode()
    contents = [one.data for one in files if one]
    return Delivery(dump.name, dump.sha256, manifest, facts, contents)


def scan_log(file: int, key: bytes, *, is_trusted: bool = False) -> Scan:
    """Find the records of an open log, and verify their hashes unless the log is trusted.

    After damage, the scan searches for the next record. An OSError is passed on.
    """
    scan, position, size = Scan([], []), 0, os.fstat(file).st_size
    while position < size:
        record = read_record(file, position, key)
        if record and record.end <= size and (is_trusted or _is_whole(file, record)):
            assert record.end > position, "records do not overlap"
            scan.offsets.append(position)
            position = record.end
            continue
        end = _find_mark(file, position + 1, key)
        scan.damages.append(_describe(file, record, position, size if end is None else end, size))
        position = size if end is None else end
    assert position == size, "each byte of a log is in a record, or damaged"
    return scan


def read_record(file: int, position: int, key: bytes) -> LogRecord | None:
    """The record at a position, without its files' bytes; None if no record starts there."""
    header = os.pread(file, _HEADER_BYTES, position)
    if len(header) < _HEADER_BYTES:
        return None
    sizes, (crc,) = header[: _SIZES.size], _CRC.unpack(header[_SIZES.size :])
    mark, its_key, facts_bytes, data_bytes, facts_crc = _SIZES.unpack(sizes)
    if (mark, its_key, zlib.crc32(sizes)) != (_MARK, key, crc):
        return None
    facts = os.pread(file, facts_bytes, position + _HEADER_BYTES)
    start = position + _HEADER_BYTES + facts_bytes
    if len(facts) < facts_bytes:
        return LogRecord("", LoggedFile("", start, 0, ""), None, None, start + data_bytes)
    if zlib.crc32(facts) != facts_crc:
        return None
    content = json.loads(facts)
    dump, etrecord, debug_buffer = _place(content["files"], start)
    return LogRecord(content["manifest"], dump, etrecord, debug_buffer, start + data_bytes)  # type: ignore[arg-type]


def _place(files: Sequence[tuple[str, int, str] | None], start: int) -> list[LoggedFile | None]:
    placed: list[LoggedFile | None] = []
    for file in files:
        placed.append(file and LoggedFile(file[0], start, file[1], file[2]))
        start += file[1] if file else 0
    return placed


def _is_whole(file: int, record: LogRecord) -> bool:
    """Whether the files' bytes have the SHA-256s in the record."""
    for part in filter(None, record[1:4]):
        digest, position, end = hashlib.sha256(), part.offset, part.offset + part.byte_count
        while chunk := os.pread(file, min(_CHUNK_BYTES, end - position), position):
            digest.update(chunk)
            position += len(chunk)
        if digest.hexdigest() != part.sha256:
            return False
    return True


def _find_mark(file: int, position: int, key: bytes) -> int | None:
    """Position of the next mark of a record; None if no record follows."""
    wanted = _MARK + key
    while len(chunk := os.pread(file, _CHUNK_BYTES, position)) >= len(wanted):
        found = chunk.find(wanted)
        if found >= 0:
            return position + found
        position += len(chunk) - len(wanted) + 1
    return None


def _describe(file: int, record: LogRecord | None, start: int, end: int, size: int) -> Damage:
    """The damage of bytes that are not a complete record."""
    count = end - start
    is_last = end == size
    if is_last and ((record and record.end > size) or (not record and count < _HEADER_BYTES)):
        return Damage(start, count, "ends in an incomplete record", is_torn=True)
    if is_last and not record and _is_zero(file, start, end):
        return Damage(start, count, "ends in zeros", is_torn=True)
    what = "a record has another SHA-256 than before" if record else "a record was overwritten"
    return Damage(start, count, what, is_torn=False)


def _is_zero(file: int, position: int, end: int) -> bool:
    while chunk := os.pread(file, min(_CHUNK_BYTES, end - position), position):
        if chunk.strip(b"\0"):
            return False
        position += len(chunk)
    return True


class Tally(NamedTuple):
    """Acknowledged dumps of a log, and the bytes up to the end of the last."""

    dump_count: int
    byte_count: int


def open_tally(log: Path) -> int:
    """Create the tally of a log, before the log can be sealed; an OSError is passed on."""
    mode = log.parent.stat().st_mode & 0o666
    return os.open(log.with_suffix(".tally"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, mode)


def write_tally(file: int, tally: Tally) -> None:
    """Overwrite an open tally; an OSError is passed on."""
    assert 0 <= tally.dump_count <= tally.byte_count
    os.pwrite(file, _FORMAT.pack(*tally), 0)


def read_tally(log: Path) -> Tally | None:
    """The tally of a log; None if it is missing or incomplete."""
    try:
        return Tally(*_FORMAT.unpack(log.with_suffix(".tally").read_bytes()))
    except (OSError, struct.error):
        return None


def delete_log(log: Path) -> None:
    """Delete a log and its tally, which never outlives it."""
    log.with_suffix(".tally").unlink(missing_ok=True)
    log.unlink(missing_ok=True)


def add_cut(scan: Scan, tally: Tally | None, size: int) -> Scan:
    """The scan of a log of `size` bytes, with the damage if the log was truncated."""
    if tally is None or size >= tally.byte_count:
        return scan
    start = next((damage.offset for damage in scan.damages if damage.is_torn), size)
    problem = (
        f"the log was truncated to {size:,} of {tally.byte_count:,} bytes: of the "
        f"{tally.dump_count:,} dumps that were acknowledged in it {len(scan.offsets):,} are intact"
    )
    whole = [damage for damage in scan.damages if not damage.is_torn]
    return Scan(scan.offsets, [*whole, Damage(start, size - start, problem, is_torn=False)])

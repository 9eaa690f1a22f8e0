"""What bytes are, by their first ones, and what damaged a dump: for messages with a remedy. Pure.

Whoever expects one kind of file and finds another says so with `describe_bytes`; the decoder's
refusals are explained by `explain_fault`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

IDENTIFIER = b"ED00"  # in ETDumps at byte 8 (the runtime's form) or 4 (bare)

_HEAD_BYTES = 64 << 10  # first bytes that tell what a file is
_TEXT_BYTES = 4 << 10
_SHOWN_LETTERS = 40
_LINES_BYTES = 1 << 20  # in which line ends are counted
_ENOUGH_LINES = 2  # line feeds that all have a carriage return before them
_ENOUGH_MARKS = 3  # in place of bytes that are no text
_ENOUGH_LETTERS = 16  # beyond ASCII
_BLOCK_BYTES = 4 << 10  # a block of a file system
_SEARCHED_BYTES = 16 << 20  # at the beginning and the end of a file
_LEAST_ZEROS = 64  # at the end of a file, which are no part of a dump
TEXT_MODE = (
    "copied in text mode, which puts a carriage return before each line feed: copy it again as "
    "binary, e.g. with adb pull or adb exec-out"
)
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{16,}")
_BETWEEN_DIGITS = re.compile(rb"[\s:]+")
_UNPACK = "unpack it"
_UPLOADED = "in an upload, state Content-Encoding:"
_MAGICS = (
    (0, b"\x1f\x8b", f"gzip data: {_UNPACK}, or end its name in .gz; {_UPLOADED} gzip"),
    (
        0,
        b"\x28\xb5\x2f\xfd",
        f"Zstandard data: {_UNPACK}, or end its name in .zst; {_UPLOADED} zstd",
    ),
    (0, b"\xfd7zXZ\0", f"xz data: {_UNPACK}"),
    (0, b"BZh", f"bzip2 data: {_UNPACK}"),
    (0, b"\x04\x22\x4d\x18", f"LZ4 data: {_UNPACK}"),
    (0, b"7z\xbc\xaf\x27\x1c", f"a 7z archive: {_UNPACK}"),
    (0, b"Rar!\x1a\x07", f"a RAR archive: {_UNPACK}"),
    (257, b"ustar", f"a tar archive: {_UNPACK} and ingest the folder"),
    (0, b"PK\3\4", "a zip: end its name in .zip, or in .etrecord if it is an ETRecord"),
    (0, b"PK\5\6", "an empty zip"),
    (4, b"BP08", "a bundled program of ExecuTorch"),
    (0, b"\0\5\x16\7", "attributes of a file from macOS: the file is the one without '._'"),
    (0, b"\x7fELF", "an executable"),
    (0, b"\x89PNG", "a PNG image"),
    (0, b"%PDF", "a PDF document"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"ARROW1", "an Arrow file"),
    (0, b"SQLite format 3", "an SQLite database"),
    (8, b"DUCK", "a DuckDB database"),
)
_TEXT_BEGINNINGS = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file: run 'git lfs pull'"),
    (b"<!doctype html", "an HTML page, such as a login or an error: download the file itself"),
    (b"<html", "an HTML page, such as a login or an error: download the file itself"),
    (b"<?xml", "XML, such as the error of a file server: download the file itself"),
    (b"<error", "XML, such as the error of a file server: download the file itself"),
    (b"{", "JSON"),
    (b"[", "JSON"),
)
_WIDE = (IDENTIFIER.decode().encode("utf-16-le"), IDENTIFIER.decode().encode("utf-16-be"))
_UTF16 = "UTF-16 text, as PowerShell's > writes it"


def describe_bytes(data: Any) -> str | None:
    """What bytes are and a remedy, if they are neither a dump nor of an unknown kind.

    >>> describe_bytes(b"%PDF-1.7"), describe_bytes(b"404: Not Found")
    ('a PDF document', "text that begins with '404: Not Found'")
    """
    head = bytes(memoryview(data).cast("B")[:_HEAD_BYTES])
    if not head or begins_like_dump(head):
        return None
    if head[4:6] == b"ET" and head[6:8].isdigit():
        return "an ExecuTorch program"
    for offset, magic, kind in _MAGICS:
        if head.startswith(magic, offset):
            return kind
    if is_utf16(head):
        return f"{_UTF16}: copy the file as binary, e.g. with adb pull"
    if not head.strip(b"\0"):
        return "zeros: it was copied before it was written, copy it again"
    if _is_text(head):
        return _describe_text(head)
    return None


def begins_like_dump(data: Any) -> bool:
    """Whether bytes have the identifier of an ETDump."""
    return IDENTIFIER in (bytes(data[4:8]), bytes(data[8:12]))


def is_utf16(data: Any) -> bool:
    """Whether bytes are text in UTF-16, with or without a byte order mark."""
    head = bytes(memoryview(data).cast("B")[:_TEXT_BYTES])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or any(wide in head[:32] for wide in _WIDE):
        return True
    even, odd = head[::2], head[1::2]
    is_little, is_big = not odd.strip(b"\0"), not even.strip(b"\0")
    letters = even if is_little else odd
    return len(odd) > 1 and is_little != is_big and _is_text(letters)


def decode_text(data: bytes) -> str:
    """The text in UTF-8, without a byte order mark.

    Raises:
        ValueError: The bytes are in another encoding.
    """
    if is_utf16(data):
        raise ValueError(f"{_UTF16}: save it as UTF-8")
    return data.decode("utf-8-sig")


def is_text_mode(data: Any) -> bool:
    """Whether each line feed of binary data has a carriage return before it, which is no chance."""
    view = memoryview(data).cast("B")
    head = bytes(view[:_LINES_BYTES])
    feeds = head.count(b"\n")
    if not feeds or head.count(b"\r\n") < feeds:
        return False
    restored = head.replace(b"\r\n", b"\n")
    is_whole = len(head) == len(view) and _stated_bytes(restored) == len(restored)
    return feeds >= _ENOUGH_LINES or is_whole


def explain_fault(detail: str, data: Any) -> str:
    """The decoder's words about a dump, or what is in its place, or what became of it."""
    view = memoryview(data).cast("B")
    if found := describe_bytes(view):
        return f"not an ETDump, but {found}"
    return next(_find_damages(view), detail)


def _find_damages(view: memoryview) -> Iterator[str]:
    """What certainly happened to a damaged dump, in words."""
    if is_text_mode(view):
        yield TEXT_MODE
    head = bytes(view[:_LINES_BYTES])
    if head.count("\ufffd".encode()) >= _ENOUGH_MARKS or _is_reencoded(head):
        yield "read and written as text, which changed its bytes: copy it again as binary"
    yield from _describe_rest(view)
    yield from _describe_zeros(view)


def _is_reencoded(head: bytes) -> bool:
    """Whether the bytes are UTF-8 with many letters beyond ASCII, as if bytes were letters."""
    text = _decode_start(head) or ""
    return sum(letter > "\x7f" for letter in text) >= _ENOUGH_LETTERS


def _describe_rest(view: memoryview) -> Iterator[str]:
    """What follows a dump that states its size."""
    stated = _stated_bytes(view)
    if stated is None or stated >= len(view):
        return
    rest = bytes(view[stated : stated + _TEXT_BYTES])
    if begins_like_dump(rest):
        yield "another dump follows in the same file: write each into a file of its own"
    elif not rest.strip():
        yield "a line end follows the dump: write only the bytes that get_etdump_data() returns"


def _describe_zeros(view: memoryview) -> Iterator[str]:
    """Where blocks of a dump are zero, which were not written when it was copied."""
    stated = _stated_bytes(view)
    if stated is not None and stated < len(view):
        return  # the zeros may follow the dump
    tail = bytes(view[-_SEARCHED_BYTES:])
    start = len(view) - (len(tail) - len(tail.rstrip(b"\0")))
    start += -start % 8  # a block begins there, and fields of the dump end in zeros
    if len(view) - start >= _LEAST_ZEROS:
        yield f"zero from byte {start:,} to its end, which was not written yet: copy it again"
    hole = bytes(view[:_SEARCHED_BYTES]).find(bytes(_BLOCK_BYTES))
    if hole >= 0:
        yield f"zero from byte {hole + -hole % 8:,} for {_BLOCK_BYTES:,} bytes: copy it again"


def _stated_bytes(data: bytes | memoryview) -> int | None:
    """The size of a dump with its size prefix, which states it; None without one."""
    if bytes(data[8:12]) != IDENTIFIER:
        return None
    return int.from_bytes(data[:4], "little") + 4


def _is_text(head: bytes) -> bool:
    text = _decode_start(head[:_TEXT_BYTES])
    return bool(text) and not any(c < " " and c not in "\t\n\r\f\x1b" for c in text or "")


def _decode_start(head: bytes) -> str | None:
    """The text that begins with these bytes, whose last letter may be cut; None if it is none."""
    try:
        return head.decode()
    except UnicodeDecodeError as error:
        is_cut = error.start >= len(head) - 3
        return head[: error.start].decode() if is_cut else None


def _describe_text(head: bytes) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, kind in _TEXT_BEGINNINGS:
        if text[: len(beginning)].lower() == beginning:
            return kind
    if _is_base64(text):
        return "base64 of an ETDump: decode it, e.g. with base64 -d"
    if any(_is_base64(found.group()) for found in _BASE64.finditer(head)):
        return "text with an ETDump in base64: decode that part, e.g. with base64 -d"
    if IDENTIFIER.hex().encode() in _BETWEEN_DIGITS.sub(b"", head[:_TEXT_BYTES]):
        return "text with an ETDump in hexadecimal: write its bytes"
    begins = text[: 4 * _SHOWN_LETTERS].decode("utf-8", "replace").partition("\n")[0]
    return f"text that begins with {begins.strip()[:_SHOWN_LETTERS]!r}"


def _is_base64(found: bytes) -> bool:
    try:
        return begins_like_dump(base64.b64decode(found[:16]))
    except binascii.Error:
        return False

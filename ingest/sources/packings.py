"""Files that are packed with gzip or Zstandard: their declared sizes, their bytes in limits."""

from __future__ import annotations

from collections.abc import Callable

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.private_bytes import gather

MAX_INFLATION = 250  # largest ratio of unpacked to packed bytes
INFLATION_FREE_BYTES = 64 << 20  # anything packed may become this large

_PIECE_BYTES = 1 << 20  # unpacked at a time
_GZIP_END = 4  # bytes of the size, modulo 4 GiB, at the end
_MAGICS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_ZSTD_HEAD = 14  # bytes of the longest frame header up to the size
_IDS = (0, 1, 2, 4)  # bytes of a dictionary's id
_SIZES = (0, 2, 4, 8)  # bytes of a frame's size
_UNPACK = "unpack it and ingest what is in it"


def most_inflated(packed_bytes: int, *, free_bytes: int | None = None) -> int:
    """Bytes that so many packed bytes may become, and by default INFLATION_FREE_BYTES always."""
    free = INFLATION_FREE_BYTES if free_bytes is None else free_bytes
    return max(free, MAX_INFLATION * packed_bytes)


def read_declared_bytes(
    read: Callable[[int, int], bytes],
    byte_count: int,
    packing: str,
    *,
    free_bytes: int | None = None,
) -> int:
    """The unpacked size that packed data states, or else the largest one allowed.

    Data that is not packed at all, as some clients leave it under its old name, has its own size.

    Args:
        read: Returns so many bytes of the data at an offset.
        byte_count: Size of the data.
        packing: "gzip" or "zstd".
        free_bytes: What data that states no size may always become; see `most_inflated`. It is 0
            for members of a zip, the sum of whose sizes is limited.
    """
    head = read(0, _ZSTD_HEAD + max(_IDS))
    if not head.startswith(_MAGICS[packing]):
        return byte_count
    if packing == "gzip":
        return int.from_bytes(read(max(byte_count - _GZIP_END, 0), _GZIP_END), "little")
    stated = _frame_bytes(head)
    return most_inflated(byte_count, free_bytes=free_bytes) if stated is None else stated


def unpack(
    data: bytes | memoryview,
    name: str,
    packing: str,
    *,
    most_bytes: int,
    free_bytes: int | None = None,
) -> bytes | memoryview:
    """The unpacked bytes, from `COPY_FROM_BYTES` on in a private copy; data if it is not packed.

    `free_bytes` is as in `read_declared_bytes`.

    Raises:
        SourceError: The data is damaged, or would become too large.
    """
    import pyarrow as pa  # commands must start fast

    view = memoryview(data)
    if bytes(view[: len(_MAGICS[packing])]) != _MAGICS[packing]:
        return data
    stated = read_declared_bytes(
        lambda start, count: bytes(view[start : start + count]),
        len(view),
        packing,
        free_bytes=free_bytes,
    )
    allowed = min(most_bytes, most_inflated(len(view)))
    if stated > allowed:
        problem = (
            f"would inflate from {len(view):,} to {stated:,} bytes, wanted at most {allowed:,}; "
            f"if it is genuine, {_UNPACK}"
        )
        raise SourceError(name, problem, reason="too_large")
    try:
        with (
            pa.BufferReader(pa.py_buffer(view)) as reader,
            pa.CompressedInputStream(reader, packing) as stream,
        ):
            unpacked = gather(lambda size: stream.read(min(size, _PIECE_BYTES)), stated, name)
    except (OSError, EOFError, pa.ArrowException) as error:
        problem = f"damaged {packing}: {error}; copy it again"
        raise SourceError(name, problem) from error
    if len(unpacked) > stated or (packing == "gzip" and len(unpacked) < stated):
        problem = (
            f"unpacks to another size than it states or may have ({stated:,} bytes): {_UNPACK}"
        )
        raise SourceError(name, problem)
    return unpacked


def _frame_bytes(head: bytes) -> int | None:
    """The size that the header of a Zstandard frame states; None if it states none."""
    if len(head) < _ZSTD_HEAD:
        return None
    descriptor = head[4]
    is_single, kind = bool(descriptor & 0x20), descriptor >> 6
    count = _SIZES[kind] or (1 if is_single else 0)
    start = 5 + (0 if is_single else 1) + _IDS[descriptor & 3]
    if not count:
        return None
    size = int.from_bytes(head[start : start + count], "little")
    return size + 256 if count == 2 else size

"""Metadata of delegates as values: parsed as JSON, or by a vendor's parser.

A package can bring a parser for its backend as an entry point of the group
`tracehouse.delegate_metadata`, named as the ETRecord names the backend::

    [project.entry-points."tracehouse.delegate_metadata"]
    HexagonBackend = "hexagon_tools.profiles:parse"

The parser is called as the Inspector calls its `delegate_metadata_parser`: with the metadata of all
samples of one event, a list of bytes (b"" where a sample has none), and returns a list of values or
one dictionary. Dumps from others are decoded in a confined process, where a parser may read files
and import modules only while it is loaded, and may start no process.

On RISC-V, XNNPACK's profiler writes the name of the microkernel, a zero byte and the microseconds
that it took; this becomes an object with `microkernel` and `microkernel_us`.

A sample of more than MOST_JSON_BYTES is not read as JSON, and neither is an object that repeats a
key or an integer of more than MOST_INTEGER_BITS.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points

from tracehouse.ingest.strict_json import unique_keys
from tracehouse.warehouse.errors import QueryError

GROUP = "tracehouse.delegate_metadata"

MOST_JSON_BYTES = 1 << 20
MOST_INTEGER_BITS = 10_000  # 3,000 digits; Python writes 4,300

Parser = Callable[[list[bytes]], object]

_DEEPEST = 64
_MICROKERNEL = re.compile(rb"(xnn_\w{1,200})\0(\d{0,18})")
_PARSER_FAULTS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    struct.error,
    PermissionError,  # it opens a file or starts a process, in a process that may not
)  # fmt: skip


def parse_metadata(metadata: Sequence[bytes], backend: str | None) -> object:
    """The metadata of one event's samples as plain values that any JSON writer takes.

    This is the result of the backend's parser, if there is one and it accepts the bytes; else a
    list of one value per sample: its JSON, hex of bytes that are not JSON, None of no bytes. A
    parser that cannot be loaded raises QueryError.
    """
    parser = find_parser(backend) if backend else None
    if parser and metadata:
        try:
            return plain_json(parser(list(metadata)))
        except _PARSER_FAULTS:
            pass  # the rest of the dump is useful even if the parser rejects these bytes
    return [_parse_json(raw) for raw in metadata]


def metadata_json(raw: bytes, backend: str | None) -> str | None:
    """The metadata of one sample as JSON; None if it is not JSON and no parser accepts it."""
    value = parse_metadata([raw], backend)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    is_unknown = isinstance(value, str) and value == raw.hex()
    return None if is_unknown else json.dumps(value, ensure_ascii=False)


def find_parser(backend: str) -> Parser | None:
    """The parser of an installed package for a backend; None if no package has one.

    Raises:
        QueryError: The parser cannot be loaded.
    """
    found = _load_parser(backend)
    if isinstance(found, str):
        raise QueryError(found)
    return found


def load_parsers() -> None:
    """Load all parsers of installed packages, for a process that can load none later."""
    for backend in entry_points(group=GROUP).names:
        _load_parser(backend)


@cache
def _load_parser(backend: str) -> Parser | str | None:
    """The parser for a backend, or why it cannot be loaded; None if no package has one."""
    for point in entry_points(group=GROUP, name=backend):
        try:
            parser: Parser = point.load()
        except Exception as error:  # whatever a package does when it is imported
            return f"entry point {GROUP}: '{backend} = {point.value}' cannot be loaded: {error}"
        return parser
    return None


def plain_json(value: object, depth: int = 0) -> object:
    """The value with bytes as hex, and values that JSON cannot represent as text.

    Raises:
        ValueError: The value is nested too deep, or an integer is too large.
    """
    if depth > _DEEPEST:
        raise ValueError(f"nested more than {_DEEPEST} deep")
    match value:
        case None | bool():
            return value
        case int():
            return _need_small(value)
        case float():
            return value if math.isfinite(value) else json.dumps(value)  # NaN, Infinity
        case bytes():
            return value.hex()
        case dict():
            return {_text(str(k)): plain_json(item, depth + 1) for k, item in value.items()}
        case list() | tuple():
            return [plain_json(item, depth + 1) for item in value]
    return _text(str(value))


def _parse_json(raw: bytes) -> object:
    if not raw:
        return None
    if len(raw) > MOST_JSON_BYTES:
        return raw.hex()
    if found := _MICROKERNEL.fullmatch(raw):
        microseconds = int(found[2]) if found[2] else None
        return {"microkernel": found[1].decode(), "microkernel_us": microseconds}
    try:
        return plain_json(json.loads(raw.decode("utf-8"), object_pairs_hook=unique_keys))
    except (ValueError, RecursionError):
        return raw.hex()


def _need_small(number: int) -> int:
    if number.bit_length() > MOST_INTEGER_BITS:
        raise ValueError(f"an integer of more than {MOST_INTEGER_BITS:,} bits")
    return number


def _text(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

"""What the Inspector is given, read once for all variants of a dump."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.reference_reader import read_reference
from tests.tools.parity.bugs import Bug
from tests.tools.parity.durations import Clock
from tests.tools.parity.goldens import Variant, parse_metadata
from tests.tools.parity.grouping import Block, Json, group_blocks
from tests.tools.parity.program import Program, read_program


class Dump:
    """A well-formed dump; a malformed one is a DumpFault of the reference reader."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.content: Mapping[str, Any] = read_reference(self.data)
        self._blocks: dict[bool, list[Block]] = {}

    def blocks(self, bugs: frozenset[Bug]) -> list[Block]:
        """Its blocks, as they are grouped with these bugs."""
        drops = Bug.I9 in bugs
        if drops not in self._blocks:
            self._blocks[drops] = group_blocks(self.content, drops_second_member=drops)
        return self._blocks[drops]


@dataclass(frozen=True)
class Evidence:
    """A dump with what else a variant gives the Inspector, and the time scales it asks for.

    `numbers` keeps what was worked out for an event, by the bugs that were made.
    """

    dump: Dump
    buffer: bytes | None
    program: Program | None
    clock: Clock
    parser: Callable[[list[bytes]], Json] | None
    numbers: dict[tuple[int, frozenset[Bug]], Json] = field(default_factory=dict)


def read_evidence(corpus: Path, dump: Dump, variant: Variant) -> Evidence:
    """What the Inspector was given for a variant."""
    buffer, record = (variant.args.get(name) for name in ("debug_buffer_path", "etrecord"))
    return Evidence(
        dump,
        (corpus / buffer).read_bytes() if buffer else None,
        _program(corpus / record) if record else None,
        variant.clock,
        parse_metadata if variant.has_parser else None,
    )


@cache
def _program(path: Path) -> Program:
    return read_program(path)

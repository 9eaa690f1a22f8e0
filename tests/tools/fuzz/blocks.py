"""A block of mutants, checked in batches that mix them with each other and with intact dumps."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from traceback import walk_tb

from tests.support.reference_reader import DumpFault
from tests.tools.fuzz.bombs import is_bomb
from tests.tools.fuzz.checks import (
    Content,
    always_looking_for_repeats,
    check_batch,
    measure,
    parts_of,
    read_or_fault,
)
from tests.tools.fuzz.mutations import mutant
from tests.tools.fuzz.victims import victims

BLOCK = 960  # mutants
ACCEPTED, REFUSED = (64, 128, 256), (1, 8, 8, 16, 16, 32)  # mutants of like fate in a batch
STRANGERS = (0, 0, 1, 2)  # mutants of any fate beside them
IN_PARTS = 48  # one in so many is decoded a run at a time, as big dumps are decoded in parts
SAMPLE = 192  # one in so many, and each bomb, is decoded alone, for its time and memory

Reading = Content | DumpFault


@dataclass
class Tally:
    """What became of some mutants.

    Attributes:
        mutants: How many there were.
        accepted: How many are well-formed.
        refused: The others, by the reference reader's reason.
        differences: By seed, how the reader differs from the reference, or what it exceeds.
        bombs: How many were made to cost much.
        measured: Mutants whose cost was measured.
        most_ms: Most CPU time that one took.
        most_bytes: Most memory that one took.
    """

    mutants: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differences: dict[int, str] = field(default_factory=dict)
    bombs: int = 0
    measured: int = 0
    most_ms: float = 0.0
    most_bytes: int = 0

    def add(self, other: Tally) -> None:
        """Add what became of others."""
        self.mutants += other.mutants
        self.accepted += other.accepted
        self.refused += other.refused
        self.differences |= other.differences
        self.bombs += other.bombs
        self.measured += other.measured
        self.most_ms = max(self.most_ms, other.most_ms)
        self.most_bytes = max(self.most_bytes, other.most_bytes)


def check_block(first: int, count: int = BLOCK) -> Tally:
    """Check the mutants of seeds first, first + 1, ..."""
    dumps = [mutant(first + i) for i in range(count)]
    readings = [read_or_fault(dump) for dump in dumps]
    tally = Tally(count)
    for reason in map(_reason, readings):
        tally.accepted += not reason
        tally.refused[reason] += bool(reason)
    tally.refused = +tally.refused
    for members in _batches(first, readings):
        _check_members(first, (dumps, readings), members, tally)
    for i in range(0, count, IN_PARTS):
        for part in ((1 << 20, 1 << 16), (1, 3), (300, 2)):
            with parts_of(*part), always_looking_for_repeats():
                findings = check_batch([dumps[i]], [readings[i]])
            for what in findings.differences.values():
                tally.differences.setdefault(first + i, f"{what} (in parts of {part})")
    bombs = {i for i in range(count) if is_bomb(first + i)}
    tally.bombs = len(bombs)
    for i in ({*range(0, count, SAMPLE)} | bombs) - {seed - first for seed in tally.differences}:
        cost = measure(dumps[i])
        tally.measured += 1
        tally.most_ms = max(tally.most_ms, cost.seconds * 1e3)
        tally.most_bytes = max(tally.most_bytes, cost.peak_bytes)
        if excess := cost.excess(len(dumps[i])):
            tally.differences[first + i] = excess
    return tally


def _batches(first: int, readings: Sequence[Reading]) -> Iterator[list[int]]:
    """Every mutant once among its like, for speed, and some more as strangers among others."""
    rng = random.Random(first)  # noqa: S311
    order = rng.sample(range(len(readings)), len(readings))
    order.sort(key=lambda i: (_reason(readings[i]), _place(readings[i])))
    while order:
        size = rng.choice(REFUSED if _reason(readings[order[0]]) else ACCEPTED)
        members = order[:size] + rng.choices(range(len(readings)), k=rng.choice(STRANGERS))
        order = order[size:]
        rng.shuffle(members)
        yield members


def _reason(reading: Reading) -> str:
    return reading.reason if isinstance(reading, DumpFault) else ""


def _place(reading: Reading) -> str:
    """Type of the innermost table that the reference reader was in when it found the fault."""
    frames = walk_tb(reading.__traceback__ if isinstance(reading, DumpFault) else None)
    names = [frame.f_locals["name"] for frame, _ in frames if "name" in frame.f_locals]
    return str(names[-1]) if names else ""


def _check_members(
    first: int, block: tuple[list[bytes], list[Reading]], members: list[int], tally: Tally
) -> None:
    dumps, readings = block
    intact = victims()[(first + members[0]) % len(victims())].dump
    batch = [intact, *(dumps[i] for i in members)]
    content = [read_or_fault(intact), *(readings[i] for i in members)]
    with always_looking_for_repeats() if members[0] % 2 else nullcontext():
        findings = check_batch(batch, content)
    for place, what in findings.differences.items():
        i = members[max(place - 1, 0)]
        alone = check_batch([dumps[i]], [readings[i]]).differences
        note = "" if alone else f" (only in its batch, in the block of seed {first})"
        subject = "an intact dump beside it " if place == 0 else ""
        tally.differences[first + i] = f"{subject}{what}{note}"

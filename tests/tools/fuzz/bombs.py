"""Dumps made to become more than they are: the shapes of worst_cases.py and others, at random.

Sizes are such that some are within the limits of `ingest.etdump.arena` and some are not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.support.etdump_builder import build_etdump
from tests.tools.fuzz import worst_cases
from tracehouse.ingest.etdump.arena import LONGEST_NAME

Bomb = Callable[[random.Random], bytes]

_SHARE = 24  # one mutant in so many is a bomb
_PAID = (0, 0, 400, 4_000, 40_000)  # bytes at the end that nothing leads to


def is_bomb(seed: int) -> bool:
    """Whether the mutant of this seed is one."""
    return seed % _SHARE == _SHARE // 2


def bomb(rng: random.Random) -> bytes:
    """A bomb, at times with padding that pays for what it becomes, or with a word changed."""
    dump = bytearray(rng.choice(BOMBS)(rng))
    dump += bytes(rng.choice(_PAID))
    if rng.random() < 0.3:
        at = 4 * rng.randrange(len(dump) // 4)
        dump[at : at + 4] = rng.choice((4, 8, 0xFFFFFFF0, rng.getrandbits(16))).to_bytes(
            4, "little"
        )
    return bytes(dump)


def _count(rng: random.Random, most: int) -> int:
    """Small counts and large ones alike."""
    return int(most ** rng.random())


def _name(rng: random.Random) -> bytes:
    size = _count(rng, 12_000)
    if rng.random() < 0.02:
        size = LONGEST_NAME + rng.choice((-1, 0, 1))
    return rng.choice((b"n", b"\xff")) * size


def _run(rng: random.Random, *events: Any, **fields: Any) -> bytes:
    runs = [{"name": "Execute", "events": list(events)} | fields] * rng.choice((1, 1, 2, 5))
    return build_etdump({"run_data": runs}, size_prefixed=False)


def name_by_tensors(rng: random.Random) -> bytes:
    return worst_cases.one_name_of_tensors(_count(rng, 1_000), _name(rng))


def name_by_allocations(rng: random.Random) -> bytes:
    event = {
        "allocation_event": {"allocator_id": rng.choice((1, 1, 1, 2, 3)), "allocation_size": 8}
    }
    allocators = [{"name": _name(rng)}, {"name": b"short"}]
    return _run(rng, *[event] * _count(rng, 200), allocators=allocators)


def name_by_signatures(rng: random.Random) -> bytes:
    """The name of one value stands in the signature of each profile event of its operator."""
    events = [{"profile_event": {"name": f"p{i}"}} for i in range(_count(rng, 200))]
    events.insert(rng.randrange(len(events) + 1), {"debug_event": {"name": _name(rng)}})
    return _run(rng, *events)


def name_by_operators(rng: random.Random) -> bytes:
    """Each operator has its own long texts, and the run comes several times."""
    ids = [_name(rng) for _ in range(_count(rng, 12))]
    return _run(
        rng, *({"profile_event": {"name": id_, "delegate_debug_id_str": id_}} for id_ in ids)
    )


def run_names(rng: random.Random) -> bytes:
    return _run(rng, {"profile_event": {"name": "a"}}, name=_name(rng))


BOMBS: tuple[Bomb, ...] = (
    name_by_tensors, name_by_tensors, name_by_allocations, name_by_allocations,
    name_by_signatures, name_by_signatures, name_by_operators, run_names,
    lambda rng: worst_cases.tiny_runs(_count(rng, 1_000)),
    lambda rng: worst_cases.shared_run(_count(rng, 300), 4 * _count(rng, 1_000)),
    lambda rng: worst_cases.shared_events(_count(rng, 40), _count(rng, 40)),
    lambda rng: worst_cases.distinct_events(_count(rng, 1_500)),
    lambda rng: worst_cases.distinct_runs(_count(rng, 500)),
    lambda rng: worst_cases.loops_in_any_order(_count(rng, 20), _count(rng, 40), _count(rng, 9)),
    lambda rng: worst_cases.empty_events(_count(rng, 1_000)),
    lambda rng: worst_cases.overlapping_vtables(
        _count(rng, 6), _count(rng, 80), rng.choice((20, 64, 200, 5_000))
    ),
    lambda rng: worst_cases.lengths_of_all_kinds(_count(rng, 40)),
)  # fmt: skip

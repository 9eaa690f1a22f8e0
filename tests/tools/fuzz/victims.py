"""The dumps that mutants are made of: small, and between them with every kind of table."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from tests.support.corpus import dump_names, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.reference_reader import is_well_formed
from tests.tools.fuzz.anatomy import Anatomy, dissect

LARGEST = 1_300  # bytes: the reference reader takes about 0.4 us per byte
LARGER = ("real/mlp_portable_n1", "real/multiout_portable_n3", "real/stateful_portable_n3")


class Victim(NamedTuple):
    """A dump to mutate, and where everything stands in it."""

    dump: bytes
    anatomy: Anatomy


@cache
def victims() -> tuple[Victim, ...]:
    """Well-formed dumps of the corpus up to a size, and built ones whose runs repeat."""
    names = dump_names("real", "capi", "synthetic")
    dumps = [read_dump(name) for name in names if not name.endswith("_static")]
    dumps = [dump for dump in dumps if len(dump) <= LARGEST and is_well_formed(dump)]
    dumps += [read_dump(name) for name in LARGER] + _repetitive()
    return tuple(Victim(dump, dissect(dump)) for dump in dict.fromkeys(dumps))


def _repetitive() -> list[bytes]:
    """Dumps of runs that are alike in various ways: what repeats.py recognises, and near misses."""
    plain = [_run([_timed("a", 7 * i), _timed("bcd", 9 * i)]) for i in range(1, 8)]
    texts = [_run([_timed(name, 5)]) for name in ("aaa", "aaa", "aab", "aaa", "aac", "aaa")]
    untimed = [_run([{"profile_event": {"name": "x", "instruction_id": i}}]) for i in (1, 1, 1, 2)]
    half = [_run([_timed("q", 0, end_time=40 + i)], name="Run") for i in range(5)]
    mixed = [run for pair in zip(plain, texts, strict=False) for run in pair]
    odd = [_run([_timed("a", i, chain_index=i % 2)], bundled_input_index=3) for i in range(1, 7)]
    logged = {"debug_event": {"name": "d", "debug_entry": {"val": "Int", "int_value": {}}}}
    debugs = [_run([_timed("a", i), logged]) for i in range(1, 5)]
    described = [_run([_timed("a", i, delegate_debug_metadata=b"mm")]) for i in range(1, 5)]
    strings = [_run([_timed("a", i, delegate_debug_id_str="id")]) for i in range(1, 5)]
    empty: list[Any] = [{"name": "e", "events": []}] * 4 + [{}] * 4
    contents = (
        plain, texts, untimed, half, mixed, odd, debugs, described, strings, empty,
        plain + debugs, [plain[0]] * 12,
    )  # fmt: skip
    dumps = [build_etdump({"run_data": list(runs)}) for runs in contents]
    return [*dumps, *(build_etdump({"run_data": r}, size_prefixed=False) for r in (plain, untimed))]


def _run(events: list[Any], **fields: Any) -> dict[str, Any]:
    return {"name": "Execute", "events": events} | fields


def _timed(name: str, start: int, **fields: Any) -> dict[str, Any]:
    event = {"name": name, "start_time": start, "end_time": start + 3, "instruction_id": 1}
    return {"profile_event": event | fields}

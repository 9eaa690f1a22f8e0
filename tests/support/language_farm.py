"""Recordings of a language model, night by night: it is loaded, reads prompts and writes tokens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any
from zlib import crc32

from tests.support.event_blocks import run, timed
from tests.support.store_rows import LONG_AGO
from tests.support.timed_dumps import build_timed_etdump
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest

NIGHTS = 8
BAD = 6  # the first night with a change for the worse
_DUMPS = 8
_TURNS, _TOKENS = 5, 6
USUAL = {
    "load": 4_000_000.0,
    "prompt": 900_000.0,
    "token": 50_000.0,
    "energy": 80.0,
    "throughput": 300.0,
}


def record_nights(worse: Mapping[str, float], nights: int = NIGHTS) -> list[Dump]:
    """Dumps of some nights; from BAD on, the named values are multiplied by these factors."""
    return [
        _record(number, dump, worse if number >= BAD else {})
        for number in range(nights)
        for dump in range(_DUMPS)
    ]


def _record(number: int, dump: int, worse: Mapping[str, float]) -> Dump:
    random = Random(crc32(repr((number, dump)).encode()))  # noqa: S311 - noise
    values = {
        name: usual * worse.get(name, 1) * random.gauss(1, 0.004) for name, usual in USUAL.items()
    }
    runs = [_load(values["load"])]
    for _ in range(_TURNS):
        runs.append(_run("prefill", 1, values["prompt"]))
        runs += [
            _run("decode", 2, values["token"] * random.gauss(1, 0.004)) for _ in range(_TOKENS)
        ]
    fields: dict[str, Any] = {
        "device": "phone",
        "build": {"id": f"b{number}", "ordinal": number},
        "model": "llm",
        "captured_at": LONG_AGO + timedelta(days=number, minutes=dump),
        "counters": [
            {"name": "energy", "unit": "mJ", "value": values["energy"]},
            {"name": "throughput", "unit": "images/s", "value": values["throughput"]},
        ],
    }
    data = build_timed_etdump({"version": 0, "run_data": runs})
    return Dump.of_bytes(f"{number}-{dump}.etdp", data, Manifest.model_validate(fields))


def _load(ns: float) -> dict[str, Any]:
    events = _event("Method::init", ns * 0.9), _event("Program::load_method", ns)
    return run(*events, name="load")


def _run(operator: str, instruction: int, ns: float) -> dict[str, Any]:
    kernel = _event(f"native_call_{operator}.out", ns, chain_index=0, instruction_id=instruction)
    return run(kernel, _event("Method::execute", ns + 500), name="forward")


def _event(name: str, ns: float, **place: int) -> dict[str, Any]:
    return timed(name, 1_000, 1_000 + round(ns), **{"chain_index": -1, **place})

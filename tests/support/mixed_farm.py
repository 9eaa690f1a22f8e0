"""A farm where no two filters choose the same dumps, and every filter leaves some out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.support.store_rows import LONG_AGO, Event, StoreRows

RUNS = 25  # 20 are left after warm-up

_USUAL: dict[str, Any] = {
    "device": "phone",
    "pool": "lab",
    "os": "Android",
    "os_version": "15",
    "arch": "arm64",
    "soc": "tensor",
    "model": "net",
    "backend": "xnnpack",
    "quantization": "int8",
    "tags": {"lab": "north", "mode": "hot", "device.colour": "red", "size": 64},
    "hours": 1,
}
# The differences of each dump of a build from the usual dump.
_OTHERS: tuple[dict[str, Any], ...] = (
    {},
    {"device": "tablet"},
    {"device": "phablet", "soc": None},
    {"pool": None, "os": "iOS"},
    {"pool": "field", "os_version": "16"},
    {"model": "net2", "arch": "x86"},
    {"model": "dw", "quantization": None},
    {"backend": None},
    {"backend": "portable"},
    {"tags": {"lab": "south", "mode": "hot", "size": 128}},
    {"tags": {"lab": "north", "mode": 3, "size": 256}},
    {"tags": {"size": 512}},
    {"device": "tablet", "model": "net2", "tags": {"lab": "south"}},
    {"hours": 0},
    {"hours": 2},
    {"hours": None},
)
# Points with notes; each states a device, because a filter of pools leaves out notes on all.
_NOTED: tuple[dict[str, Any], ...] = (
    {"build": "old", "device": "phone"},
    {"build": "mid", "device": "tablet", "model": "net"},
    {"build": "new", "device": "phone", "model": "dw"},
    {"build": "new", "device": "tablet", "model": "net2"},
    {"build": "new", "device": "phone", "backend": "portable"},
    {"build": "side", "device": "phablet", "pool": "lab"},
    {"build": "side", "device": "phone", "pool": "field"},
)
BRANCHES = {"old": "main", "mid": None, "new": "main", "side": "topic"}

# By dump, in order of their numbers: the state in which it was recorded.
DUMPS: list[dict[str, Any]] = [
    {**_USUAL, **other, "build": build, "branch": branch}
    for build, branch in BRANCHES.items()
    for other in _OTHERS
]
# One build also has another backend, and the usual dump has all.
DUMPS += [
    {**dump, "backend": "vulkan"}
    for dump in DUMPS
    if dump["backend"] == "xnnpack" and (dump["build"] == "mid" or dump.items() >= _USUAL.items())
]
# All of them write tokens, for the query about language models.
DUMPS = [{**dump, "tags": {**dump["tags"], "decode_method": "Execute"}} for dump in DUMPS]


def captured_at(hours: int | None):
    return None if hours is None else LONG_AGO + timedelta(hours=hours)


def mixed_farm():
    """A connection to the farm's store; every dump has different times."""
    store = StoreRows()
    for ordinal, (build, branch) in enumerate(BRANCHES.items(), start=1):
        store.add_build(build, ordinal=ordinal, branch=branch)
    for position, facts in enumerate(DUMPS):
        columns = {key: facts[key] for key in facts.keys() - {"hours", "branch"}}
        dump = store.add_dump(
            captured_at=captured_at(facts["hours"]), etrecord="some.etrecord", **columns
        )
        for run in range(RUNS):
            store.add_run(dump, _execute(10_000 + 100 * position + run))
        store.add_allocations(dump, ("heap", 1000 + position), ("temp", 8), run_index=1)
        store.add_counter(dump, "energy", 50 + position)
        store.add_values(dump, [(1, "same"), (2, f"of dump {dump}")])
    for number, on in enumerate(_NOTED):
        store.add_note(f"note {number}", **on)
    for hours in range(3):
        store.add_error(f"{hours}.etdp", refused_at=captured_at(hours))
    return store.connect()


def _execute(ticks):
    return [
        Event("", 2 * ticks, 0, "GEMM #1", modules=("", "head")),
        Event("", 3 * ticks, 0, "GEMM #2", modules=("", "head")),
        Event("DELEGATE_CALL", 6 * ticks, 0),
        Event("native_call_conv.out", ticks, 1, modules=("", "body", "body.conv")),
        Event("OPERATOR_CALL", ticks + 500, 1),
        Event("native_call_conv.out", 4 * ticks, 2, modules=("", "body")),
        Event("OPERATOR_CALL", 4 * ticks + 500, 2),
        Event("Method::execute", 13 * ticks, 0, chain=-1),
    ]

"""Names that would control a terminal, reverse their order, run in a spreadsheet or fill a screen.

They are in files of every kind that a command reads, and in the names of these files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import EDGE, build_etrecord, build_program, node
from tests.support.stores import write

NAMES = (
    "clear\x1b[2J", "title\x1b]0;x\x07", "\x9b31mred", "back\x08\x7f", "ring\x0e\x00",
    "new\nline\r\nend\x85", "over\rwritten", "tab\tbed",
    "gpj.\u202eexe", "\u200e\u200f\u061c", "\u2066isolated\u2069", "zero\u200bwidth\u200d\ufeff",
    "line\u2028paragraph\u2029", "tag\U000e0041", "soft\u00adhyphen", "日本語", "e\u0301", "größe",
    "=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "[bold]x[/bold]", '"quoted", x',
)  # fmt: skip
LONG_NAME = "long\u202e" + "n" * 60_000  # a dump may have names of 64 KiB
_BUILDS = ("=base\x1b[3J\u202e", "+head\x1b[3J\u2066")


class StrangeFiles(NamedTuple):
    """Files with only strange names; the dumps are of two builds, the last is refused."""

    dumps: tuple[Path, ...]
    etrecord: Path
    blob: Path


def write_strange_files(folder: Path) -> StrangeFiles:
    """Write one of each kind into a folder of a strange name."""
    folder /= "=f\x1b[3J\u202e\n"
    dumps = [write(folder / f"{name}.etdp", _dump(2 + i)) for i, name in enumerate(_BUILDS)]
    counters = [{"name": NAMES[0], "unit": NAMES[8], "value": 1}]
    write(folder / f"{_BUILDS[0]}.json", json.dumps({"counters": counters}).encode())
    bad = write(folder / "bad\x1b[3J\u202e.etdp", b"\x1b[3J" * 10)
    record = write(folder / "r\x1b[3J\u202e.record", _etrecord())
    blob = write(folder / "b\x1b[3J\u202e.prof", _blob())
    return StrangeFiles((*dumps, bad), record, blob)


def _dump(run_count: int) -> bytes:
    events: list[dict[str, object]] = []
    for i, name in enumerate((*NAMES, LONG_NAME)):
        place = {"name": name, "chain_index": 0, "instruction_id": i}
        times = {"start_time": 10 * i, "end_time": 10 * i + 5}
        value = {"val": "Double", "double_value": {"double_val": i / 3}}
        events += [
            {"debug_event": place | {"debug_entry": value}},
            {"profile_event": place | times},
            {"profile_event": times | {
                "chain_index": 0, "instruction_id": i, "delegate_debug_id_str": name,
                "delegate_debug_metadata": name[:99].encode(),
            }},
        ]  # fmt: skip
    whole = {"name": "Method::execute", "chain_index": -1, "start_time": 0, "end_time": 10**6}
    events.append({"profile_event": whole | {"instruction_id": 0}})
    for i in range(1, len(NAMES) + 1):
        events.append({"allocation_event": {"allocator_id": i, "allocation_size": 8}})
    run = {"name": NAMES[0], "allocators": [{"name": name} for name in NAMES], "events": events}
    return build_etdump({"run_data": [run] * run_count})


def _etrecord() -> bytes:
    nodes = [
        node(name, name, debug_handle=str(i), stack_trace=name, nn_module_stack=f"{name},{name},x")
        for i, name in enumerate(NAMES, 1)
    ]
    delegates = {
        str(i): {"name": name, "delegate_map": {name: [i]}} for i, name in enumerate(NAMES)
    }
    return build_etrecord(
        **{EDGE: build_program(*nodes)},
        debug_handle_map={"forward": {str(i): i for i in range(len(NAMES))}, NAMES[0]: {"1": 1}},
        delegate_map={"forward": delegates},
    )


def _blob() -> bytes:
    events = [(name.encode()[:31], i, i + 1) for i, name in enumerate(NAMES) if "\x00" not in name]
    allocators = [("pool\x1b[3J\u202e", 1)]
    return build_profiler_blob(
        block("block\x1b[3J\u202e", *events, allocators=allocators, allocations=[(1, 8)])
    )

"""A farm of two devices and twelve nights with changes, made by arithmetic.

b0 to b8 are equal. From b9 on, the convolution is 15 % slower on both devices; b10 makes relu 20 %
faster on the phone; b11 makes add 20 % slower there and adds a sigmoid, and the tablet has no
data of b11.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any
from zlib import crc32

from tests.support.event_blocks import run, timed
from tests.support.store_rows import LONG_AGO
from tests.support.store_template import copy_new_store
from tests.support.timed_dumps import build_timed_etdump
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.parts import Breakdown
from tracehouse.queries.report.settings import Settings

NIGHTS = 12
_RUNS = 25
_DUMPS = 8
_TIMES_NS = {
    "native_call_convolution.out": 40_000,
    "native_call_relu.out": 9_000,
    "native_call_add.out": 12_000,
    "native_call_mean.out": 20_000,
}


def _build_dump(
    times_ns: Mapping[str, float], seed: int, allocated: int = 0, loaded: int = 0
) -> bytes:
    """A dump of operators with about these times, slightly different in each process.

    Each run allocates `allocated` bytes, if any; loading, which is traced if it does, `loaded`.
    """
    random = Random(seed)  # noqa: S311 - noise
    process = {name: ns * random.gauss(1, 0.004) for name, ns in times_ns.items()}
    more = [_allocation(allocated)] if allocated else []
    pools = {"allocators": [{"name": "pool"}]}
    runs = [
        run(*_events(process, random), *more, name="forward", **pools if allocated else {})
        for _ in range(_RUNS)
    ]
    if loaded:
        runs.insert(
            0, run(timed("Method::init", 0, 9), _allocation(loaded), name="Default", **pools)
        )
    return build_timed_etdump({"version": 0, "run_data": runs})


def _allocation(size: int) -> dict[str, Any]:
    return {"allocation_event": {"allocator_id": 1, "allocation_size": size}}


def _events(times_ns: Mapping[str, float], random: Random) -> Iterator[dict[str, Any]]:
    clock = 0
    for instruction, (name, ns) in enumerate(times_ns.items()):
        end = clock + round(ns * random.gauss(1, 0.002))
        yield timed(name, clock, end, chain_index=0, instruction_id=instruction)
        clock = end + 100
    yield timed("Method::execute", 0, clock + 500, chain_index=-1)


def record_build(
    number: int,
    slower: Mapping[str, float] | None = None,
    *,
    device: str = "phone",
    count: int = _DUMPS,
    allocated: int = 0,
    loaded: int = 0,
    **names: Any,
) -> list[Dump]:
    """Dumps of one device's night: `slower` has factors of operators' times.

    An operator that the farm lacks takes its factor times 10 us. Each run allocates bytes if
    `allocated`, and loading the model if `loaded`. `names` are other parts of the manifest.
    """
    slower = slower or {}
    times = {
        name: _TIMES_NS.get(name, 10_000) * slower.get(name, 1) for name in {**_TIMES_NS, **slower}
    }
    build = {"id": f"b{number}", "ordinal": number, "commit": f"c0ffee{number:02}"}
    incoming = []
    for dump in range(count):
        at = LONG_AGO + timedelta(days=number, minutes=dump)
        fields = {"device": device, "build": build, "model": "net", "captured_at": at} | names
        seed = crc32(repr((device, number, dump, names)).encode())
        data = _build_dump(times, seed, allocated, loaded)
        incoming.append(
            Dump.of_bytes(f"{device}-{number}-{dump}.etdp", data, Manifest.model_validate(fields))
        )
    return incoming


def record_night(number: int) -> list[Dump]:
    """All dumps of a night of the farm."""
    both = {"native_call_convolution.out": 1.15} if number >= 9 else {}
    phone = both | ({"native_call_relu.out": 0.8} if number >= 10 else {})
    if number >= 11:
        phone |= {"native_call_add.out": 1.2, "native_call_sigmoid.out": 1.0}
    tablet = record_build(number, both, device="tablet") if number < 11 else []
    return [*record_build(number, phone), *tablet]


@cache
def nightly_store() -> Path:
    """A store of all nights of the farm, made once per process; only for reading."""
    folder = Path(mkdtemp(prefix="tracehouse-tests-"))
    atexit.register(shutil.rmtree, folder)
    return ingest_nights(folder / "nightly.store")


@cache
def pool_of_phones() -> Path:
    """A store of six devices of a pool, with too few dumps each; relu is 10 % slower from b8 on."""
    folder = Path(mkdtemp(prefix="tracehouse-tests-"))
    atexit.register(shutil.rmtree, folder)
    dumps = [
        dump
        for number in range(10)
        for device in range(6)
        for dump in record_build(
            number,
            {"native_call_relu.out": 1.1 if number >= 8 else 1.0},
            device={"name": f"phone-{device}", "pool": "phones"},
            count=4,
        )
    ]
    return ingest_all(folder / "pool.store", dumps)


def ingest_nights(store: Path, numbers: Iterable[int] = range(NIGHTS)) -> Path:
    """Ingest nights of the farm into a new store."""
    return ingest_all(store, [dump for number in numbers for dump in record_night(number)])


def ingest_all(store: Path, dumps: Sequence[Dump]) -> Path:
    """Ingest dumps into a new store."""
    copy_new_store(store)
    with Warehouse.open(store) as warehouse:
        summary = warehouse.ingest(dumps)
    assert summary.n_dumps == len(dumps), summary
    return store


def breakdown_of_phone(base: str, head: str) -> Breakdown:
    """The breakdown of the phone's only method that changed, as a report of two builds has it."""
    with Warehouse.open(nightly_store(), read_only=True) as store:
        groups = compare_report(store, Settings(), base=base, head=head).groups
    own = [one for group in groups for one in group.breakdowns if one.device == "phone"]
    (found,) = {(one.where, one.run): one for one in own}.values()
    return found

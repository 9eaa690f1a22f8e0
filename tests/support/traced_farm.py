"""Dumps of a list of operators, written by our own tracer with a clock that is told the time."""

from __future__ import annotations

import atexit
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any, NamedTuple
from zlib import crc32

from tests.support.stores import ingest
from tracehouse import ETDumpWriter, Warehouse
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings

RUNS = 26  # 20 and more are left after warm-up: fewer are judged by nobody
_STORES: dict[str, Path] = {}


class Step(NamedTuple):
    """One instruction of a program.

    Attributes:
        name: Name of the kernel, or of the event itself if there is no OPERATOR_CALL.
        ns: Its typical duration.
        parts: Events inside a DELEGATE_CALL, as (delegate id, nanoseconds); empty for a kernel.
        is_called: Whether an OPERATOR_CALL surrounds the kernel.
    """

    name: str
    ns: float = 0
    parts: Sequence[tuple[str, float]] = ()
    is_called: bool = True


class _Clock:
    def __init__(self, start: int, step_ns: float) -> None:
        self.now, self.step_ns = start, step_ns

    def __call__(self) -> int:
        return int(self.now // self.step_ns * self.step_ns)

    def wait(self, ns: float) -> None:
        self.now += max(1, round(ns))


def traced_dump(
    steps: Sequence[Step], *, seed: int = 0, noise: float = 0.01, step_ns: float = 1
) -> bytes:
    """A dump of a load and RUNS runs of the steps, see `traced_runs`."""
    return traced_runs([steps] * RUNS, seed=seed, noise=noise, step_ns=step_ns)


def traced_runs(
    runs: Iterable[Sequence[Step]], *, seed: int = 0, noise: float = 0.01, step_ns: float = 1
) -> bytes:
    """A dump of a load and of runs; a process and each of its events differ by `noise`.

    The clock counts in steps, which it rounds down to whole nanoseconds.
    """
    random = Random(seed)  # noqa: S311 - noise
    clock = _Clock(1_000_000 + random.randrange(1_000_000), step_ns)
    tracer = ETDumpWriter(clock=clock)
    process = 1 + noise * random.gauss(0, 1)
    with tracer.block("Default"), tracer.profile_method("Program::load_method"):
        clock.wait(500_000)
    for steps in runs:
        clock.wait(10_000)
        with tracer.block("Execute"), tracer.profile_method("Method::execute"):
            for number, step in enumerate(steps):
                clock.wait(200)
                _run_step(tracer, clock, step, number, lambda: process * random.gauss(1, noise))
    return tracer.finish().etdump


def _run_step(tracer: ETDumpWriter, clock: _Clock, step: Step, number: int, draw: Any) -> None:
    if not step.is_called:
        with tracer.profile(step.name, instruction=number):
            clock.wait(step.ns * draw())
        return
    with tracer.profile("DELEGATE_CALL" if step.parts else "OPERATOR_CALL", instruction=number):
        clock.wait(150)
        for id_, ns in step.parts:
            begin = clock()
            clock.wait(ns * draw())
            tracer.log_profiling_delegate(id_, begin, clock())
        if not step.parts:
            with tracer.profile(step.name):
                clock.wait(step.ns * draw())
        clock.wait(150)


def write_nights(
    folder: Path,
    nights: Iterable[Sequence[Step]],
    *,
    noise: float = 0.01,
    step_ns: float = 1,
    **model: str,
) -> None:
    """Eight dumps of each build b1, b2, ... on a phone, with their manifests."""
    for night, steps in enumerate(nights, 1):
        build = {"id": f"b{night}", "ordinal": night}
        manifest = {"device": "phone", "build": build, "model": model}
        for number in range(8):
            place = folder / f"b{night}" / f"{model['name']}-{number}.etdp"
            place.parent.mkdir(parents=True, exist_ok=True)
            seed = crc32(f"{model['name']} {night} {number}".encode())
            place.write_bytes(traced_dump(steps, seed=seed, noise=noise, step_ns=step_ns))
            place.with_suffix(".json").write_text(json.dumps(manifest))


def store_nights(nights: Mapping[str, Sequence[Sequence[Step]]]) -> Path:
    """A store of the nights of each model, made once per process; only for reading."""
    key = repr(nights)
    if key not in _STORES:
        folder = Path(mkdtemp(prefix="tracehouse-tests-"))
        atexit.register(shutil.rmtree, folder)
        for name, steps in nights.items():
            write_nights(folder / "in", steps, name=name, backend="b")
        ingest(folder / "store", folder / "in", manifest={})
        _STORES[key] = folder / "store"
    return _STORES[key]


@cache
def report_on(store: Path, head: str, base: str | None = None) -> Report:
    """The nightly report, or that on two builds, made once per process."""
    with Warehouse.open(store, read_only=True) as warehouse:
        if base is None:
            return nightly_report(warehouse, Settings(), head=head)
        return compare_report(warehouse, Settings(), base=base, head=head)

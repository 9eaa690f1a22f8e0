"""One step of the benchmark of growth, in a process of its own: its CPU and its peak memory.

python -m tests.tools.benchmarks.growth_step KIND NAME STORE [PARAMETERS]
"""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from starlette.testclient import TestClient

from tests.support.reports import group, member, report
from tracehouse import Warehouse
from tracehouse.cli.serve.app import make_app
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.settings import ServiceSettings
from tracehouse.cli.stores import open_with_night
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.explain.forms import render
from tracehouse.queries.report import forms
from tracehouse.queries.report.content import BuildPoint
from tracehouse.queries.report.nightly import last_night
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.opening.status import read_status


@contextmanager
def _query(name: str, store: Path, params: dict[str, object]) -> Iterator[Callable[[], object]]:
    with Warehouse.open(store, read_only=True) as warehouse:
        yield lambda: warehouse.query(name, **params)


@contextmanager
def _page(path: str, store: Path, _: object) -> Iterator[Callable[[], object]]:
    with Warehouse.open(store, read_only=True) as warehouse:
        night = last_night(warehouse, Settings())
    alert = next((group.id for group in night.report.groups), "") if night else ""
    path = path.format(alert=alert)
    service = Service(store, ServiceSettings(snapshot_seconds=3600.0, free_bytes=0))
    with TestClient(make_app(service), "http://127.0.0.1") as client:
        yield lambda: _refused(client.get(path).status_code)


def _refused(status: int) -> str | None:
    return None if status == 200 else f"status {status}"


@contextmanager
def _store(name: str, store: Path, _: object) -> Iterator[Callable[[], object]]:
    match name:
        case "open":
            yield lambda: Warehouse.open(store, read_only=True).close()
        case "status":
            yield lambda: read_status(store)
        case "snapshot":
            with Warehouse.open_to_write(store) as warehouse:
                yield warehouse.snapshot
        case "nightly report":
            yield partial(_report, store)
        case _:
            with Warehouse.open(store, read_only=True) as warehouse:
                yield partial(_explain, warehouse)


def _report(store: Path) -> None:
    with open_with_night(store, None, Settings()) as (_, night):
        forms.render(night, "html")


def _explain(warehouse: Warehouse) -> None:
    """Explain an alert of a model on all devices."""
    points = [BuildPoint(build=build, dump_count=1, median_ns=1.0) for build in ("b49", "b50")]
    series = {"model": "model-3", "event_name": "native_call_op3.out", "ordinal": 1, "pool": None}
    devices = warehouse.sql("SELECT name FROM devices ORDER BY name")["name"].to_pylist()
    members = [member(device=device, history=points, **series) for device in devices]
    alert = group(*members, first_bad="b50", last_good="b49")
    render(explain_group(warehouse, report(alert), alert.id), "html")


KINDS = {"query": _query, "page": _page, "store": _store}


def run_step(
    kind: str, name: str, store: Path, params: dict[str, object], sender: Connection
) -> None:
    """Send the CPU seconds, the MB at the peak, and the status of a refusal, if any."""
    with KINDS[kind](name, store, params) as act:
        cpu = time.process_time()
        refusal = act()
        cpu = time.process_time() - cpu
    peak = re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]
    refused = refusal if isinstance(refusal, str) else None
    sender.send({"cpu": cpu, "mb": int(peak) / 1024, "refusal": refused})


def measure_step(
    kind: str, name: str, store: Path, params: dict[str, object], seconds: float
) -> dict[str, float | str]:
    """CPU seconds and MB at the peak of a step; a refusal if it is refused or takes too long."""
    context = multiprocessing.get_context("fork")  # so that it need not import everything again
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=run_step, args=(kind, name, store, params, sender))
    child.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return {"refusal": f"over {seconds:,.0f} s"}
        found: dict[str, float | str] = receiver.recv()
        return found
    except EOFError:
        return {"refusal": "failed, see above"}
    finally:
        child.kill()
        child.join()

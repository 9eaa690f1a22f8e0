"""Where questions are asked: one farm, brought to every place that answers them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.service_process import ServiceProcess
from tests.tools.audit.farms import Farm
from tracehouse import Warehouse
from tracehouse.cli.main import main
from tracehouse.cli.remote import RemoteStore, ServiceChoice
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.lake.compaction import compact_lake
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.compact import compact_store
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

Ask = Callable[..., pa.Table]
Opened = AbstractContextManager[Ask]


@dataclass(frozen=True)
class Surface:
    """A place that answers questions.

    Attributes:
        name: Its name.
        open: A farm's folder there, prepared once, and asked.
        needs: Why it cannot be asked here; empty if it can.
    """

    name: str
    open: Callable[[Path], Opened]
    needs: Callable[[], str] = lambda: ""


def make_store(farm: Farm, folder: Path) -> Path:
    """Ingest a farm into a new store, with all that happens to it."""
    store = folder / "store"
    with Warehouse.open_to_write(store, create=True) as warehouse:
        summary = warehouse.ingest(farm.write(folder / "files"))
        refused = {Path(refusal.source).name for refusal in summary.refused}
        assert refused == {*farm.broken}, summary.refused
        _amend(warehouse, store, farm)
        for number, point in enumerate(farm.notes):
            warehouse.write_note(f"note {number}", **point)
        warehouse.snapshot()
    return store


@contextmanager
def stored(farm: Farm) -> Iterator[Path]:
    """A farm in a store that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield make_store(farm, Path(folder))


def _amend(warehouse: Any, store: Path, farm: Farm) -> None:
    for amendment in farm.amendments:
        chosen = choose_dumps(warehouse.writing, where=dict(amendment.where))
        planned = plan_amendments(warehouse.writing, chosen, parse_corrections(amendment.stated))
        amend_manifests(warehouse.writing, store, planned)


@contextmanager
def _read(store: Path) -> Iterator[Ask]:
    with Warehouse.open(store, read_only=True) as warehouse:
        yield warehouse.query


@contextmanager
def _write(store: Path) -> Iterator[Ask]:
    with _copied(store) as copy, Warehouse.open_to_write(copy) as warehouse:
        yield warehouse.query


@contextmanager
def _snapshot(store: Path) -> Iterator[Ask]:
    """A store whose file is gone, so that its newest snapshot is read."""
    with _copied(store) as copy:
        (copy / FILE_NAME).unlink()
        with Warehouse.open(copy, read_only=True) as warehouse:
            assert warehouse.snapshot_time is not None
            yield warehouse.query


@contextmanager
def _changed(store: Path, change: Callable[[Path], object]) -> Iterator[Ask]:
    """A copy of a store to which something was done."""
    with _copied(store) as copy:
        change(copy)
        with _read(copy) as ask:
            yield ask


def _drop_all_events(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        drop_old_events(warehouse.writing, store, find_old_events(warehouse.writing, days=0))


@contextmanager
def _lake(store: Path, *, is_compacted: bool = False) -> Iterator[Ask]:
    with exported(store, is_compacted=is_compacted) as lake, Warehouse.open_lake(lake) as opened:
        yield opened.query


@contextmanager
def exported(store: Path, *, is_compacted: bool) -> Iterator[Path]:
    """A store as a lake."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        with Warehouse.open(store, read_only=True) as warehouse:
            warehouse.export_lake(lake)
        if is_compacted:
            compact_lake(Lake(lake))
        yield lake


@contextmanager
def _service(store: Path) -> Iterator[Ask]:
    """A service in a process of its own, asked over HTTP as `tracehouse --url` does."""
    with _copied(store) as copy, ServiceProcess(copy) as service, ExitStack() as stack:
        connection = ServiceChoice(service.url).connect(retry_seconds=30)
        stack.callback(connection.close)
        yield RemoteStore(connection).query


@contextmanager
def _command(store: Path) -> Iterator[Ask]:
    """`tracehouse query`, whose answer is read from the Arrow file that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.arrow"

        def ask(name: str, /, **params: Any) -> pa.Table:
            options = ["--store", str(store), "--output", str(file)]
            for key, value in params.items():
                option = f"--{key.replace('_', '-')}"
                values = value if isinstance(value, list) else [value]
                options += [option if one is True else f"{option}={one}" for one in values]
            file.unlink(missing_ok=True)
            said = StringIO()
            with redirect_stderr(said), suppress(SystemExit):
                if main(["query", name, *options]):
                    raise QueryError(said.getvalue())
            with pa.OSFile(str(file)) as source:
                return pa.ipc.open_stream(source).read_all()

        yield ask


@contextmanager
def _spark(store: Path) -> Iterator[Ask]:
    from tracehouse.warehouse.spark.answers import SparkLake

    with exported(store, is_compacted=False) as lake:
        yield SparkLake(_session(), str(lake)).query


_OPENED = ExitStack()  # what stays open until this process ends
atexit.register(_OPENED.close)


@cache
def _session() -> Any:
    """Spark on this machine, which starts once; it ends with this process."""
    from tracehouse.warehouse.spark.session import opened_session

    settings = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false",
                "spark.sql.codegen.wholeStage": "false", "spark.network.timeout": "800s",
                "spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # fmt: skip
    return _OPENED.enter_context(opened_session("local[2,2]", settings=settings))


def _lack_of_spark() -> str:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is missing: python -m pip install '.[spark]' in a checkout"
    return "" if shutil.which("java") else "Java is missing: install a JRE of 17 or newer"


@contextmanager
def _copied(store: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(store, Path(folder) / "store"))


REFERENCE = Surface("store, read", _read)
SURFACES = (
    Surface("store, written", _write),
    Surface("snapshot", _snapshot),
    Surface("command line", _command),
    Surface("service", _service),
    Surface("lake", _lake),
    Surface("compacted lake", partial(_lake, is_compacted=True)),
    Surface("rebuilt store", partial(_changed, change=rebuild_store)),
    Surface("compacted store", partial(_changed, change=compact_store)),
    Surface("store without raw events", partial(_changed, change=_drop_all_events)),
    Surface("Spark", _spark, needs=_lack_of_spark),
)


def dump_numbers(ask: Ask) -> Mapping[int, str]:
    """SHA-256 by the number that a surface calls a dump by."""
    return {row["dump_id"]: row["sha256"] for row in ask("dumps").to_pylist()}

"""A store with rows in every table, and wrong values in its rows."""

from __future__ import annotations

import atexit
import random
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import duckdb
import pyarrow as pa

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.stores import COUNTERS, MANIFEST, ingest, write
from tracehouse import Warehouse
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.nights import JudgedNight
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events
from tracehouse.warehouse.upkeep.verification import Verification, verify_store

# The columns in which a verification finds wrong values.
COLUMNS = {table: schema.names for table, schema in STORED.items()}

_NAMES = (
    "real/mixed_xnnpack_n20", "real/mixed_portable_n20", "real/multiout_portable_n3_debug",
    "capi/delegate_static", "synthetic/allocations", "capi/values",
)  # fmt: skip
# A value of the column's type that differs from the value `v`, also from null.
_OTHERS = {
    pa.int32(): "xor(coalesce(v, 0), 1)",
    pa.int64(): "xor(coalesce(v, 0), 1::BIGINT << $bit)",
    pa.float64(): "coalesce(v, 0) * 2 + 1",
    pa.bool_(): "NOT coalesce(v, false)",
    pa.string(): "coalesce(v, '') || 'x'",
    pa.binary(): "coalesce(v, ''::BLOB) || 'x'::BLOB",
    pa.decimal128(20, 0): "coalesce(v, 0) + 1",
    pa.list_(pa.int64()): "list_append(coalesce(v, []), 1)",
    pa.list_(pa.string()): "list_append(coalesce(v, []), 'x')",
    pa.timestamp("us", "UTC"): "coalesce(v, to_timestamp(0)) + INTERVAL 1 MICROSECOND",
}


def make_full_store(folder: Path) -> Path:
    """A store with dumps that were corrected, refused, forgotten or lost their events."""
    store = folder / "full.store"
    for number, name in enumerate(_NAMES):
        file = write(folder / str(number) / f"{number}.etdp", read_dump(name))
        if "mixed" in name:
            shutil.copy(MODELS / "mixed_xnnpack.etrecord", file.with_suffix(".etrecord"))
        elif (buffer := CORPUS / f"{name}.debug.bin").exists():
            shutil.copy(buffer, file.with_suffix(".debug.bin"))
        facts = {"build": f"b{number}", "counters": COUNTERS, "device": f"phone{number % 3}"}
        ingest(store, file, manifest={**MANIFEST, **facts})
    ingest(store, write(folder / "bad.etdp", b"no dump"))
    with Warehouse.open(store) as warehouse:
        writing = warehouse.writing
        chosen = choose_dumps(writing, where={"build": "b0"})
        planned = plan_amendments(writing, chosen, parse_corrections(["build=c0", "device=d"]))
        amend_manifests(writing, store, planned)
        old = find_old_events(writing, days=0, kept_builds="[bc][02-9]")
        drop_old_events(writing, store, old)
        forget_dumps(writing, store, choose_dumps(writing, where={"build": f"b{number}"}))
        warehouse.keep_night(JudgedNight("b1", "settings", "inputs", "clear", "clear", b"report"))
        warehouse.decide("group", state="accepted", reason="meant")
    return store


@cache
def full_store() -> Path:
    """That store, made once per process; only for reading."""
    folder = Path(mkdtemp(prefix="tracehouse-tests-"))
    atexit.register(shutil.rmtree, folder)
    return make_full_store(folder)


def verified(live: duckdb.DuckDBPyConnection, store: Path, **options: Any) -> Verification:
    """What a verification finds."""
    with TemporaryDirectory() as scratch:
        return verify_store(live, store, Path(scratch), **options)


def plant(
    connection: duckdb.DuckDBPyConnection, table: str, column: str, choice: random.Random
) -> str:
    """Put a wrong value into one row of a table, and say where."""
    ((count,),) = connection.execute(f"SELECT count(*) FROM {table}").fetchall()  # noqa: S608
    row = choice.randrange(count)
    other = _OTHERS[STORED[table].field(column).type].replace("$bit", str(choice.randrange(62)))
    connection.execute(
        f"UPDATE {table} SET {column} = (SELECT {other} FROM (SELECT {table}.{column} AS v)) "  # noqa: S608
        f"WHERE rowid = (SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {row})"
    )
    return f"{table}.{column}, row {row} of {count}"


def plan_values(choice: random.Random, number: int) -> Iterator[dict[str, str]]:
    """A column of every table, in groups that are verified together; after all, from the first."""
    places = {name: columns[number % len(columns)] for name, columns in COLUMNS.items()}
    of_dumps = {name for name in places if "dump_id" in COLUMNS[name]}
    # A store catches up with a segment that it does not know, which may delete other wrong rows.
    for group in (of_dumps, {"archive_segments"}, places.keys() - of_dumps - {"archive_segments"}):
        names = sorted(group)
        choice.shuffle(names)
        yield {name: places[name] for name in names}


def find_planted(
    full: Path, store: Path, places: Mapping[str, str], choice: random.Random
) -> set[str]:
    """The tables that a verification names if each of some has one wrong value in a column."""
    shutil.copytree(full, store)
    with Warehouse.open(store) as warehouse:
        for table, column in places.items():
            plant(warehouse.writing, table, column, choice)
    with Warehouse.open(store) as warehouse:
        found = verified(warehouse.writing, store)
    shutil.rmtree(store)
    return {name for one in found.damages for name in one.tables.split(", ")} & places.keys()

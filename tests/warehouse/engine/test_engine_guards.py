"""Faults of DuckDB that gave wrong answers: none of them may come with a later version.

Each guard asks DuckDB, set up as our writers are, for an answer over rows of the shape of ours, and
compares it with one that numpy or Python computes. The checks themselves are tested with answers
that have such a fault. The numbers are those of the issues of duckdb/duckdb.
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tracehouse.warehouse.engine.connection import open_writer, register_temporarily, use_database
from tracehouse.warehouse.engine.store_file import spill_of

Row = tuple[Any, ...]

THREADS = 4  # more than this machine may have: two of the faults are races
EVENT_COUNT = 600_000
DUMP_COUNT, SIGNATURE_COUNT = 200, 61
SPILLING_BYTES = 20 << 20  # memory, less than one side of a join of these events takes
REPEATS = 40  # of statements with which a race is looked for


def check_rows(found: Iterable[Row], wanted: Iterable[Row]) -> None:
    """Check that an answer has exactly these rows, in any order."""
    left, missing = Counter(found), Counter(wanted)
    left, missing = left - missing, missing - left
    difference = f"wrong: {[*left][:3]}, missing: {[*missing][:3]}"
    assert [*left] == [*missing] == [], difference


def check_spilled(file: Path) -> None:
    """Check that a statement did not have all its data in memory; forget that it had not."""
    assert spill_of(file).is_dir(), "nothing was spilled, so that this guard shows nothing"
    shutil.rmtree(spill_of(file))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "warehouse.duckdb"


@pytest.fixture
def connection(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_writer(file) as opened:
        use_database(opened)
        opened.execute(f"SET threads = {THREADS}")
        yield opened


@pytest.fixture(scope="module")
def events() -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
    """Columns of events of many dumps, in the order in which they are stored."""
    random = np.random.default_rng(25702)
    number = np.arange(EVENT_COUNT)
    return {
        "dump_id": number // (EVENT_COUNT // DUMP_COUNT),
        "event_signature_id": number % SIGNATURE_COUNT,
        "duration_ticks": random.integers(0, 50_000, EVENT_COUNT),
    }


def store(connection: duckdb.DuckDBPyConnection, **tables: dict[str, Any]) -> None:
    for name, columns in tables.items():
        with register_temporarily(connection, "given", pa.table(columns)):
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")  # noqa: S608
    connection.execute("CHECKPOINT")


SPILLING = {
    "exists": """
        SELECT count(*), sum(e.duration_ticks) FROM events AS e WHERE EXISTS (
            SELECT 1 FROM copies AS c WHERE c.dump_id = e.dump_id
            AND c.event_signature_id = e.event_signature_id
            AND c.duration_ticks = e.duration_ticks AND c.place < $places)""",
    "in": """
        SELECT count(*), sum(duration_ticks) FROM events
        WHERE place IN (SELECT place FROM copies WHERE place < $places)""",
    "join": """
        SELECT count(*), sum(e.duration_ticks + c.duration_ticks - c.duration_ticks)
        FROM events AS e JOIN copies AS c ON c.place = e.place WHERE c.place < $places""",
}


@pytest.mark.parametrize("kind", SPILLING)
def test_a_join_that_spills_drops_no_rows(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    events: dict[str, np.ndarray[Any, np.dtype[np.int64]]],
    kind: str,
) -> None:
    """25702: rows were dropped whose partition was not in memory when a filter was made."""
    place = np.arange(EVENT_COUNT)
    store(connection, events={**events, "place": place}, copies={**events, "place": place})
    connection.execute("SET threads = 1")  # others would need more memory
    connection.execute(f"SET memory_limit = '{SPILLING_BYTES}B'")
    chosen = events["duration_ticks"]
    keys = set(zip(*(values[:-1].tolist() for values in events.values()), strict=True))
    is_chosen = place < EVENT_COUNT - 1
    if kind == "exists":
        rows = zip(*(values.tolist() for values in events.values()), strict=True)
        is_chosen = np.array([row in keys for row in rows])
    found = connection.execute(SPILLING[kind], {"places": EVENT_COUNT - 1}).fetchall()
    check_rows(found, [(int(is_chosen.sum()), int(chosen[is_chosen].sum()))])
    check_spilled(file)


GROUPED = """
    WITH per_dump AS (
        SELECT dump_id, event_signature_id, count(*) AS event_count,
            sum(duration_ticks) AS ticks
        FROM events GROUP BY dump_id, event_signature_id
    )
    SELECT d.build, sum(p.event_count), sum(p.ticks)
    FROM per_dump AS p JOIN dumps AS d ON d.dump_id = p.dump_id
    WHERE d.build LIKE 'b1%'
    GROUP BY d.build
"""


def test_a_join_with_grouped_rows_counts_all_of_them(
    connection: duckdb.DuckDBPyConnection,
    events: dict[str, np.ndarray[Any, np.dtype[np.int64]]],
) -> None:
    """22075: threads asked a filter of the join before it was complete."""
    builds = [f"b{dump_id % 13}" for dump_id in range(DUMP_COUNT)]
    store(connection, events=events, dumps={"dump_id": range(DUMP_COUNT), "build": builds})
    wanted: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for dump_id, build in enumerate(builds):
        if build.startswith("b1"):
            is_of_dump = events["dump_id"] == dump_id
            wanted[build][0] += int(is_of_dump.sum())
            wanted[build][1] += int(events["duration_ticks"][is_of_dump].sum())
    for _ in range(REPEATS):
        found = connection.execute(GROUPED).fetchall()
        check_rows(found, [(build, *sums) for build, sums in wanted.items()])


WINDOWS = """
    SELECT dump_id, run_index, ticks,
        sum(ticks) OVER (PARTITION BY dump_id, dump_id) AS of_dump,
        sum(ticks) OVER (PARTITION BY dump_id, run_index) AS of_run,
        count(*) OVER (PARTITION BY run_index, dump_id) AS of_run_again,
        row_number() OVER (PARTITION BY dump_id, dump_id ORDER BY ticks, place) AS number,
        rank() OVER (PARTITION BY dump_id ORDER BY ticks) AS rank
    FROM runs
"""


def test_windows_that_share_a_partition_keep_their_own(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """24629: a window took the partition of another one whose columns are a part of its own."""
    random = np.random.default_rng(24629)
    columns = {
        "dump_id": random.integers(0, 20, 2000),
        "run_index": random.integers(0, 9, 2000),
        "ticks": random.integers(0, 300, 2000),
        "place": np.arange(2000),
    }
    store(connection, runs=columns)
    rows = [*zip(*(values.tolist() for values in columns.values()), strict=True)]
    check_rows(connection.execute(WINDOWS).fetchall(), plain_windows(rows))


def plain_windows(rows: Sequence[Row]) -> Iterator[Row]:
    """The answer to WINDOWS."""
    dumps: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        dumps[row[0]].append(row)
    for dump_id, run_index, ticks, place in rows:
        same_dump = dumps[dump_id]
        same_run = [other[2] for other in same_dump if other[1] == run_index]
        smaller = [other for other in same_dump if other[2] < ticks]
        before = [other for other in same_dump if (other[2], other[3]) < (ticks, place)]
        of_dump = sum(other[2] for other in same_dump)
        of_run = sum(same_run), len(same_run)
        yield dump_id, run_index, ticks, of_dump, *of_run, len(before) + 1, len(smaller) + 1


COUNTED = """
    WITH own AS (SELECT place, name FROM runs WHERE place < $first),
    shown AS (
        SELECT place, name FROM own WHERE place >= $least
        UNION ALL
        SELECT place, name FROM own WHERE NOT EXISTS (SELECT 1 FROM own WHERE place >= $least)
    )
    SELECT place, count(*) FILTER (WHERE contains(name, '1')) OVER () AS matches
    FROM shown WHERE name <> 'run 2'
"""


@pytest.mark.parametrize(("first", "least"), [(1, 5000), (4, 5000), (4, 2), (0, 0)])
def test_filtered_counts_over_few_rows_do_not_fail(
    connection: duckdb.DuckDBPyConnection, first: int, least: int
) -> None:
    """25713: threads without rows failed, which invalidated the database."""
    names = [f"run {place}" for place in range(50)]
    store(connection, runs={"place": range(50), "name": names})
    connection.execute(f"SET threads = {2 * THREADS}")
    places = range(least, first) if least < first else range(first)
    shown = [place for place in places if place != 2]
    matches = sum("1" in names[place] for place in shown)
    for _ in range(8 * REPEATS):
        found = connection.execute(COUNTED, {"first": first, "least": least}).fetchall()
        check_rows(found, [(place, matches) for place in shown])


RUNNING = """
    SELECT place,
        count(*) FILTER (WHERE flags = 0) OVER (PARTITION BY dump_id ORDER BY place) AS before,
        count(*) FILTER (WHERE flags = 0) OVER (PARTITION BY dump_id) AS of_dump,
        count(*) OVER (PARTITION BY dump_id) AS event_count
    FROM events
"""


def test_filtered_counts_over_windows_are_right(connection: duckdb.DuckDBPyConnection) -> None:
    """25713: with frames that grow, and beside a count of all rows."""
    random = np.random.default_rng(25713)
    dump_id, flags = random.integers(0, 30, 9000), random.integers(0, 3, 9000)
    store(connection, events={"dump_id": dump_id, "flags": flags, "place": np.arange(9000)})
    of_dump = np.bincount(dump_id, flags == 0).astype(int)
    all_of_dump, so_far = np.bincount(dump_id), np.zeros(30, int)
    wanted = []
    for place, (dump, flag) in enumerate(zip(dump_id.tolist(), flags.tolist(), strict=True)):
        so_far[dump] += flag == 0
        wanted.append((place, int(so_far[dump]), int(of_dump[dump]), int(all_of_dump[dump])))
    check_rows(connection.execute(RUNNING).fetchall(), wanted)


@pytest.mark.parametrize(
    "found",
    [
        [(1, 10), (2, 20)],  # a row was dropped
        [(1, 10), (2, 20), (2, 20), (3, 30)],  # a row came twice
        [(1, 10), (2, 20), (3, 29)],  # a count is too low
        [(1, 30), (2, 30), (3, 30)],  # a window has the partition of another one
        [],
    ],
)
def test_the_check_finds_each_of_these_faults(found: list[Row]) -> None:
    wanted = [(3, 30), (2, 20), (1, 10)]
    check_rows([(1, 10), (2, 20), (3, 30)], wanted)
    with pytest.raises(AssertionError, match=r"wrong: .*, missing: "):
        check_rows(found, wanted)


def test_the_check_finds_a_join_that_dropped_rows(
    connection: duckdb.DuckDBPyConnection,
    events: dict[str, np.ndarray[Any, np.dtype[np.int64]]],
) -> None:
    """As by a filter that knows only a part of the keys."""
    store(connection, events=events)
    text = "SELECT dump_id, count(*) FROM events WHERE duration_ticks >= $least GROUP BY dump_id"
    whole, part = (connection.execute(text, {"least": least}).fetchall() for least in (0, 10))
    check_rows(whole, whole)
    with pytest.raises(AssertionError, match="missing"):
        check_rows(part, whole)


def test_a_guard_that_does_not_spill_fails(file: Path) -> None:
    with pytest.raises(AssertionError, match="nothing was spilled"):
        check_spilled(file)

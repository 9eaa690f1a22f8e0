"""An answer is the same to the last byte on any number of threads and in any order of dumps."""

import io
import random

import pytest

from tests.support.cross_section import cross_section
from tests.support.questions import columns, every_query, lacks_rows_of, required, takes
from tests.support.store_rows import AskedConnection, Event, StoreRows
from tracehouse.queries.formats import write_encoded

RATES = (125 / 3, 1e9 / 19.2e6, 1 / 3, 0.7)
NUMBERED = {"dump_id", "example"}  # columns with the number or the hash of a dump
OPERATORS = 7


def _dumps():
    """Of each dump its columns, and its runs: the same each time."""
    chance = random.Random(25)  # noqa: S311 - nothing secret
    for number in range(24):
        columns = {
            "device": "phone" if number % 2 else f"phone {number % 5}", "pool": "lab",
            "build": f"b{1 + number // 12}", "backend": ("portable", "xnnpack")[number % 4 < 2],
            "ns_per_tick": RATES[number % 3], "delegate_ns_per_tick": RATES[number % 4],
            "etrecord": f"{number % 4 < 2}.etrecord", "tags": {"size": 1 + number % 3},
        }  # fmt: skip
        yield columns, [_run(chance) for _ in range(26)]


def _run(chance):
    own = [
        Event(f"native_call_op{i}.out", chance.randrange(200, 9000), i, modules=(f"m{i % 2}",))
        for i in range(OPERATORS)
    ]
    inside = [
        Event(f"GEMM #{i}", chance.randrange(200, 900), OPERATORS, f"GEMM #{i}") for i in range(3)
    ]
    call = Event("DELEGATE_CALL", sum(event.ticks for event in inside) + 91, OPERATORS)
    total = call.ticks + sum(event.ticks for event in own) + chance.randrange(99)
    return [*own, call, *inside, Event("Method::execute", total, chain=-1)]


@pytest.fixture(scope="module")
def farms():
    """Two stores of the same dumps, which came in opposite orders."""
    dumps, stores = list(_dumps()), []
    for in_order in (dumps, dumps[::-1]):
        store = StoreRows()
        for build in ("b1", "b2"):
            store.add_build(build, ordinal=int(build[1:]))
        for facts, runs in in_order:
            number = store.add_dump(**facts)
            for run in runs:
                store.add_run(number, run)
        stores.append(store.connect())
    return stores


@pytest.mark.parametrize("name", cross_section(every_query(), 7))
def test_bytes_do_not_depend_on_threads_or_on_the_order_of_dumps(name, farms):
    asked = required(name, base="b1", head="b2", event="*") | (
        {"group_by": "pool"} if takes(name, "group_by") else {}
    )
    # Numbers and hashes of these dumps follow from their order.
    asks_or_shows_numbers = takes(name, "dump") or NUMBERED & columns(name)
    answers = set()
    for farm in farms[:1] if asks_or_shows_numbers else farms:
        for threads in (1, 4):
            farm.execute(f"SET threads = {threads}")
            table = AskedConnection(farm).query(name, **asked)
            assert table.num_rows or lacks_rows_of(name, farm)
            for form in ("csv", "json"):
                sink = io.BytesIO()
                write_encoded(table, form, sink)
                answers.add((form, sink.getvalue()))
    farms[0].execute("SET threads = 1")  # all farms have one DuckDB
    assert len(answers) == 2

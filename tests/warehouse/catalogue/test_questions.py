"""Questions of canned queries, through `answers` as callers ask them."""

from __future__ import annotations

import duckdb
import pytest

from tests.tools.benchmarks.scale import fill
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue import time_limits
from tracehouse.warehouse.catalogue.answers import answer_query, stream_answer
from tracehouse.warehouse.catalogue.queries import find_query, load_catalogue
from tracehouse.warehouse.catalogue.time_limits import _Cost
from tracehouse.warehouse.errors import LongQuestionError, QueryError
from tracehouse.warehouse.regressions.judging import find_gathering

PAIR = {"base": "b1", "head": "b2"}
HISTORY = {"event": "native_call_op3.out"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("farm")
    fill(folder, 3, 2, 3, 10, 4)
    with Warehouse.open(folder, read_only=True) as warehouse:
        yield warehouse


@pytest.fixture
def many(monkeypatch):
    """Every question of the body has as many portions as devices."""
    monkeypatch.setattr(time_limits, "MOST_WEIGHT", 1)


def _ask(store, name, params, **options):
    query = find_query(name)
    if query.is_computed:
        query = find_gathering(query, "pair_values")
    return answer_query(store._session.answering.for_query(query, params), query, params, **options)


def _rows(answer, *, is_ordered):
    rows = list(map(repr, answer.to_pylist()))
    return rows if is_ordered else sorted(rows)


@pytest.mark.parametrize(
    ("name", "params"), [("build_history", HISTORY), ("comparison", PAIR), ("framework_tax", {})]
)
def test_a_question_that_would_take_too_long_names_filters_that_it_lacks(store, many, name, params):
    params = {**params, "pool": None, "model": "model-1"}
    with pytest.raises(LongQuestionError) as caught:
        _ask(store, name, params, seconds=1e-9)
    text = str(caught.value)
    assert text.startswith(f"query '{name}': would take some ")
    filters = text.partition("such as ")[2].split(", ")
    lacking = {"device", "pool", "backend", "tag", "since", "until"}
    assert lacking <= set(filters) <= {one.name for one in find_query(name).header.params}
    given = {one for one, value in params.items() if value is not None}
    assert not {"base", "head", *given} & set(filters)
    whole, portions = (_ask(store, name, params, seconds=seconds) for seconds in (None, 3600))
    is_ordered = not find_query(name).is_computed  # Python orders what it gathers
    assert _rows(portions, is_ordered=is_ordered) == _rows(whole, is_ordered=is_ordered)


def test_a_query_about_one_device_is_never_refused_as_too_slow(store, many):
    params = {"device": "device-1"}
    assert _ask(store, "dump_values", params, seconds=1e-9).num_rows


def test_the_pace_of_the_last_portion_counts_as_the_first_may_have_waited(store, many, monkeypatch):
    clock = iter([0.0, 0.0, 10.0, 10.0, 10.1, 10.1, 10.2])
    monkeypatch.setattr(time_limits.time, "monotonic", lambda: next(clock))
    assert _ask(store, "dump_values", {}, seconds=20).num_rows


def test_an_answer_is_a_batch_at_least(store):
    query, params = find_query("ingest_errors"), {}
    connection = store._session.answering.for_query(query, params)
    (batch,) = stream_answer(connection, query, params)
    assert (batch.num_rows, batch.schema.names) == (0, [c.name for c in query.header.columns])


@pytest.mark.parametrize("is_split", [True, False])
def test_only_the_rows_that_are_wanted_are_computed(store, monkeypatch, is_split):
    monkeypatch.setattr(time_limits, "MOST_WEIGHT", 1 if is_split else 1 << 40)
    whole = store.query("dump_values").to_pylist()
    with store.stream_query("dump_values", {}, most_rows=3) as rows:
        assert rows.read_next_batch().to_pylist() == whole[:3]


class _Forgetful:
    """A connection that lacks memory for questions about several devices."""

    def __init__(self, connection, most):
        self._connection, self._most, self.questions = connection, most, []

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, text, params=None):
        devices = (params or {}).get("device")
        if devices and "event_name" in text:
            self.questions.append(devices)
            if len(devices) > self._most:
                raise duckdb.OutOfMemoryException("Out of Memory Error: too many devices\nmore")
        return self._connection.execute(text, params)


def test_a_portion_that_needs_too_much_memory_is_halved(store, monkeypatch):
    query = find_query("dump_values")
    connection = store._session.answering.for_query(query, {})
    weight = 2 * 3 * 10 * (30 * time_limits.RUN_WEIGHT + time_limits.DUMP_WEIGHT)  # of a device
    monkeypatch.setattr(time_limits, "MOST_WEIGHT", 2 * weight)
    monkeypatch.setattr(time_limits, "_SHARES", ())
    forgetful = _Forgetful(connection, 1)
    assert answer_query(forgetful, query, {}).to_pylist() == store.query("dump_values").to_pylist()
    names = ["device-1", "device-2"], ["device-1"], ["device-2"], ["device-3"]
    assert forgetful.questions == list(names)
    with pytest.raises(QueryError, match=r"needs more memory .*too many devices\): select fewer"):
        answer_query(_Forgetful(connection, 0), query, {})


def test_every_query_about_dumps_can_be_asked_about_some_of_them_first():
    """So that the cost of each is known before most of it is spent."""
    bounded = {"event_blocks", "run_timeline", "ingest_errors"}  # one dump; refused files
    for name, query in load_catalogue().items():
        assert name in bounded or "device" in {param.name for param in query.header.params}


def test_a_question_that_takes_too_long_while_its_rows_are_read_is_refused_too(store, many):
    with Warehouse.open(store._path, read_only=True) as own:
        own._session.seconds = 1e-9
        with pytest.raises(LongQuestionError):
            own.query("dump_values")


def test_a_views_own_query_is_not_sampled(store, many):
    query = find_query("page_builds", "page")
    connection = store._session.answering.for_query(query, {})
    assert answer_query(connection, query, {}, seconds=1e-9).num_rows


def test_the_fixed_cost_of_a_portion_does_not_count_in_its_pace():
    assert _Cost(4.0, 30).pace(_Cost(2.0, 10)) == pytest.approx(0.1)
    assert _Cost(1.0, 30).pace(_Cost(2.0, 10)) == 0.0
    assert _Cost(3.0, 30).pace(_Cost(2.0, 30)) == pytest.approx(0.1)

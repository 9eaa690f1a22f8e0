from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

import pytest

from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, record_build
from tests.support.store_template import copy_new_store
from tracehouse import Warehouse
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import ParameterError

CHANGES = {"regression", "improvement"}
_ALL_NIGHTS = [pytest.param(farm, 0, marks=pytest.mark.slow) for farm in ("nightly", "pool_store")]


@pytest.fixture(scope="module")
def rows(nightly):
    return {
        head: nightly.query("nightly_verdicts", head=head).to_pylist()
        for head in ("b0", "b9", "b10")
    }


def test_every_series_has_a_verdict_in_order_of_its_names(rows):
    named = [(row["device"], row["model"], row["event_name"]) for row in rows["b10"]]
    assert named == sorted(named)
    assert len(named) == len(rows["b9"])


def test_a_suspicion_and_its_confirmation_are_told_apart(rows):
    suspected = {row["event_name"] for row in rows["b9"] if row["verdict"] == "suspect_regression"}
    confirmed = [row for row in rows["b10"] if row["verdict"] == "regression"]
    assert suspected
    assert suspected == {row["event_name"] for row in confirmed}
    assert {row["first_bad"] for row in confirmed} == {"b9"}
    assert all(row["delta"] > row["error"] for row in confirmed)


def test_base_change_and_head_of_a_trend_row_agree(rows):
    """Also where the state of the device is removed, or modes are."""
    for head in ("b9", "b10"):
        known = [row for row in rows[head] if None not in (row["base_ns"], row["delta"])]
        assert any(row["is_residual"] for row in known)
        for row in known:
            assert row["head_ns"] == pytest.approx(row["base_ns"] * (1 + row["delta"]), rel=1e-9)


def test_the_first_build_needs_more_builds(rows):
    assert {row["verdict"] for row in rows["b0"]} == {"needs_more_builds"}
    assert {row["delta"] for row in rows["b0"]} == {None}


def test_the_series_of_pools_come_last_and_have_no_device(pool_store):
    rows = pool_store.query("nightly_verdicts").to_pylist()
    devices = [row["device"] for row in rows]
    assert devices == sorted(devices[:-5]) + [None] * 5
    verdicts = {row["event_name"]: row for row in rows[-5:]}
    relu = verdicts.pop("native_call_relu.out")
    assert (relu["pool"], relu["verdict"], relu["first_bad"]) == ("phones", "regression", "b8")
    assert (relu["base_count"], relu["head_count"]) == (48, 6)
    assert (relu["base_ns"], relu["head_ns"]) == (None, None)
    assert {row["verdict"] for row in verdicts.values()} == {"unchanged"}
    assert {row["verdict"] for row in rows[:-5]} == {"needs_more_dumps"}


def test_a_change_has_the_builds_that_began_and_confirmed_it_and_its_figures(nightly):
    rows = nightly.query("change_points", device="phone", event="native_call_c*").to_pylist()
    (row,) = rows
    figures = {name: row.pop(name) for name in ("before", "after", "delta", "error")}
    assert row == {
        "device": "phone",
        "pool": None,
        "model": "net",
        "backend": None,
        "run": "forward",
        "event_name": "native_call_convolution.out",
        "delegate_id": None,
        "ordinal": 1,
        "verdict": "regression",
        "first_bad": "b9",
        "last_good": "b8",
        "confirmed_in": "b10",
        "fixed_in": None,
        "unit": "ns",
    }
    assert figures["before"] == pytest.approx(40_000, rel=0.005)
    assert figures["after"] == figures["before"] * (1 + figures["delta"])
    assert figures["delta"] == pytest.approx(0.15, abs=0.005)
    assert 0 < figures["error"] < 0.01


def test_a_change_has_the_figures_of_the_nightly_report(nightly):
    members = {
        (member.device, member.event_name, member.delta): (member.base_ns, member.head_ns)
        for group in nightly_report(nightly, Settings()).groups
        for member in group.members
        if member.base_ns is not None
    }
    rows = nightly.query("change_points").to_pylist()
    found = {
        (row["device"], row["event_name"], row["delta"]): (row["before"], row["after"])
        for row in rows
    }
    assert members
    assert {key: found.get(key) for key in members} == members


def test_series_without_a_change_are_counted_in_a_note(nightly):
    every = nightly.query("nightly_verdicts", device="phone")
    answer = nightly.query("change_points", device="phone")
    changed = len({_key(row) for row in answer.to_pylist()})
    note = (
        f"{len(every) - changed:,} other series have no change: 'tracehouse query nightly_verdicts'"
    )
    assert answer.schema.metadata == {b"note": note.encode()}


def test_a_change_that_is_gone_stays_with_the_build_that_fixed_it(tmp_path):
    slower = {"native_call_relu.out": 1.2}
    nights = [record_build(n, slower if 3 <= n < 6 else {}) for n in range(8)]
    path = ingest_all(tmp_path / "s", [dump for dumps in nights for dump in dumps])
    with Warehouse.open(path, read_only=True) as store:
        rows = store.query("change_points", event="native_call_relu.out").to_pylist()
    builds = ("first_bad", "last_good", "confirmed_in", "fixed_in")
    assert [tuple(row[name] for name in builds) for row in rows] == [("b3", "b2", "b4", "b6")]
    assert rows[0]["after"] == pytest.approx(1.2 * 9_000, rel=0.005)


def test_counters_have_their_units_and_rates_are_inverted(tmp_path):
    dumps = [
        dump
        for number in range(5)
        for factor in (2 if number >= 3 else 1,)
        for dump in record_build(
            number,
            counters=[
                {"name": "energy", "unit": "mJ", "value": 100 * factor},
                {"name": "speed", "unit": "items/s", "value": 50 / factor},
            ],
        )
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        rows = store.query("change_points", event=["energy", "speed"]).to_pylist()
    found = {row["event_name"]: (row["unit"], row["before"], row["after"]) for row in rows}
    assert found == {
        "energy": ("mJ", pytest.approx(100), pytest.approx(200)),
        "speed": ("s/items", pytest.approx(1 / 50), pytest.approx(2 / 50)),
    }
    assert {row["verdict"] for row in rows} == {"regression"}


@pytest.mark.parametrize(("farm", "first"), [("nightly", 9), ("pool_store", 8), *_ALL_NIGHTS])
def test_each_night_tells_the_changes_up_to_it_and_those_that_later_nights_know_of(
    farm, first, request
):
    """From the build that confirmed a change to the one that fixed it, or another change came."""
    store = request.getfixturevalue(farm)
    builds = store.sql("SELECT build FROM builds_in_order ORDER BY position")["build"].to_pylist()
    known, told = store.query("change_points").to_pylist(), 0
    for place, head in enumerate(builds[first:], first):
        newest = {}
        for row in store.query("change_points", head=head).to_pylist():
            if row["fixed_in"] is None:
                newest[_key(row)] = row["verdict"], row["first_bad"]
        rows = {_key(row): row for row in store.query("nightly_verdicts", head=head).to_pylist()}
        night = {
            key: (row["verdict"], row["first_bad"])
            for key, row in rows.items()
            if row["first_bad"] is not None
        }
        assert newest == night
        assert {verdict.removeprefix("suspect_") for verdict, _ in night.values()} <= CHANGES
        told += len(night)
        for row in known:
            confirmed = builds.index(row["confirmed_in"] or builds[-1])
            others = [each for each in known if _key(each) == _key(row) and each != row]
            is_newest = all(builds.index(each["first_bad"]) > place for each in others)
            if confirmed <= place and is_newest:
                assert night[_key(row)] == (row["verdict"], row["first_bad"])
    assert told


@pytest.mark.parametrize("query", ["change_points", "nightly_verdicts"])
@pytest.mark.parametrize(
    ("farm", "filters"),
    cross_section(
        [
            ("nightly", {"device": "phone*"}),
            ("nightly", {"device": ["phone", "[t-z]*"], "event": "Method::execute"}),
            ("nightly", {"model": "net", "run": "forw*", "event": ["*relu*", "*conv*"]}),
            ("nightly", {"ordinal": 1}),
            ("pool_store", {"pool": "phones", "event": "*relu*"}),
            ("pool_store", {"device": "phone-[24]"}),
        ],
        2,
    ),
)
def test_a_filtered_answer_has_the_rows_of_the_whole_that_pass(farm, filters, query, request):
    store = request.getfixturevalue(farm)
    columns = {"event": "event_name"}
    passing = [
        row
        for row in _whole(store, query)
        if all(_passes(row[columns.get(name, name)], value) for name, value in filters.items())
    ]
    assert store.query(query, **filters).to_pylist() == passing
    assert passing or (query, filters) == ("change_points", {"device": "phone-[24]"})


@cache
def _whole(store, query):
    return store.query(query).to_pylist()


def _passes(value, wanted):
    globs = wanted if isinstance(wanted, list) else [wanted]
    return value is not None and any(fnmatchcase(str(value), str(glob)) for glob in globs)


def _key(row):
    return tuple(row[name] for name in ("device", "pool", "model", "event_name", "ordinal"))


@pytest.mark.parametrize("query", ["change_points", "nightly_verdicts"])
def test_the_answer_has_the_documented_columns(nightly, query):
    types = {
        "STRING": "string",
        "INT": "int32",
        "BIGINT": "int64",
        "DOUBLE": "double",
        "BOOLEAN": "bool",
    }
    told = [(column.name, types[column.type]) for column in find_query(query).header.columns]
    schema = nightly.query(query, head="b0").schema
    assert [(field.name, str(field.type)) for field in schema] == told


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"heads": "x"}, "did you mean head"),
        ({"head": "b99"}, "did you mean b9"),
        ({"device": "phones"}, "did you mean phone"),
        ({"event": "load_tim"}, "is not in the store"),
    ],
)
def test_parameters_are_checked_as_in_other_queries(nightly, params, problem):
    with pytest.raises(ParameterError, match=problem):
        nightly.query("nightly_verdicts", **params)


def test_a_store_without_builds_has_nothing_to_judge(tmp_path):
    copy_new_store(tmp_path / "s")
    with (
        Warehouse.open(tmp_path / "s", read_only=True) as store,
        pytest.raises(ParameterError, match="no builds yet"),
    ):
        store.query("nightly_verdicts")

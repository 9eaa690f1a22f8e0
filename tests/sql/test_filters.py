"""Every parameter of every query, against what the query answers where nothing else is stored."""

import re
from functools import cache

import pytest

from tests.support.cross_section import cross_section
from tests.support.documents import ROOT
from tests.support.mixed_farm import DUMPS, captured_at, mixed_farm
from tests.support.only_dumps import only_dumps
from tests.support.questions import every_query, required
from tests.support.store_rows import Event, StoreRows, run_query
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import ParameterError

HERE = ROOT / "tests" / "sql"
BACKENDS = {"base_backend": "xnnpack", "head_backend": "vulkan"}
# What some queries are asked beside what they require.
OPTIONS = {
    "coverage_gaps": {"fresh_since": captured_at(3)},
    "framework_tax": {"scope": "all"},
    "outlier_runs": {"min_excess": 0},
}


def _in(column, *names):
    return lambda dump: dump[column] in names


def _tagged(*wanted):
    return lambda dump: all(dump["tags"].get(key) in values for key, values in wanted)


def _hours(low, high):
    return lambda dump: dump["hours"] is not None and low <= dump["hours"] < high


# Values of each filter, and which dumps they choose.
FILTERS = {
    "device": [
        ("tablet", _in("device", "tablet")),
        (["tablet", "phablet"], _in("device", "tablet", "phablet")),
        ("ph*", _in("device", "phone", "phablet")),
    ],
    "pool": [
        ("lab", _in("pool", "lab")),
        (["field", "l?b"], _in("pool", "field", "lab")),
    ],
    "build": [
        ("mid", _in("build", "mid")),
        (["old", "[mn]*"], _in("build", "old", "mid", "new")),
    ],
    "model": [
        ("dw", _in("model", "dw")),
        ("net", _in("model", "net")),
        (["net?", "dw"], _in("model", "net2", "dw")),
    ],
    "backend": [
        ("portable", _in("backend", "portable")),
        ("*", _in("backend", "portable", "vulkan", "xnnpack")),
    ],
    "tag": [
        ("lab=north", _tagged(("lab", {"north"}))),
        ("device.colour=r*", _tagged(("device.colour", {"red"}))),
        (["lab=north", "lab=south"], _tagged(("lab", {"north", "south"}))),
        (["lab=north", "mode=3"], _tagged(("lab", {"north"}), ("mode", {3}))),
    ],
    "since": [(captured_at(1), _hours(1, 9)), (captured_at(2), _hours(2, 9))],
    "until": [(captured_at(1), _hours(0, 1)), (captured_at(2), _hours(0, 2))],
}

# Values of parameters that choose rows, and which rows they choose: of a query, or of all.
ROWS = {
    "event": ("GEMM*", lambda row: row["event_name"].startswith("GEMM")),
    "ordinal": (1, lambda row: row["ordinal"] == 1),
    "instruction_id": (2, lambda row: row["ordinal"] == 2),
    "delegate_id": ("GEMM #2", lambda row: row["delegate_id"] == "GEMM #2"),
    "top_n": (2, lambda row: row["rank"] <= 2),
    "module": (["head", "body.*"], lambda row: row["module_path"] in ("head", "body.conv")),
    ("framework_tax", "scope"): ("operator", lambda row: row["scope"] == "operator"),
    ("ingest_errors", "since"): (captured_at(1), lambda row: row["refused_at"] >= captured_at(1)),
    ("ingest_errors", "until"): (captured_at(1), lambda row: row["refused_at"] < captured_at(1)),
}
TAKEN = [(name, param) for name, query in every_query().items() for param in query.header.params]
CHOOSING = {
    (name, param.name): ROWS.get((name, param.name)) or ROWS[param.name]
    for name, param in TAKEN
    if ((name, param.name) in ROWS or param.name in ROWS)
    and (name, param.name) != ("memory_by_instruction", "event")  # here delegates alone allocate
}
FILTERED = [
    (name, param.name, value, is_chosen)
    for name, param in TAKEN
    if (name, param.name) not in CHOOSING
    for value, is_chosen in FILTERS.get(param.name, ())
]
FIRST_VALUES = {param: values[0][0] for param, values in FILTERS.items()}
GROUPED = [
    (name, key)
    for name, param in TAKEN
    if param.name == "group_by"
    for key in (*param.choices, "lab", "mode", "device.colour")
    if (name, key) != ("framework_tax", "backend")  # one row, which test_framework_tax.py has
]


@pytest.fixture(scope="module")
def farm():
    return mixed_farm()


@pytest.fixture(scope="module")
def ask_all(farm):
    """What a query answers that leaves nothing out, asked once."""
    return cache(lambda name: _ask(farm, name))


def _only(farm, is_chosen):
    """The farm's store without any other dumps."""
    chosen = [number for number, dump in enumerate(DUMPS, start=1) if is_chosen(dump)]
    assert 0 < len(chosen) < len(DUMPS)
    return only_dumps(farm, chosen)


def _ask(farm, name, **params):
    """Rows of the query, but for what it takes from dumps that are filtered out."""
    asked = required(name, **BACKENDS) | OPTIONS.get(name, {}) | params
    rows = run_query(farm, name, **asked)
    return [{key: row[key] for key in row if key != "first_captured_at"} for row in rows]


def test_every_parameter_is_tried():
    """Here, or by name in the tests of its query; `run` in test_named_run_signatures."""
    tried = CHOOSING.keys() | {(name, param) for name, param, _, _ in FILTERED}
    tried |= {(name, "group_by") for name, _ in GROUPED}
    left = [(name, param.name) for name, param in TAKEN if (name, param.name) not in tried]
    assert [(name, param) for name, param in left if not _is_tried_elsewhere(name, param)] == []


def _is_tried_elsewhere(name, param):
    if param == "run" and "run" in {column.name for column in find_query(name).header.columns}:
        return True
    # The two queries share these parameters and the parts that read them.
    owner = "regression_deltas" if name == "comparison" else name
    text = (HERE / f"test_{owner}.py").read_text(encoding="utf-8")
    return re.search(rf"\b{param}\b", text) is not None


@pytest.mark.parametrize(
    ("name", "param", "value", "is_chosen"),
    # Queries share how they filter: some try each value, and all try all filters at once below.
    cross_section([case for case in FILTERED if case[2] == FIRST_VALUES[case[1]]][::2], 13)
    + [
        pytest.param(*case, marks=pytest.mark.slow)
        for case in [case for case in FILTERED if case[2] != FIRST_VALUES[case[1]]][::4]
    ],
)
def test_filter_answers_as_if_nothing_else_were_stored(
    farm, ask_all, name, param, value, is_chosen
):
    filtered = _ask(farm, name, **{param: value})
    with _only(farm, is_chosen):
        assert filtered == _ask(farm, name)
    if name != "variance_components":  # which the farm has enough dumps of one model for
        assert filtered
        assert filtered != ask_all(name)


@pytest.mark.parametrize("name", cross_section(sorted({name for name, *_ in FILTERED}), 10))
def test_different_filters_must_all_hold(farm, name):
    values = {param: values[0] for param, values in FILTERS.items() if param != "build"}
    values["device"], values["model"] = (
        ("ph*", _in("device", "phone", "phablet")),
        FILTERS["model"][1],
    )
    values["backend"], values["until"] = FILTERS["backend"][1], FILTERS["until"][1]
    taken = {param.name for query, param in TAKEN if query == name}
    values = {param: value for param, value in values.items() if param in taken}
    filtered = _ask(farm, name, **{param: value for param, (value, _) in values.items()})
    with _only(farm, lambda dump: all(is_chosen(dump) for _, is_chosen in values.values())):
        assert filtered == _ask(farm, name)
    assert filtered


@pytest.mark.parametrize(("name", "param"), cross_section(CHOOSING, 4))
def test_parameter_keeps_exactly_its_rows(farm, name, param):
    value, is_kept = CHOOSING[name, param]
    everything = {"event": "*"} if (name, "event") in CHOOSING else {}
    rows = _ask(farm, name, **everything)
    kept = _ask(farm, name, **everything | {param: value})
    expected = [row for row in rows if is_kept(row)]
    assert 0 < len(expected) < len(rows)
    assert kept == expected


@pytest.mark.parametrize("number", [1, 20])
def test_event_blocks_are_those_of_the_dump_alone(farm, number):
    rows = _ask(farm, "event_blocks", dump=number)
    with only_dumps(farm, [number]):
        assert _ask(farm, "event_blocks", dump=number) == rows
    assert rows
    assert rows != _ask(farm, "event_blocks", dump=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", cross_section(["comparison", "regression_deltas"], 2))
def test_only_base_and_head_are_compared(farm, name):
    rows = _ask(farm, name, base="mid", head="side")
    with _only(farm, _in("build", "mid", "side")):
        assert rows == _ask(farm, name, base="mid", head="side")
    swapped = _ask(farm, name, base="side", head="mid")
    sides = ("base_count", "head_count", "base_ns", "head_ns")
    for row, other in zip(rows, swapped, strict=True):
        turned = tuple(other[sides[position]] for position in (1, 0, 3, 2))
        assert tuple(row[side] for side in sides) == pytest.approx(turned)
    assert any(row["base_ns"] != row["head_ns"] for row in rows)


def test_values_of_only_base_and_head_are_compared(farm):
    rows = _ask(farm, "numeric_divergence", base="mid", head="side")
    with _only(farm, _in("build", "mid", "side")):
        assert rows == _ask(farm, "numeric_divergence", base="mid", head="side")
    swapped = _ask(farm, "numeric_divergence", base="side", head="mid")
    assert [(row["base_dump_id"], row["head_dump_id"]) for row in rows] == [
        (row["head_dump_id"], row["base_dump_id"]) for row in swapped
    ]
    assert rows


@pytest.mark.parametrize("name", cross_section(sorted({name for name, _ in GROUPED}), 2))
def test_devices_and_pools_are_told_apart_unless_grouped(farm, name):
    devices = {(row["device"], row["pool"], row["group"]) for row in _ask(farm, name)}
    assert devices == {(dump["device"], dump["pool"], None) for dump in DUMPS}


def _value(dump, key):
    value = dump[key] if key in dump else dump["tags"].get(key)
    return None if value is None else str(value)


@pytest.mark.parametrize(("name", "key"), cross_section(GROUPED[::2], 10))
def test_group_answers_as_if_it_were_one_device(farm, name, key):
    grouped = _ask(farm, name, group_by=key)
    farm.execute("BEGIN")
    for number, value in enumerate(sorted({_value(dump, key) or "" for dump in DUMPS}), start=100):
        chosen = [n for n, dump in enumerate(DUMPS, start=1) if (_value(dump, key) or "") == value]
        farm.execute(
            "INSERT INTO devices BY NAME SELECT ? AS device_id, ? AS name", [number, value]
        )
        farm.execute(
            "UPDATE dumps SET device_id = ? WHERE array_contains(?, dump_id)", [number, chosen]
        )
    rows = _ask(farm, name)
    farm.execute("ROLLBACK")
    expected = [{**row, "group": row["device"] or None, "device": None} for row in rows]
    assert sorted(grouped, key=repr) == sorted(expected, key=repr)
    assert len({row["group"] for row in grouped}) > 1


def test_dumps_of_unknown_time_are_outside_of_any_time_range(farm):
    rows = _ask(farm, "dumps", since="2000-01-01")
    assert {row["captured_at"] for row in rows} == {captured_at(hours) for hours in range(3)}


def test_a_name_with_letters_of_a_glob_matches_itself_alone():
    store = StoreRows()
    for device in ("a*", "ab", "[x]", "x"):
        store.add_run(store.add_dump(device=device), [Event("Method::execute", 1, 0)])
    connection = store.connect()
    for wanted, found in (("a*", ["a*"]), ("[x]", ["[x]"]), ("a?", ["a*", "ab"]), ("X*", None)):
        if found is None:
            with pytest.raises(ParameterError, match=r"'X\*' is not in the store"):
                run_query(connection, "dumps", device=wanted)
        else:
            rows = run_query(connection, "dumps", device=wanted)
            assert [row["device"] for row in rows] == found


@pytest.mark.parametrize("text", ["pho%", "' OR TRUE --", "", "Phone"])
def test_text_that_is_no_name_of_the_store_is_an_error(farm, text):
    with pytest.raises(ParameterError, match=r"there are phablet|did you mean phone"):
        run_query(farm, "dumps", device=text)

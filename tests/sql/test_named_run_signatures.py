"""Names of runs that hold across builds, and what is compared by them."""

import pytest

from tests.support.questions import every_query, required
from tests.support.store_rows import Event, StoreRows, run_query

EXECUTE = Event("Method::execute", 0, chain=-1)
DECODE = [EXECUTE._replace(ticks=50_000), Event("native_call_mm.out", 20_000, 1)]
PREFILL = [
    EXECUTE._replace(ticks=500_000),
    Event("native_call_mm.out", 300_000, 1),  # the instruction of the other method
    Event("native_call_sum.out", 90_000, 2),
]
LOGGED = [DECODE[0], DECODE[1]._replace(debug_name="native_call_mm.out")]


def _add(store, *turns, **columns):
    """A dump of these runs: (events, how often) each."""
    number = store.add_dump(**columns)
    for events, count in turns:
        store.add_runs(number, [events] * count)


def _shifted(events, by=1):
    """The same after an operator was inserted before all others."""
    moved = [e._replace(instruction=e.instruction + by) for e in events[1:]]
    return [events[0], Event("native_call_new.out", 1_000, 1), *moved]


BOTH = ["Execute", "Execute #2"]
USUAL = ("b1", (PREFILL, 2), (DECODE, 9))
# By device: the build and the turns of each dump, and the names of its runs, longest first.
DUMPS = {
    "numbered in order of their first runs": [
        ("b1", (PREFILL, 2), (DECODE, 9), (PREFILL, 1)),
        ("b1", (DECODE, 3)),
    ],
    "an inserted operator": [
        USUAL,
        ("b2", (_shifted(PREFILL), 2), (DECODE, 9)),
        ("b3", (_shifted(PREFILL), 2), (_shifted(DECODE), 9)),
    ],
    "one alone, or another order": [
        USUAL,
        ("b2", (DECODE, 9)),
        ("b3", (DECODE, 9), (PREFILL, 2)),
    ],
    "two of a build never share a name": [USUAL, ("b2", (DECODE, 9), (_shifted(PREFILL), 2))],
    "what is logged, and the order of events": [
        ("b1", (LOGGED, 1), (DECODE, 9), (DECODE[::-1], 2)),
        ("b2", (DECODE, 9)),
    ],
    "each device has its own numbers": [("b1", (DECODE, 2))],
}
NAMES = {
    "numbered in order of their first runs": [BOTH, BOTH[1:]],
    "an inserted operator": [BOTH, BOTH, BOTH],
    "one alone, or another order": [BOTH, BOTH[1:], BOTH],
    "two of a build never share a name": [BOTH, ["Execute #2.2", "Execute #2"]],
    "what is logged, and the order of events": [["Execute"] * 3, ["Execute"]],
    "each device has its own numbers": [["Execute"]],
}


def test_runs_have_names_that_hold_across_builds():
    store = StoreRows()
    for device, dumps in DUMPS.items():
        for build, *turns in dumps:
            _add(store, *turns, device=device, build=build)
    text = """SELECT device, dump_id, run FROM named_run_signatures
        JOIN run_signatures USING (run_signature_id) JOIN named_dumps USING (dump_id)
        ORDER BY dump_id, len(events) DESC, run_signature_id"""
    found = {device: {} for device in DUMPS}
    for device, dump, run in store.connect().execute(text).fetchall():
        found[device].setdefault(dump, []).append(run)
    assert {device: [*names.values()] for device, names in found.items()} == NAMES


def test_loads_runs_that_fail_and_bundled_inputs_are_named_so():
    store = StoreRows()
    number = store.add_dump()
    store.add_run(number, [Event("Method::init", 5, chain=-1)], name="Default")
    store.add_run(number, [Event("Method::init", 5, chain=-1), DECODE[1]], name="Both")
    store.add_run(number, DECODE[1:])
    store.add_run(number, DECODE, bundled_input_index=2)
    store.add_run(number, [DECODE[0]], name=None)
    rows = store.connect().execute("SELECT run FROM named_run_signatures ORDER BY run").fetchall()
    names = ["Both (incomplete)", "Default", "Execute (incomplete)", "Execute input 2", "run"]
    assert [name for (name,) in rows] == names


@pytest.fixture(scope="module")
def chat():
    """Two builds of one speed; in the second there are more prompts."""
    store = StoreRows()
    for build, prompts in (("b1", 26), ("b2", 300)):
        for _ in range(10):
            _add(store, (PREFILL, prompts), (DECODE, 60), build=build)
    return store.connect()


def _tell(rows, *names):
    return sorted({tuple(row[name] for name in names) for row in rows})


@pytest.mark.slow
def test_more_prompts_are_no_regression(chat):
    sides = {"base": "b1", "head": "b2"}
    for query in ("regression_deltas", "comparison"):
        rows = run_query(chat, query, **sides)
        assert {row["verdict"] for row in rows} == {"unchanged"}
        methods = [row for row in rows if row["event_name"] == "Method::execute"]
        assert _tell(methods, "run", "base_ns", "head_ns", "delta") == [
            ("Execute", 500_000, 500_000, 0),
            ("Execute #2", 50_000, 50_000, 0),
        ]


@pytest.mark.slow
def test_every_question_about_runs_tells_them_apart(chat):
    expected = [("Execute", 500_000), ("Execute #2", 50_000)]
    event = {"event": "Method::execute"}
    assert _tell(run_query(chat, "dump_values", **event), "run", "value") == expected
    assert _tell(run_query(chat, "build_history", **event), "run", "p50_ns") == expected
    assert _tell(run_query(chat, "stability"), "run", "p50_ns") == expected
    assert _tell(run_query(chat, "stability"), "drift") == [(0,)]
    assert _tell(run_query(chat, "device_comparison"), "run", "p50_ns") == expected
    methods = [r for r in run_query(chat, "percentiles") if r["kind"] == "method"]
    assert _tell(methods, "run", "p99_ns") == expected
    kernels = [r for r in run_query(chat, "operator_variance") if "mm" in r["event_name"]]
    parts = [("Execute", 300_000), ("Execute #2", 20_000)]
    assert _tell(kernels, "run", "p50_ns") == parts
    kernels = [r for r in run_query(chat, "operator_hotspots") if "mm" in r["event_name"]]
    assert _tell(kernels, "run", "mean_ns") == parts
    assert _tell(run_query(chat, "tax_history"), "run", "execute_ns") == expected
    kernels = [r for r in run_query(chat, "op_type_history") if r["op_type"] == "mm"]
    assert _tell(kernels, "run", "run_ns") == parts
    assert {row["change"] for row in kernels} == {None, 0}  # whatever the share of prompts


# Queries of one or two builds that take the names of runs, on what they are asked here.
ASKED = {
    name: required(name, base="b1", head="b2", event="Method::execute")
    for name, query in every_query().items()
    if "run" in {column.name for column in query.header.columns}
    and "run" in {param.name for param in query.header.params}
}


@pytest.fixture(scope="module")
def backends():
    """Two builds on two backends, of two sizes of input, with modules and costs."""
    store = StoreRows()
    prefill, decode = (
        [event._replace(modules=("", "head")) if event.chain == 0 else event for event in events]
        for events in (PREFILL, DECODE)
    )
    for build in ("b1", "b2"):
        for backend in ("portable", "xnnpack"):
            for number in range(10):
                _add(
                    store, (prefill, 26), (decode, 30), build=build, backend=backend,
                    tags={"size": 1 + number % 2}, etrecord=f"{backend}.etrecord",
                )  # fmt: skip
    return store.connect()


@pytest.mark.parametrize("query", ASKED)
def test_runs_can_be_asked_for(query, backends):
    rows = run_query(backends, query, **ASKED[query], run="*#2")
    assert _tell(rows, "run") == [("Execute #2",)]


def _add_lengths(store, long, short, **columns):
    number = store.add_dump(**columns)
    store.add_runs(number, [PREFILL] * long, length="long")
    store.add_runs(number, [PREFILL] * short, length="short")


def _names_and_variants(store, model):
    text = f"""
        SELECT d.build, n.run, n.has_variants
        FROM named_run_signatures AS n JOIN named_dumps AS d ON d.dump_id = n.dump_id
        WHERE d.model = '{model}' ORDER BY ALL
    """  # noqa: S608
    return store.connect().sql(text).fetchall()


def test_runs_of_two_lengths_have_names_if_most_dumps_have_both():
    store = StoreRows()
    for build in ("b1", "b2"):
        _add_lengths(store, 9, 30, build=build, model="most")
    _add(store, (PREFILL, 30), build="b3", model="most")
    both = [("Execute (long)", False), ("Execute (short)", False)]
    expected = [(build, *one) for build in ("b1", "b2") for one in both]
    assert _names_and_variants(store, "most") == [*expected, ("b3", "Execute", False)]


def test_lengths_of_a_minority_stay_one_series_of_the_more_common_length():
    store = StoreRows()
    for build in ("b1", "b2"):
        _add(store, (PREFILL, 30), build=build, model="few")
    _add_lengths(store, 25, 30, build="b3", model="few")
    names = {(build, run) for build, run, _ in _names_and_variants(store, "few")}
    assert names == {(build, "Execute") for build in ("b1", "b2", "b3")}
    text = "SELECT build, sample_count FROM operator_stats WHERE kind = 'method' ORDER BY ALL"
    assert store.connect().sql(text).fetchall() == [("b1", 30), ("b2", 30), ("b3", 30)]


def test_a_signature_of_other_events_beside_two_lengths_has_a_number():
    store = StoreRows()
    for build in ("b1", "b2"):
        number = store.add_dump(build=build, model="three")
        store.add_runs(number, [PREFILL] * 9, length="long")
        store.add_runs(number, [PREFILL] * 9, length="short")
        store.add_runs(number, [DECODE] * 9)
    found = {run for _, run, _ in _names_and_variants(store, "three")}
    assert found == {"Execute", "Execute (long)", "Execute (short)"}

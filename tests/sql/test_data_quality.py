from datetime import UTC, datetime, timedelta

import pytest

from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_query

EXECUTE = [Event("native_call_add.out", 5, 0), Event("Method::execute", 10, 0, chain=-1)]
OTHER = [Event("Method::execute", 10, 1, chain=-1)]
FLAGGED = [Event("native_call_add.out", 5, 0, flags=2), EXECUTE[1]]
LOAD = Event("Method::init", 5, chain=-1)
GOOD = {"etrecord": "some.etrecord", "run": {"threads": 4}}
USUAL = [EXECUTE] * 25
# By model: runs and columns of a dump that stands beside a good one, and its problems.
CASES = {
    "good": ([[LOAD], *USUAL], {}, []),
    "loads and executes in one run": ([[LOAD, *EXECUTE], *USUAL], {}, []),
    "one of these fails": ([[LOAD, *EXECUTE], *USUAL, EXECUTE[:1]], {}, ["incomplete runs"]),
    "fails after its load": ([[LOAD, EXECUTE[0]], *USUAL], {}, ["incomplete runs"]),
    "incomplete": ([*USUAL, EXECUTE[:1]], {}, ["incomplete runs"]),
    "flagged": ([*USUAL, FLAGGED], {}, ["flagged events", "incomplete runs"]),
    "24 runs": ([EXECUTE] * 24, {}, ["few runs"]),
    # Runs count by what they execute.
    "24 of two methods": ([*[EXECUTE] * 24, *[OTHER] * 24], {}, ["few runs"]),
    "no runs": ([], {}, ["no events", "few runs"]),
    "ticks": (USUAL, {"ns_per_tick": None}, ["unknown clock rate"]),
    "delegate in ticks": (USUAL, {"delegate_ns_per_tick": None}, ["unknown clock rate"]),
    "steps in us": (USUAL, {"resolution_ticks": 1_000}, ["coarse clock"]),
    "steps in 41 ns": (USUAL, {"resolution_ticks": 41.67}, []),
    "coarse ticks": (USUAL, {"ns_per_tick": 1e3}, []),
    "coarse delegate": (USUAL, {"delegate_resolution_ticks": 1_000}, []),
    "no time": (USUAL, {"captured_at": None}, ["no capture time"]),
    "1970": (USUAL, {"captured_at": LONG_AGO - timedelta(days=20_000)}, ["implausible time"]),
    "9999": (USUAL, {"captured_at": datetime(9999, 12, 31, tzinfo=UTC)}, ["implausible time"]),
    "an hour ahead": (USUAL, {"captured_at": LONG_AGO + timedelta(hours=1)}, []),
    "zone": (USUAL, {"stated": {"captured_at": "2026-01-01T00:00:00+00:00"}}, []),
    "no zone": (
        USUAL,
        {"stated": {"captured_at": "2026-01-01T00:00:00.123456"}},
        ["time without zone"],
    ),
    "commit without zone": (
        USUAL,
        {"stated": {"build": {"committed_at": "2025-12-31T00:00:00"}}},
        ["time without zone"],
    ),
    "no environment": (USUAL, {"run": None}, ["unknown environment"]),
    "no ETRecord": (USUAL, {"etrecord": None}, ["no ETRecord"]),
    "dropped": (USUAL, {}, ["events gone"]),
}


@pytest.fixture(scope="module")
def rows():
    """Rows of each model; the second dump of each is the one with problems."""
    store = StoreRows()
    store.add_build("b1", ordinal=1)
    store.add_build("nothing orders it")
    store.add_build("committed tomorrow", committed_at=LONG_AGO + timedelta(days=2))
    for model, (runs, columns, _) in CASES.items():
        store.add_runs(store.add_dump(model=model, **GOOD), USUAL)
        store.add_runs(store.add_dump(model=model, **GOOD | columns), runs)
    for _ in range(2):
        dump = store.add_dump(model="unordered", build="nothing orders it", **GOOD)
        store.add_runs(dump, USUAL)
    store.add_runs(store.add_dump(model="early", build="committed tomorrow", **GOOD), USUAL)
    connection = store.connect()
    dropped = 2 * ([*CASES].index("dropped") + 1)
    connection.execute("INSERT INTO dropped_events VALUES (?, now())", [dropped])
    found = {model: [] for model in [*CASES, "unordered", "early"]}
    for row in run_query(connection, "data_quality"):
        found[row["model"]].append(row)
    return found


@pytest.mark.parametrize("model", CASES)
def test_a_dump_with_one_defect_has_only_that_problem(model, rows):
    number = 2 * ([*CASES].index(model) + 1)
    found = {
        row["problem"]: (row["dump_count"], row["of_count"], int(row["example"], 16))
        for row in rows[model]
    }
    assert found == dict.fromkeys(CASES[model][2], (1, 2, number))
    assert {row["dump_share"] for row in rows[model]} <= {0.5}


def test_builds_without_an_order_are_reported(rows):
    (row,) = rows["unordered"]
    assert (row["problem"], row["dump_count"], row["dump_share"]) == ("unordered build", 2, 1)


def test_a_clock_that_disagrees_with_other_devices_of_its_build_is_reported():
    store = StoreRows()
    cases = {
        "right": {},
        "a week late": {"captured_at": LONG_AGO + timedelta(days=7)},
        "behind": {"captured_at": LONG_AGO - timedelta(days=400)},
        "ahead": {"captured_at": LONG_AGO + timedelta(days=50)},
        "implausible": {"captured_at": LONG_AGO - timedelta(days=20_000)},
        "recorded again": {
            "captured_at": LONG_AGO + timedelta(days=50),
            "ingested_at": LONG_AGO + timedelta(days=50, hours=9),
        },
    }
    late = {"ingested_at": LONG_AGO + timedelta(days=99)}
    for device, columns in cases.items():
        store.add_runs(store.add_dump(device=device, **GOOD | late | columns), USUAL)
    # A build of one device, and a reference, have no others to be out of line with.
    store.add_build("pinned", role="reference")
    for build, device in (("alone", "x"), ("pinned", "x"), ("pinned", "y")):
        for days in (0, 80):
            at = LONG_AGO + timedelta(days=days)
            dump = store.add_dump(device=device, build=build, captured_at=at, **GOOD | late)
            store.add_runs(dump, USUAL)
    found = [
        (row["build"], row["device"], row["problem"])
        for row in run_query(store.connect(), "data_quality")
        if row["problem"] in ("clock out of line", "implausible time")
    ]
    assert found == [
        ("b1", "ahead", "clock out of line"),
        ("b1", "behind", "clock out of line"),
        ("b1", "implausible", "implausible time"),
    ]


def test_a_build_committed_after_its_dumps_were_ingested_is_reported(rows):
    assert [row["problem"] for row in rows["early"]] == ["implausible time"]

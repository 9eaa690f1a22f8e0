import numpy as np
import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

OP = "native_call_add.out"
SHARES = {"p10_ns": 10, "p50_ns": 50, "p90_ns": 90, "p95_ns": 95, "p99_ns": 99}
TICKS = [0, 0, 1, 2, 3, 150, 151, *range(900, 10_000, 41), 2**40, 2**62]
COUNTS = [1, 2, 99, 100, 199, 200, 237]
COARSE, UNKNOWN = {"ns_per_tick": 1000.0}, {"ns_per_tick": None}
LONG = [1000 + run for run in range(240)]


def _random(count):
    return np.random.default_rng(count).choice(TICKS, count).tolist()


# By device, each dump: its clock, and the ticks (and flags) of one operator, run by run.
DUMPS = {
    "four samples": [({}, [40, 10, 30, 20])],
    "two dumps": [({}, [7, 1, 9, 4, 4]), ({}, [12, 3, 100])],
    "two clocks": [({}, [1000, 3000]), (COARSE, [2])],
    # A corrected wrap counts, what cannot be right does not, nor do cycles of unknown rate.
    "flagged": [({}, [(50, 1), (-5, 2)]), (UNKNOWN, [7])],
    **{f"random {count}": [({}, _random(count))] for count in COUNTS},
    **{f"random {count}, events gone": [({}, _random(count))] for count in COUNTS},
    "long and coarse": [({}, LONG), (COARSE, [3, 4, 5])],
    "two phases": [({}, [31_000] * 100 + [869_000] * 100)],
    "left out": [({}, [100, (-5, 2)]), (UNKNOWN, [7] * 200)],
    "all events gone": [({}, [10] * 200), ({}, [30] * 3)],
    "some events gone": [({}, [10] * 4), ({}, [30] * 3)],
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    gone = []
    for device, dumps in DUMPS.items():
        for place, (columns, ticks) in enumerate(dumps):
            dump = store.add_dump(device=device, **columns)
            samples = [one if isinstance(one, tuple) else (one, 0) for one in ticks]
            store.add_runs(dump, [[Event(OP, own, 3, flags=flags)] for own, flags in samples])
            is_short = device.startswith("random") and len(ticks) < 200
            if device.endswith("gone") and not is_short and (device[0] != "s" or place == 0):
                gone.append(dump)
    delegated = store.add_dump(device="delegate's clock", delegate_ns_per_tick=1000.0)
    events = [Event("", 3, 0, "GEMM #1"), Event("DELEGATE_CALL", 5000, 0)]
    store.add_run(delegated, events)
    logging = store.add_dump(device="logged values")
    store.add_runs(logging, [[Event(OP, 10, 3)], [Event(OP, 20, 3, debug_name="")]])
    connection = store.connect()
    connection.execute("DELETE FROM events WHERE array_contains(?, dump_id)", [gone])
    return connection


@pytest.fixture(scope="module")
def exact(farm):
    return run_by_device(farm, "percentiles")


@pytest.fixture(scope="module")
def approximate(farm):
    return run_by_device(farm, "percentiles", approx=True)


def test_four_samples_by_hand(exact):
    assert exact["four samples"] == [
        {
            "device": "four samples",
            "pool": None,
            "build": "b1",
            "model": "net",
            "backend": "xnnpack",
            "group": None,
            "run": "Execute (incomplete)",
            "event_name": OP,
            "instruction_id": 3,
            "delegate_id": None,
            "kind": "kernel",
            "sample_count": 4,
            "p10_ns": pytest.approx(13),
            "p50_ns": 25,
            "p90_ns": pytest.approx(37),
            "p95_ns": pytest.approx(38.5),
            "p99_ns": pytest.approx(39.7),
            "avg_ns": 25,
            "min_ns": 10,
            "max_ns": 40,
            "missing_count": 0,
            "error_share": 0,
        }
    ]


def test_dumps_of_a_build_are_pooled_as_numpy_would_in_nanoseconds(exact):
    (row,) = exact["two dumps"]
    pooled = [tick for _, ticks in DUMPS["two dumps"] for tick in ticks]
    for name, share in SHARES.items():
        assert row[name] == pytest.approx(np.percentile(pooled, share), rel=1e-12)
    assert shown(exact["two clocks"], "sample_count", "p50_ns", "max_ns") == [(3, 2000, 3000)]
    assert shown(exact["flagged"], "sample_count", "min_ns", "max_ns") == [(1, 50, 50)]
    # Runs with and without logged values are one row.
    assert shown(exact["logged values"], "sample_count", "p50_ns") == [(2, 15)]


def test_delegate_events_use_the_delegate_s_clock(exact):
    found = {row["event_name"]: row["p50_ns"] for row in exact["delegate's clock"]}
    assert found == {"GEMM #1": 3000, "DELEGATE_CALL": 5000}


@pytest.mark.parametrize("gone", ["", ", events gone"])
@pytest.mark.parametrize("count", COUNTS)
def test_approximate_percentiles_are_within_their_bound(count, gone, exact, approximate):
    """Of 200 runs or more from a histogram, of fewer from the events."""
    (row,), (true,) = approximate[f"random {count}{gone}"], exact[f"random {count}"]
    for name, share in SHARES.items():
        expected = np.percentile(np.array(_random(count), np.float64), share)
        assert row[name] == pytest.approx(expected, rel=row["error_share"] * (1 + 1e-9), abs=0)
        assert row[name] == pytest.approx(true[name], rel=0.01 * (1 + 1e-9), abs=0)
    assert (row["error_share"], row["missing_count"]) == (0.01, 0)
    for name in ("sample_count", "avg_ns", "min_ns", "max_ns"):
        assert row[name] == true[name]


def test_approximate_percentiles_of_dumps_that_differ(approximate):
    (row,) = approximate["long and coarse"]
    pooled = [*LONG, *(1000 * ticks for ticks in (3, 4, 5))]
    for name, share in SHARES.items():
        assert row[name] == pytest.approx(np.percentile(pooled, share), rel=0.01)
    assert row["sample_count"] == 243
    # Those of runs in two phases lie between them.
    assert approximate["two phases"][0]["p50_ns"] == pytest.approx(450_000, rel=0.01)
    names = ("sample_count", "missing_count", "p50_ns")
    assert shown(approximate["left out"], *names) == [(1, 0, pytest.approx(100, rel=0.01))]


def test_dropped_events_are_counted_as_missing(exact, approximate):
    names = ("sample_count", "missing_count", "min_ns", "max_ns", "p99_ns")
    assert shown(exact["all events gone"], *names) == [(203, 203, 10, 30, None)]
    near_10 = pytest.approx(10, rel=0.01)
    assert shown(approximate["all events gone"], *names) == [(203, 3, 10, 30, near_10)]
    assert shown(exact["some events gone"], "p10_ns", "missing_count") == [(30, 4)]

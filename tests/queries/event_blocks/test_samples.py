from __future__ import annotations

import statistics

import pytest

from tests.support.event_blocks import blocks_of, json_of, run, timed
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.errors import QueryError

TOP = 2**32


def test_samples_of_all_runs_are_summarised_by_linear_interpolation():
    durations = [40, 10, 30, 20, 100]
    [block] = json_of(
        *(run(timed("op", 0, ticks)) for ticks in durations),
        source_time_scale=TimeScale.US,
        target_time_scale=TimeScale.US,
    )
    [event] = block["events"]
    assert event["raw"] == durations
    assert [event[key] for key in ("p10", "p50", "p90")] == pytest.approx([14, 30, 76])
    assert [event[key] for key in ("avg", "min", "max", "n")] == [40, 10, 100, 5]
    assert [event[key] for key in ("p95", "p99")] == pytest.approx([88, 97.6])
    assert event["stddev"] == pytest.approx(statistics.stdev(durations))


def test_a_single_sample_has_no_standard_deviation():
    [block] = json_of(run(timed("op", 0, 1)))
    assert (block["events"][0]["n"], block["events"][0]["stddev"]) == (1, None)


def test_the_average_per_run_counts_runs_not_samples():
    [block] = blocks_of(
        run(timed("op", 0, 1), timed("op", 2, 4)),
        run(timed("op", 10, 13), timed("op", 2**40, 5)),
        run(timed("op", 2**40, 5)),
        target_time_scale=TimeScale.NS,
    )
    [event] = block.events
    assert event.samples_per_run == [2, 1, 0]
    assert event.avg_per_run == 3.0


def test_every_sample_of_an_event_that_repeats_within_a_run_is_kept():
    [block] = json_of(
        run(timed("op", 0, 1), timed("op", 2, 4)),
        run(timed("op", 10, 13)),
        run(timed("op", 20, 24), timed("op", 30, 35), timed("op", 40, 46)),
        target_time_scale=TimeScale.NS,
    )
    [event] = block["events"]
    assert event["raw"] == [1, 2, 3, 4, 5, 6]
    assert event["samples_per_run"] == [2, 1, 3]
    assert event["start_time"] == [0, 2, 10, 20, 30, 40]


def test_clock_readings_are_exact_above_2_63_and_across_2_64():
    starts = [2**63 + 1, 2**64 - 3, 1]
    [block] = json_of(run(*(timed(str(i), start, start + 2) for i, start in enumerate(starts))))
    assert [event["start_time"] for event in block["events"]] == [[start] for start in starts]


def test_a_32_bit_wrap_adds_2_32():
    [block] = json_of(run(timed("op", 2**32 - 1, 0)), target_time_scale=TimeScale.NS)
    assert block["events"][0]["raw"] == [1.0]


@pytest.mark.parametrize(
    "pairs",
    [
        [(TOP - 3, 5), (10, 20)],
        [(TOP - 3, 5), (TOP + 10, TOP + 20)],  # one wrap in a run of 64-bit readings
        [(9, 3), (5, 6), (TOP, TOP + 1)],
        [(TOP - 1, 0), (2**63 + 1, 7), (TOP + 1, TOP + 2), (3, 2**40)],
    ],
)
def test_readings_come_back_where_a_32_bit_clock_wraps(pairs):
    [block] = json_of(run(*(timed(str(i), *pair) for i, pair in enumerate(pairs))))
    found = [
        event["start_time"] or [sample["start_time"] for sample in event["flagged"]]
        for event in block["events"]
    ]
    assert found == [[start] for start, _ in pairs]


def test_a_duration_that_cannot_be_right_is_listed_apart():
    [block] = json_of(
        run(timed("op", 10, 11)),
        run(timed("op", 2**40, 5)),
        run(timed("op", 0, 2**63)),
        run(timed("op", 20, 23)),
        target_time_scale=TimeScale.NS,
    )
    [event] = block["events"]
    assert event["raw"] == [1, 3]
    assert event["start_time"] == [10, 20]
    assert event["max"] == 3
    assert event["flagged"] == [
        {
            "run_index": 1,
            "start_time": 2**40,
            "end_time": 5,
            "reason": "end before start, and not a 32-bit wrap",
        },
        {
            "run_index": 2,
            "start_time": 0,
            "end_time": 2**63,
            "reason": "2^63 ticks or longer",
        },
    ]


def test_an_event_with_flagged_samples_alone_has_no_statistics():
    [block] = json_of(run(timed("op", 2**40, 5)))
    [event] = block["events"]
    assert (event["raw"], event["p50"], event["start_time"]) == ([], None, [])
    assert event["n"] == 0


def test_flagged_samples_are_not_counted_per_run():
    [block] = json_of(run(timed("op", 2**40, 5), timed("op", 0, 1)), run(timed("op", 2**40, 5)))
    assert block["events"][0]["samples_per_run"] == [1, 0]


def test_delegate_metadata_stands_beside_each_sample():
    metadata = {"delegate_debug_metadata": b"\x00\xff"}
    delegate = {"delegate_debug_id_int": 3}
    [block] = json_of(
        run(timed("a", 0, 1, **delegate, delegate_debug_metadata=b""), timed("b", 0, 1)),
        run(timed("a", 0, 1, **delegate, **metadata), timed("b", 0, 1)),
        run(timed("a", 2**40, 1, **delegate, **metadata), timed("b", 0, 1)),
    )
    first, second = block["events"]
    assert first["raw_delegate_debug_metadatas"] == ["", "00ff"]
    assert second["raw_delegate_debug_metadatas"] == []


@pytest.mark.parametrize(
    ("source", "target", "shown"),
    [
        ("ns", "ns", 1500.0),
        ("ns", "us", 1.5),
        ("ns", "s", 1.5e-6),
        ("us", "ns", 1_500_000.0),
        ("s", "ms", 1_500_000.0),
        ("cycles", "cycles", 1500.0),
    ],
)
def test_durations_are_shown_in_the_target_scale_and_starts_in_ticks(source, target, shown):
    scales = {"source_time_scale": TimeScale(source), "target_time_scale": TimeScale(target)}
    [block] = json_of(run(timed("op", 2**63, 2**63 + 1500)), **scales)
    [event] = block["events"]
    assert (event["raw"], event["start_time"]) == ([shown], [2**63])
    assert (block["source_time_scale"], block["target_time_scale"]) == (source, target)


@pytest.mark.parametrize(("source", "target"), [("cycles", "ms"), ("ns", "cycles")])
def test_cycles_convert_to_cycles_alone(source, target):
    with pytest.raises(QueryError, match="cycles"):
        blocks_of(source_time_scale=TimeScale(source), target_time_scale=TimeScale(target))

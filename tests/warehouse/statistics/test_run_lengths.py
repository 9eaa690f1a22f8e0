from __future__ import annotations

import numpy as np
import pytest

from tests.support.documents import ROOT
from tests.support.traced_farm import Step, traced_runs
from tracehouse import decode_dumps
from tracehouse.warehouse.load.content import decode_content
from tracehouse.warehouse.statistics.rollups import group_events
from tracehouse.warehouse.statistics.run_lengths import (
    find_lengths,
    join_lengths,
    split_lengths,
    split_runs,
)
from tracehouse.warehouse.statistics.runs import find_starts

SAMPLE = ROOT / "ingest" / "sample" / "farm"
KEYS = ("dump_index", "run_signature_id", "event_signature_id")
TOKEN, PROMPT = 360_000, 1_060_000
NAMES = ("native_call_linear.out", "native_call_sdpa.out", "native_call_add.out")


def times(pattern: str, *, noise: float = 0.02, seed: int = 0) -> np.ndarray:
    """Times of runs: P of a prompt, D of a token, i of an interrupted token."""
    rng = np.random.default_rng(seed)
    level = {"P": PROMPT, "D": TOKEN, "i": TOKEN * (1 + rng.exponential())}
    return np.array([round(level[one] * rng.normal(1, noise)) for one in pattern])


@pytest.mark.parametrize("pattern", ["PD" * 30, "PDD" * 20, "PDDD" * 15, "PPDDDDD" * 10, "DP" * 15])
def test_prompts_and_tokens_in_turns_have_two_lengths(pattern: str) -> None:
    found = split_lengths(times(pattern))
    assert found is not None
    assert found.tolist() == [one == "P" for one in pattern]


@pytest.mark.parametrize(
    "pattern",
    [
        "D" * 60,
        ("P" + "D" * 29) * 2,  # too few long ones
        "P" * 30 + "D" * 30,  # a device that became faster
        "D" * 40 + "P" * 20,
        "P" * 20 + "D" * 40,  # a slow start
        ("D" * 12 + "P" * 8) * 3,  # stretches of load
    ],
)
def test_runs_of_one_length_are_not_split_by_changes_of_speed(pattern: str) -> None:
    assert split_lengths(times(pattern)) is None


def test_runs_that_a_loaded_host_interrupts_are_not_split() -> None:
    """As recorded: 50 runs of a delegate's call on two cores under load."""
    pattern = ".L.....L.L.L........L.L...L.........L.L.L......L..."
    long = iter([4.6, 2.1, 7.1, 3.2, 17.3, 5.6, 3.2, 8.6, 4.6, 6.1, 7.2])
    short = np.random.default_rng(1).uniform(0.378, 0.78, len(pattern))
    times_ms = [next(long) if one == "L" else ms for one, ms in zip(pattern, short, strict=True)]
    assert split_lengths((1e6 * np.array(times_ms)).astype(np.int64)) is None


def test_lengths_that_differ_by_a_fifth_are_one_run_length() -> None:
    rng = np.random.default_rng(2)
    ticks = np.where(np.arange(60) % 2, 120_000, 100_000) + rng.integers(0, 500, 60)
    assert split_lengths(ticks) is None


def test_interrupted_tokens_do_not_hide_the_two_run_lengths() -> None:
    pattern = ("PDD" * 7 + "PDi") * 3
    found = split_lengths(times(pattern))
    assert found is not None
    assert found[np.array(list(pattern)) != "i"].tolist() == [
        one == "P" for one in pattern if one != "i"
    ]


def run(*factors: float) -> list[Step]:
    return [Step(name, 100_000 * factor) for name, factor in zip(NAMES, factors, strict=True)]


def lengths_of(runs: list[list[Step]]) -> list[list[bool]]:
    tables = decode_dumps([traced_runs(runs)]).tables
    found = find_lengths(group_events(tables["events"]), tables["event_signatures"])
    return [one.is_long.tolist() for one in found]


def test_operators_must_be_long_in_the_same_runs() -> None:
    alternating = [True, False] * 15
    token = run(1, 1, 1)
    assert lengths_of([run(3, 4, 3), token] * 15) == [alternating]
    assert lengths_of([run(3, 4, 1), token] * 15) == [alternating]
    # An interruption hits one operator, here each time another one.
    interrupted = [run(*np.where(np.arange(3) == number % 3, 9, 1)) for number in range(15)]
    assert lengths_of([one for each in interrupted for one in (each, token)]) == []
    assert lengths_of([run(3, 4, 3), token] * 12) == []  # too few


def test_runs_are_split_and_joined_again() -> None:
    data = [traced_runs([run(3, 4, 3), run(1, 1, 1)] * 15), traced_runs([run(1, 1, 1)] * 30)]
    whole = decode_dumps(data)
    groups = group_events(whole.tables["events"])
    lengths = find_lengths(groups, whole.tables["event_signatures"])
    split = split_runs(whole, lengths).tables
    by_id = {row["run_signature_id"]: row["length"] for row in split["run_signatures"].to_pylist()}
    found = [by_id[one] for one in split["runs"]["run_signature_id"].to_pylist()]
    assert found == [None, *["long", "short"] * 15, *[None] * 31]
    keys = [split["events"][name].to_numpy() for name in (*KEYS, "run_index")]
    assert len(find_starts(keys[:3])) == len(np.unique(np.stack(keys[:3], axis=1), axis=0))
    assert (np.diff(keys[3])[np.diff(np.stack(keys[:3])).any(axis=0) == 0] > 0).all()
    for name in whole.tables:
        if name not in ("runs", "events", "run_signatures"):
            assert split[name] == whole.tables[name]

    only = {name: _of_first(table) for name, table in split.items()}
    joined = join_lengths(only)
    own = _of_first(whole.tables["events"])
    order = [("run_index", "ascending"), ("event_signature_id", "ascending")]
    names = ["run_index", "event_signature_id", "start_offset_ticks", "duration_ticks", "flags"]
    assert joined["events"].select(names).sort_by(order) == own.select(names).sort_by(order)
    assert len(set(joined["runs"]["run_signature_id"].to_pylist())) == 2
    assert joined["run_signatures"]["length"].null_count == joined["run_signatures"].num_rows


def _of_first(table):
    if "dump_index" not in table.column_names:
        return table
    return table.filter(table["dump_index"].to_numpy() == 0)


def test_no_dump_of_the_sample_has_two_run_lengths() -> None:
    content = decode_content([path.read_bytes() for path in SAMPLE.rglob("*.etdp")])
    assert content.decoded.tables["run_signatures"]["length"].drop_null().to_pylist() == []

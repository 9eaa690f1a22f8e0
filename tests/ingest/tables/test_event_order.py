"""The rows of events stand in order of dump, run signature, event signature, run, occurrence."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.etdump_builder import build_etdump
from tracehouse import decode_dumps


def dump(*runs: str) -> bytes:
    """A dump with one run per text, and in it one event per letter, each one tick longer."""
    times = iter(range(1000, 1000000, 1000))
    return build_etdump(
        {
            "run_data": [
                {
                    "name": "Execute",
                    "events": [
                        {"profile_event": {"name": name, "start_time": start, "end_time": end}}
                        for name in events
                        for start in [next(times)]
                        for end in [start + start // 1000]
                    ],
                }
                for events in runs
            ]
        }
    )


def expected(dumps: list[tuple[str, ...]]) -> list[tuple[int, int, str, int, int]]:
    """(dump, run, name, occurrence, duration), blocks of a dump in any order."""
    rows = []
    for index, runs in enumerate(dumps):
        place = 0
        for run, events in enumerate(runs):
            signature = "".join(dict.fromkeys(events))
            for i, name in enumerate(events):
                place += 1
                key = index, signature, signature.index(name), run, events[:i].count(name)
                rows.append((key, (index, run, name, events[:i].count(name), place)))
    return [row for _, row in sorted(rows)]


def decoded(dumps: list[tuple[str, ...]]) -> list[tuple[int, int, str, int, int]]:
    """The same, as decoded; blocks of a dump put in order of their signatures' letters."""
    tables = decode_dumps([dump(*runs) for runs in dumps]).tables
    names = {
        row["event_signature_id"]: row["name"] for row in tables["event_signatures"].to_pylist()
    }
    letters = {
        row["run_signature_id"]: "".join(names[event] for event in row["events"])
        for row in tables["run_signatures"].to_pylist()
    }
    rows = tables["events"].to_pylist()
    blocks = [(row["dump_index"], row["run_signature_id"]) for row in rows]
    changes = [block for i, block in enumerate(blocks) if i == 0 or blocks[i - 1] != block]
    assert changes == sorted(set(changes))
    rows.sort(key=lambda row: (row["dump_index"], letters[row["run_signature_id"]]))
    return [
        (
            row["dump_index"],
            row["run_index"],
            names[row["event_signature_id"]],
            row["occurrence"],
            row["duration_ticks"],
        )
        for row in rows
    ]


def test_loops_of_several_lengths_stay_in_order_within_a_block() -> None:
    dumps = [("AAB", "AB", "AAAB", "AB", "BA", "AB", "AB", ""), ("AB", "AAB") * 8]
    assert decoded(dumps) == expected(dumps)


@given(st.lists(st.lists(st.text("ABC", max_size=4), max_size=9), max_size=4))
def test_rows_stand_in_order_whatever_the_runs(lists: list[list[str]]) -> None:
    dumps = [tuple(runs) for runs in lists]
    assert decoded(dumps) == expected(dumps)


def test_many_repeats_of_few_runs_stand_in_order() -> None:
    rng = np.random.default_rng(7)
    dumps = [tuple(rng.choice(["ABC", "AAC", "AC", "C"], 60).tolist()) for _ in range(5)]
    assert decoded(dumps) == expected(dumps)

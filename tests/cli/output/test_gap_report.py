from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tracehouse.cli.commands.numeric_gap import arrange_gaps

WIDE = {
    "method": ["forward", "forward"],
    "base_run_index": [0, 0],
    "head_run_index": [0, 0],
    "occurrence": [0, 1],
    "debug_handle": ["1", None],
    "base_instruction_id": [3, 4],
    "base_event": ["a", "b"],
    "head_event": ["a", "b"],
    "shape": [[1], [1]],
    "head_nan_count": [0, 0],
    "snr": [1.0, 2.0],
    "verdict": ["different", "different"],
    "divergence": pa.nulls(2, pa.string()),
    "input_debug_handles": [[], [1]],
}


def arranged(**changes: Sequence[object]) -> list[str]:
    return list(arrange_gaps(pa.table(WIDE | changes)).column_names)


def test_only_what_tells_rows_apart_is_kept_of_their_places() -> None:
    assert arranged()[:2] == ["occurrence", "debug_handle"]
    assert arranged(base_run_index=[0, 1])[:2] == ["base_run_index", "occurrence"]


def test_instructions_stand_in_for_missing_debug_handles_and_metrics_come_last() -> None:
    names = arranged(debug_handle=pa.nulls(2, pa.string()))
    assert names == [
        "occurrence", "base_instruction_id", "base_event", "head_event", "shape", "snr", "verdict",
    ]  # fmt: skip


def test_the_divergence_column_is_shown_only_for_diverging_runs() -> None:
    assert arranged()[-1] == "verdict"
    assert arranged(divergence=["origin", None])[-2:] == ["divergence", "input_debug_handles"]

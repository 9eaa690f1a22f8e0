from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plain_rollups import plain_rollups
from tracehouse import DecodedBatch
from tracehouse.ingest.schemas.dumps import DECODED, ERRORS
from tracehouse.warehouse.statistics.totals import total_events

KINDS = {1: "method", 2: "kernel", 3: "delegate_call", 4: "operator_call", 5: "delegate_op"}
KEYS = ("dump_id", "run_signature_id", "event_signature_id", "chain_index")
RUNS = 6  # of each dump; the second is refused
DUMPS = (0, 2)

EVENT = st.fixed_dictionaries(
    {
        "dump_id": st.sampled_from(DUMPS),
        "run_index": st.integers(0, RUNS - 1),
        "event_signature_id": st.sampled_from(sorted(KINDS)),
        "chain_index": st.integers(-1, 1),
        "duration_ticks": st.integers(0, 2**40),
        "flags": st.sampled_from([0] * 9 + [1, 2]),
    }
)


def decode(events: list[dict[str, int]]) -> DecodedBatch:
    """What a decoder would say of two dumps with these events."""
    tables = {
        "dumps": [{"dump_index": dump, "n_runs": RUNS} for dump in DUMPS],
        "event_signatures": [
            {"event_signature_id": id_, "kind": kind} for id_, kind in KINDS.items()
        ],
        "events": [event | {"dump_index": event["dump_id"]} for event in events],
    }
    schemas = {
        name: pa.schema([field.with_nullable(True) for field in DECODED[name]]) for name in tables
    }
    columns = {name: pa.Table.from_pylist(rows, schemas[name]) for name, rows in tables.items()}
    return DecodedBatch(columns, ERRORS.empty_table())


def total(events: list[dict[str, int]]) -> dict[str, list[dict[str, object]]]:
    """Rows by table, sorted, under the names of the store."""
    totals = total_events(decode(events), 3)
    return {
        name: sorted(
            ({"dump_id": row.pop("dump_index")} | row for row in table.to_pylist()), key=str
        )
        for name, table in totals.items()
    }


@given(st.lists(EVENT, max_size=60), st.booleans())
def test_totals_equal_a_plain_computation(events: list[dict[str, int]], is_in_order: bool) -> None:
    """In the order of the table of events, and in any other."""
    rows = [event | {"run_signature_id": event["run_index"] // 2 + 1} for event in events]
    if is_in_order:
        rows.sort(key=lambda row: [row[key] for key in (*KEYS[:3], "run_index")])
    signatures = [{"event_signature_id": id_, "kind": kind} for id_, kind in KINDS.items()]
    dumps = [{"dump_id": dump, "n_runs": RUNS} for dump in DUMPS]
    plain = plain_rollups({"events": rows, "event_signatures": signatures, "dumps": dumps})
    found = total(rows)
    assert found.keys() == {"run_totals", "event_totals"}
    for name, table in found.items():
        assert table == sorted(plain[name], key=str), name


def test_a_failed_run_or_one_with_a_flagged_event_does_not_count() -> None:
    usual = {"dump_id": 0, "run_signature_id": 1, "chain_index": 0, "flags": 0}

    def event(signature: int, run: int, ticks: int, flags: int = 0) -> dict[str, int]:
        own = {"event_signature_id": signature, "run_index": run, "duration_ticks": ticks}
        return usual | own | {"flags": flags}

    executed = [event(1, 0, 100), event(1, 2, 90), event(2, 0, 60)]
    found = total([*executed, event(2, 1, 50), event(2, 2, 40, flags=2)])
    assert found["run_totals"] == [
        {
            "dump_id": 0,
            "run_index": 0,
            "run_signature_id": 1,
            "execute_ticks": 100.0,
            "kernel_ticks": 60.0,
            "delegate_ticks": 0.0,
        }
    ]
    assert [row["total_ticks"] for row in found["event_totals"]] == [100.0, 60.0]


def test_sums_of_absurd_durations_do_not_overflow() -> None:
    events = [
        {
            "dump_id": 0,
            "run_signature_id": 1,
            "event_signature_id": 1,
            "run_index": run,
            "chain_index": -1,
            "duration_ticks": 2**63 - 1,
            "flags": 0,
        }
        for run in range(4)
    ]
    (row,) = total(events)["event_totals"]
    assert row["total_ticks"] == np.float64(2) ** 65

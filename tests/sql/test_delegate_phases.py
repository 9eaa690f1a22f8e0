"""Phases of a delegate, through all queries that add up times."""

from datetime import timedelta

import pytest

from tests.support.cross_section import cross_section
from tests.support.questions import every_query, lacks_rows_of, required
from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_query

OPTIONS = {
    "coverage_gaps": {"fresh_since": LONG_AGO + timedelta(days=1)},
    "framework_tax": {"scope": "all"},
    "outlier_runs": {"min_excess": 0},
}
# Queries that show or count events themselves; none of the others counts phases.
OF_EVENTS = {
    "build_history", "coverage", "device_days", "device_health", "dumps", "event_blocks",
    "percentiles", "run_timeline",
}  # fmt: skip


@pytest.fixture(scope="module")
def with_phases():
    return _farm(has_phases=True)


@pytest.fixture(scope="module")
def without_phases():
    return _farm(has_phases=False)


def _farm(*, has_phases):
    """Two builds on two backends; what the delegate copies takes longer in the new one."""
    store = StoreRows()
    store.add_build("old", ordinal=1)
    store.add_build("new", ordinal=2)
    for number in range(6):
        for build, copy in (("old", 20_000), ("new", 30_000)):
            for backend in ("vgf", "portable"):
                dump = store.add_dump(
                    build=build, model="m", backend=backend, etrecord=f"{backend}.etrecord",
                    captured_at=LONG_AGO + timedelta(hours=number), tags={"size": 1 + number % 3},
                )  # fmt: skip
                for run in range(26):
                    store.add_run(dump, _events(backend, copy + 7919 * run % 101, has_phases))
    return store.connect()


def _events(backend, copy, has_phases):
    """As VGF nests them: the whole of it, a copy, a dispatch with what it waits for, a copy."""
    if backend == "portable":
        return [
            Event("native_call_conv.out", 3 * copy, 0, modules=("", "conv")),
            Event("OPERATOR_CALL", 3 * copy + 100, 0),
            Event("Method::execute", 3 * copy + 900, 0, chain=-1),
        ]
    phases = [
        Event("", copy, 0, "VGF_COPY_INPUTS"),
        Event("", 40_000, 0, "VGF_WAIT"),
        Event("", 45_000, 0, "VGF_DISPATCH_AND_WAIT"),
        Event("", 5_000, 0, "VGF_COPY_OUTPUTS"),
        Event("", copy + 50_100, 0, "VGF_EXECUTE"),
    ]
    return [
        *(phases if has_phases else ()),
        Event("DELEGATE_CALL", copy + 50_200, 0, modules=("", "conv")),
        Event("Method::execute", copy + 51_000, 0, chain=-1),
    ]


@pytest.mark.parametrize("name", cross_section(sorted(every_query().keys() - OF_EVENTS), 4))
def test_delegate_phases_do_not_count_in_totals(name, with_phases, without_phases):
    asked = required(name, base_backend="vgf", head_backend="portable", event="*") | OPTIONS.get(
        name, {}
    )
    rows = run_query(with_phases, name, **asked)
    assert rows == run_query(without_phases, name, **asked)
    assert rows or lacks_rows_of(name, with_phases)


def test_phases_have_rows_of_their_own_where_events_do(with_phases):
    rows = run_query(with_phases, "percentiles", build="old", backend="vgf")
    found = {row["event_name"]: row["p50_ns"] for row in rows}
    assert found["VGF_DISPATCH_AND_WAIT"] == 45_000
    assert found["VGF_WAIT"] == 40_000

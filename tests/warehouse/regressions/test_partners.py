from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.fleet_rows import SCHEMA, fleet_row, make_fleet
from tests.support.store_rows import LONG_AGO, Event, StoreRows
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import expand_statement
from tracehouse.warehouse.engine.sql_functions import register_functions
from tracehouse.warehouse.regressions.fleet import build_fleet
from tracehouse.warehouse.regressions.series_values import cancel_partners, gather_recordings

PAIRS = [str(number) for number in range(8)]


def _night(session: str, own: Any, pinned: Any, pairs: Any = PAIRS, **names: Any) -> list[Any]:
    """A build's dumps and those of a reference, in pairs by their place."""
    known = {"session": session, **names}
    return [
        fleet_row(f"b{session}", 0, list(own), pairs=list(pairs)[: len(own)], **known),
        fleet_row("pinned", None, list(pinned), pairs=list(pairs)[: len(pinned)], **known),
    ]


def _cancel(*rows: Any) -> list[list[float]]:
    table = pa.Table.from_pylist([one for night in rows for one in night], SCHEMA)
    night = np.array([-1 if one is None else 0 for one in table["distance"].to_pylist()])
    found: list[list[float]] = cancel_partners(table, night)[0]["logs"].to_pylist()
    return found


def test_pairing_removes_a_device_state_that_varies_between_pairs() -> None:
    rng = np.random.default_rng(1)
    states = rng.normal(0, 0.2, (2, 8))
    noise = rng.normal(0, 0.002, (2, 8))
    nights = [_night(f"{n}", 5 + states[n] + noise[n], 3 + states[n]) for n in range(2)]
    own = _cancel(*nights)
    for found in (own[0], own[2]):
        assert np.std(found) < 0.01
    assert np.mean(own[0]) == pytest.approx(np.mean(own[2]), abs=0.01)


def test_a_steady_device_is_corrected_only_by_its_session() -> None:
    rng = np.random.default_rng(2)
    own, pinned = rng.normal(5, 0.01, (40, 8)), rng.normal(3, 0.01, (40, 8))
    shift = rng.normal(0, 0.2, (40, 1))
    found = _cancel(*(_night(str(n), own[n] + shift[n], pinned[n] + shift[n]) for n in range(40)))
    spread = np.mean([np.std(row) for row in found[::2]])
    assert spread == pytest.approx(np.mean(np.std(own, axis=1)), rel=0.05)
    assert np.std([np.median(row) for row in found[::2]]) < 0.01


def test_dumps_without_a_partner_lose_what_the_session_has_in_common() -> None:
    states = np.linspace(-0.2, 0.2, 8)
    first = _night("1", 5 + states, 3 + states)
    second = _night("2", 5 + np.append(states, 0) + 0.1, 3 + states + 0.1, [*PAIRS, ""])
    found = _cancel(first, second)
    assert found[0] == pytest.approx([4.95 + 0.1] * 8)
    assert found[2] == pytest.approx([5.05] * 9)


def test_the_reference_is_at_its_usual_level_afterwards() -> None:
    found = _cancel(_night("1", [5.0] * 8, [3.0] * 8), _night("2", [5.1] * 8, [3.1] * 8))
    for own, pinned in (found[:2], found[2:]):
        assert pinned == pytest.approx([3.05] * 8)
        assert own == pytest.approx([5.05] * 8)


def test_series_are_told_apart_and_other_sessions_stay_as_they_are() -> None:
    slow = _night("1", [5.0] * 8, [3.0] * 8, event_name="slow")
    other = _night("1", [5.0] * 8, [4.0] * 8)
    alone = _night("2", [7.0], [6.0], [""])
    found = _cancel(slow, other, alone)
    assert found[0] == pytest.approx([5.0] * 8)
    assert found[2] == pytest.approx([5.0 + 1.0] * 8)  # 4 is half way from usual, with 6
    assert (found[4], found[5]) == ([7.0], [6.0])


def test_rows_without_pairs_are_returned_unchanged() -> None:
    table = pa.Table.from_pylist(_night("1", [5.0], [3.0], [""]), SCHEMA)
    assert cancel_partners(table, np.array([0, -1]))[0] is table
    unpinned = pa.Table.from_pylist(_night("1", [5.0], [3.0]), SCHEMA)
    assert cancel_partners(unpinned, np.array([0, 0]))[0] is unpinned


def test_the_order_of_rows_and_values_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    nights = [_night(str(n), rng.normal(5, 0.1, 8), rng.normal(3, 0.1, 8)) for n in range(3)]
    rows = [one for night in nights for one in night]
    turned = [{**row, "logs": row["logs"][::-1], "pairs": row["pairs"][::-1]} for row in rows[::-1]]
    one, other = make_fleet(rows, "b2"), make_fleet(turned, "b2")
    np.testing.assert_allclose(one.history.values, other.history.values, rtol=1e-12)
    assert one.has_reference.all()


def test_dumps_of_a_store_are_taken_relative_to_their_partners() -> None:
    store = StoreRows()
    for night in range(3):
        store.add_build(f"b{night}", ordinal=night)
        store.add_build("pinned", role="reference")
        for pair in range(8):
            state = 1 + 0.3 * ((5 * pair + night) % 8) / 8
            for build, own in ((f"b{night}", 2.0), ("pinned", 1.0)):
                at = LONG_AGO + timedelta(days=night)
                run = {"session": f"s{night}", "pair": str(pair)}
                dump = store.add_dump(build=build, run=run, captured_at=at)
                for _ in range(25):
                    store.add_run(
                        dump, [Event("native_call_conv.out", round(1e6 * state * own), 1)]
                    )
    connection = store.connect()
    text = duckdb_text(expand_statement("fleet_values"))
    register_functions(connection, text)
    rows = connection.sql(text, params={"head": "b2"}).to_arrow_table()
    found = build_fleet(gather_recordings(rows), "b2", lambda keys: np.full(len(keys), 0.03))
    assert found.has_reference.tolist() == [True]
    assert len(found.history.values) == 24
    assert np.ptp(found.history.values) < 1e-5

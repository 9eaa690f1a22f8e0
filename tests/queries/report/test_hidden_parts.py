"""A change that a delegate's call shows, and no operator in it."""

from datetime import timedelta
from random import Random

import pytest

from ingest.incoming import Incoming
from ingest.manifest.models import Manifest
from queries.report.hidden_parts import name_hidden_parts
from queries.report.members import describe_members
from queries.report.night import judge_head
from queries.report.settings import Settings
from tests.support.etdump_builder import build_etdump
from tests.support.nightly_farm import ingest_all
from tests.support.store_rows import LONG_AGO
from warehouse import Warehouse

NIGHTS, FIRST_BAD, DUMPS, RUNS = 10, 8, 8, 25
MICROSECOND = 1_000


def _event(start, duration, name=None, operator=None):
    event = {
        "chain_index": 0,
        "instruction_id": 1,
        "start_time": start,
        "end_time": start + duration,
    }
    if operator:
        return {"profile_event": event | {"delegate_debug_id_str": operator}}
    return {"profile_event": event | {"name": name}}


def _run(short, long, more, random):
    """Operators floored to whole microseconds, and the call around them in nanoseconds."""
    times = {"short #1": short, "long #1": long + more, "longer #1": 3 * long}
    real = {name: ns * random.gauss(1, 0.01) for name, ns in times.items()}
    whole = {name: int(ns // MICROSECOND) * MICROSECOND for name, ns in real.items()}
    events, clock = [], 0
    for name, ns in whole.items():
        events.append(_event(clock, ns, operator=name))
        clock += ns
    call = round(sum(real.values()))
    method = {"name": "Method::execute", "chain_index": -1, "instruction_id": -1}
    times = {"start_time": 0, "end_time": call + 500}
    return [*events, _event(0, call, "DELEGATE_CALL"), {"profile_event": method | times}]


def _night(number, *, short, long, more):
    for dump in range(DUMPS):
        random = Random(number * 100 + dump)  # noqa: S311 - noise
        events = (_run(short, long, more, random) for _ in range(RUNS))
        runs = [{"name": "forward", "events": list(each)} for each in events]
        fields = {
            "device": "phone",
            "build": {"id": f"b{number}", "ordinal": number},
            "model": {"name": "net", "backend": "xnnpack"},
            "captured_at": LONG_AGO + timedelta(days=number, minutes=dump),
        }
        data = build_etdump({"version": 0, "run_data": runs})
        yield Incoming.of_bytes(f"{number}-{dump}.etdp", data, Manifest.model_validate(fields))


def _judge(tmp_path, **times):
    """The changes of calls as of the last night, and their members."""
    dumps = [
        dump
        for number in range(NIGHTS)
        for dump in _night(number, **times | {"more": times["more"] * (number >= FIRST_BAD)})
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps)) as store:
        night = judge_head(store, None, Settings())
        kinds = night.fleet.keys["kind"].to_pylist()
        calls = [c for c in night.replay.changes if kinds[c.series] == "delegate_call"]
        return night, calls, describe_members(night, calls)


def test_a_call_names_the_operators_that_may_have_changed(tmp_path):
    night, (call,), (member,) = _judge(tmp_path, short=1_600, long=5_100, more=800)
    assert name_hidden_parts(night, call) == ["[longer #1] #1", "[long #1] #1", "[short #1] #1"]
    assert "no operator in it shows it: it may be [longer #1] #1, [long #1] #1" in member.rule


def test_a_call_names_none_where_an_operator_shows_it(tmp_path):
    night, (call,), (member,) = _judge(tmp_path, short=1_600, long=30_500, more=6_000)
    assert name_hidden_parts(night, call) == []
    assert "it may be" not in member.rule


@pytest.mark.parametrize("kind", ["method", "delegate_op"])
def test_only_calls_have_hidden_parts(tmp_path, kind):
    night, (call,), _ = _judge(tmp_path, short=1_600, long=30_500, more=6_000)
    kinds = night.fleet.keys["kind"].to_pylist()
    call.series = kinds.index(kind)
    assert name_hidden_parts(night, call) == []

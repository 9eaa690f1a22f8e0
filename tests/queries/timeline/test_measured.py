from itertools import pairwise

import pytest

from tests.support.producer_dumps import CALL_NS, QNN_EVENTS, producer_dump
from tracehouse.queries.event_blocks.build import decode_tables
from tracehouse.queries.timeline.dumps import TimedDump
from tracehouse.queries.timeline.slices import lay_out_runs, with_times_only


def _dump(producer):
    return TimedDump(producer, decode_tables(producer_dump(producer, 3), producer))


def test_a_dump_in_its_own_ticks_stays_as_it_is():
    dump = _dump("XNNPACK")
    assert with_times_only(dump) is dump


@pytest.mark.parametrize(
    "producer", ["QNN", "QNN GPU", "XNNPACK", "VGF", "Ethos-U", "Core ML estimates", "silent"]
)
def test_runs_are_as_long_as_their_method_and_begin_with_it(producer):
    _, *runs = (shown := lay_out_runs(_dump(producer))).runs
    starts = [run.starts_ns[0] for run in runs]
    assert [after - before for before, after in pairwise(starts)] == (
        pytest.approx([CALL_NS] * 2, rel=0.2)
    )
    for run in runs:
        assert shown.events[run.numbers[0]].kind == "method"


def test_a_timeline_omits_qnn_counts_and_has_qnn_times_in_their_call():
    shown = lay_out_runs(_dump("QNN"), ["1"])
    (run,) = shown.runs
    found = {
        shown.events[number].delegate_id: (start, end - start)
        for number, start, end in zip(run.numbers, run.starts_ns, run.ends_ns, strict=True)
        if shown.events[number].delegate_id
    }
    times = {name: value * 1000 for name, value in QNN_EVENTS.items() if name.endswith("(us)")}
    assert {name: length for name, (_, length) in found.items()} == times
    names = [shown.events[number].name for number in run.numbers]
    call = run.starts_ns[names.index("DELEGATE_CALL")]
    assert {start for start, _ in found.values()} == {call}

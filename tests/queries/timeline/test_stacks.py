"""Flame graphs of runs."""

from __future__ import annotations

import json

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.timelines import event, forward, timed_dump
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.timeline.dumps import Clocks, read_dump
from tracehouse.queries.timeline.page import MOST_FRAMES, fold_stacks, speedscope_document, stacks
from tracehouse.queries.timeline.slices import TimedRuns, lay_out_runs


def _real() -> TimedRuns:
    dump = read_dump(
        Source(str(CORPUS / "real/prefill_decode_portable_debug.etdp")),
        Source(str(MODELS / "prefill_decode_portable.etrecord")),
        Clocks(),
    )
    return lay_out_runs(dump, ["1"])


def test_stacks_without_modules_nest_events_by_time() -> None:
    assert list(fold_stacks([lay_out_runs(timed_dump(forward(), forward(200)))])) == [
        "forward;Method::execute 60\n",
        "forward;Method::execute;DELEGATE_CALL 40\n",
        "forward;Method::execute;DELEGATE_CALL;conv #1 60\n",
        "forward;Method::execute;OPERATOR_CALL 8\n",
        "forward;Method::execute;OPERATOR_CALL;native_call_add.out 32\n",
    ]


def test_with_an_etrecord_events_stand_under_their_modules() -> None:
    lines = list(fold_stacks([_real()]))
    assert "Execute;MethodOf;m.lin (Linear);native_call_addmm.out 57105\n" in lines
    assert "Execute;MethodOf;native_call_relu.out 10115\n" in lines
    assert "Execute;Method::execute 2185\n" in lines


def test_times_add_up_to_those_of_the_methods() -> None:
    shown = _real()
    (run,) = shown.runs
    assert sum(own for _, own in stacks(shown)) == run.ends_ns[0] - run.starts_ns[0]


def test_several_dumps_get_a_frame_each() -> None:
    both = [lay_out_runs(timed_dump(forward(), label=label)) for label in ("base;1", "head")]
    assert {line.split(";")[0] for line in fold_stacks(both)} == {"base,1", "head"}


def test_speedscope_has_a_profile_per_dump_in_the_order_of_events() -> None:
    shown = [lay_out_runs(timed_dump(forward(), label=label)) for label in ("base", "head")]
    document = json.loads(speedscope_document(shown))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    base, head = document["profiles"]
    assert (base["type"], base["unit"], base["name"]) == ("sampled", "nanoseconds", "base")
    assert (base["startValue"], base["endValue"]) == (0, 100)
    assert base["samples"] == head["samples"]
    assert base["weights"] == [30, 4, 16, 20, 30]
    assert [frames[number] for number in base["samples"][2]] == [
        "forward", "Method::execute", "OPERATOR_CALL", "native_call_add.out",
    ]  # fmt: skip


def test_stacks_are_limited_to_a_depth_that_viewers_can_show() -> None:
    run = [event(f"e{i}", i, 1000 - i, i) for i in range(MOST_FRAMES + 50)]
    assert max(len(stack) for stack, _ in stacks(lay_out_runs(timed_dump(run)))) == MOST_FRAMES

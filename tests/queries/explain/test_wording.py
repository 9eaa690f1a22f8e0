from __future__ import annotations

from tests.support.explained import explanation, frame, run_times
from tracehouse.queries.explain.content import Fact, Origin
from tracehouse.queries.explain.wording import (
    differing,
    frame_row,
    frame_rows,
    listings,
    origin_text,
    run_heading,
)


def test_short_parts_are_left_out_unless_the_alert_names_them():
    parts = [
        frame("long", 900.0, 1400.0),
        frame("short", 1.0, 1.0),
        frame("member", 1.0, 2.0, is_member=True),
    ]
    assert [row.frame.name for row in frame_rows(run_times(*parts))] == [
        "Execute",
        "long",
        "member",
    ]


def test_a_short_module_with_an_operator_of_the_alert_is_shown():
    layer = frame("layer", 1.0, 1.0, frame("member", 1.0, 1.0, is_member=True))
    assert [row.frame.name for row in frame_rows(run_times(layer))][1:] == ["layer", "member"]


def test_a_part_of_one_build_says_so():
    rows = [frame_row(frame("x", *times), 0) for times in ((None, 5.0), (5.0, None))]
    assert [(row.base, row.head, row.relative) for row in rows] == [
        ("–", "5 ns", "only head"),
        ("5 ns", "–", "only base"),
    ]


def test_irregular_runs_have_a_cost_alone():
    row = frame_row(frame("irregular runs", None, None, change=-80.0), 0)
    assert (row.base, row.head, row.change, row.relative) == ("–", "–", "−80 ns", "–")


def test_of_a_call_with_other_tensors_only_these_are_shown():
    was = "(f32[1, 2], f32[2], stride=[1, 1], groups=1) → f32[1, 2] in a kernel"
    now = "(f32[1, 3], f32[2], stride=[2, 2], groups=1) → f32[1, 3] in a kernel"
    assert differing(was, now) == (
        "f32[1, 2], stride=[1, 1], f32[1, 2]",
        "f32[1, 3], stride=[2, 2], f32[1, 3]",
    )


def test_of_a_call_that_runs_elsewhere_all_is_shown():
    was, now = "(f32[1]) → f32[1] in a kernel", "(f32[2]) → f32[2] in Xnnpack"
    assert differing(was, now) == (was, now)
    assert differing(None, now) == ("–", now)


def test_a_run_names_its_place():
    assert run_heading(run_times()) == "Execute, phone · net · xnnpack"


def test_an_origin_names_at_most_some_calls():
    found = Origin(where="Xnnpack", nodes=list("abcde"), is_whole_call=True, modules=[], sources=[])
    assert origin_text(found) == "a call of a; b; c and 2 more in Xnnpack"
    assert origin_text(None) == "–"


def test_each_part_is_a_table_of_cells_for_its_columns(explained):
    for made in (explained, explanation()):
        for table in listings(made):
            assert {len(row) for row in table.rows} <= {len(table.columns)}


def test_only_what_differs_around_the_code_is_listed():
    def fact(name: str, head: str) -> Fact:
        return Fact(where="lab · net", subject="environment", name=name, base="1", head=head,
                    is_changed=head != "1")  # fmt: skip

    found = {
        table.title: table
        for table in listings(explanation(facts=[fact("os", "1"), fact("threads", "8")]))
    }
    assert list(found["Around the code"].rows) == [
        ("lab · net", "environment", "threads", "1", "8")
    ]

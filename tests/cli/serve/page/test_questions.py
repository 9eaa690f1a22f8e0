from __future__ import annotations

from tracehouse.cli.serve.page.questions import GROUPS, SHORT, rail, title_of


def test_the_group_of_an_answer_is_shown_whole_and_others_in_part() -> None:
    found = dict(rail("layer_hotspots"))
    assert len(found["Where time goes"]) == len(GROUPS["Where time goes"])
    assert len(found["What got slower"]) == SHORT
    assert [one.title for one in found["Where time goes"] if one.is_current] == [
        "Time by source line"
    ]


def test_a_query_without_a_plain_name_has_its_own() -> None:
    assert title_of("operator_hotspots") == "Slowest operators"
    assert title_of("new_query") == "New query"

from __future__ import annotations

import pytest

from tests.support.changes import change_row
from tests.support.reports import read_xml
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.change import change_of_row
from tracehouse.queries.report.change_picture import MOST_ROWS, change_picture
from tracehouse.queries.report.tables import ChangeTable

SVG = "{http://www.w3.org/2000/svg}"


def _table(*rows):
    return ChangeTable.of(map(change_of_row, rows))


def _texts(drawn: str) -> list[str]:
    return [text.text or "" for text in read_xml(drawn).iter(f"{SVG}text")]


def test_changes_have_their_intervals_by_cost_and_noise_is_a_line() -> None:
    table = _table(
        change_row(ordinal=1, base_ns=1e5),
        change_row("improvement", ordinal=2, delta=-0.1, delta_low=-0.2, delta_high=-0.05),
        change_row("inconclusive", ordinal=3, delta=0.6, delta_low=-0.5, delta_high=2.0),
    )
    drawn = change_picture(table, "1 operator is slower, 1 is faster", "b against a")
    texts = _texts(drawn)
    assert texts[:2] == ["1 operator is slower, 1 is faster", "b against a"]
    assert texts.index("conv #2") < texts.index("conv #1")
    assert "conv #3" not in texts
    assert "Not drawn: 1 more: 1 cannot tell." in texts
    rows = [one.get("class") for one in read_xml(drawn).iter(f"{SVG}g")]
    assert rows == ["faster", "slower"]
    assert drawn.count('class="span"') == 2
    assert "prefers-color-scheme: dark" in drawn


def test_noise_alone_is_drawn_in_grey() -> None:
    drawn = change_picture(_table(change_row("unchanged")), "Nothing got slower.")
    assert "conv #1" in _texts(drawn)
    assert '<g class="unchanged">' in drawn


def test_many_changes_are_cut_with_a_count() -> None:
    table = _table(*(change_row(ordinal=i + 1) for i in range(MOST_ROWS + 3)))
    assert "3 cheaper changes not drawn." in _texts(change_picture(table, "h"))


@pytest.mark.parametrize("name", ["</style><script>", *NAMES, LONG_NAME], ids=ascii)
def test_names_are_text(name: str) -> None:
    row = change_row(event_name=name, device=name, model=name, base_slow=1, head_slow=2)
    root = read_xml(change_picture(_table(row), name, name))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "style", "g", "rect", "text", "line", "circle"}

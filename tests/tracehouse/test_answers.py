from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from tracehouse import Answer, Document, QueryError

ROWS = [
    {"device": "a<b>", "event_name": f"op{number}", "p50_ns": 1_234_567 * number, "pool": None,
     "error_share": 0.25, "sample_count": 1000 * number}
    for number in (1, 2)
]  # fmt: skip


def answer(rows: list[dict[str, object]] | None = None, name: str = "percentiles") -> Answer:
    return Answer(pa.Table.from_pylist(ROWS if rows is None else rows), name)


def test_an_answer_is_a_sequence_of_rows_and_a_table() -> None:
    found = answer()
    assert len(found) == found.num_rows == 2
    assert list(found) == found.to_pylist() == ROWS
    assert found["event_name"].to_pylist() == ["op1", "op2"]
    assert found.to_arrow() is found.table
    assert found == found.table
    assert pa.table(found) == found.table  # by the Arrow interface
    assert found.select(["device"]).num_columns == 1
    with pytest.raises(AttributeError, match="nonsense"):
        found.nonsense  # noqa: B018


def test_a_data_frame_needs_pandas_and_without_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("pandas"):
        assert answer().to_pandas()["sample_count"].sum() == 3000
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(QueryError, match="pandas"):
        answer().to_pandas()


def test_an_answer_says_what_it_is_in_a_line() -> None:
    columns = "device, event_name, p50_ns, pool, error_share, sample_count"
    assert repr(answer()) == f"<Answer percentiles: 2 rows; {columns}>"
    assert repr(Answer(pa.table({"n": [1]}))) == "<Answer sql: 1 row; n>"


def test_units_and_notes_are_those_of_the_query() -> None:
    noted = Answer(answer().table.replace_schema_metadata({"note": "no <raw> events"}))
    assert (answer().note, noted.note) == ("", "no <raw> events")
    assert answer().units == {"p50_ns": "ns", "error_share": "share"}
    assert "note: no &lt;raw&gt; events" in noted._repr_html_()


def test_a_notebook_shows_readable_rows_and_once_what_all_have_in_common() -> None:
    shown = answer()._repr_html_()
    assert "<p>In all rows: device a&lt;b&gt;, error share 25.0 %</p>" in shown
    assert "<th>Operator</th>" in shown
    assert ">p50</th>" in shown
    assert ">2.469 ms</td>" in shown
    assert ">2,000</td>" in shown
    assert "pool" not in shown
    assert "<b>" not in shown


def test_a_notebook_shows_few_of_many_rows_and_every_kind_of_value() -> None:
    row = {"at": datetime(2026, 11, 30, tzinfo=UTC), "is_new": True, "delta": 0.5, "dump_id": 1234}
    rows = [{**row, "n": number, "tags": [{"key": "a"}]} for number in range(60)]
    shown = answer(rows, "change_points")._repr_html_()
    assert "<p>10 more rows</p>" in shown
    assert "is new yes, change +50.0 %, dump id 1234, at 2026-11-30 00:00:00Z" in shown
    assert "<p>no rows</p>" in Answer(pa.table({"n": pa.array([], pa.int64())}))._repr_html_()


def test_an_answer_is_drawn_and_saved(tmp_path: Path) -> None:
    drawn = answer().plot()
    assert drawn._repr_svg_().startswith("<svg")
    drawn.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == drawn.svg
    assert "bytes of SVG" in repr(drawn)
    with pytest.raises(ValueError, match=r"ends in \.svg or \.png"):
        drawn.save(tmp_path / "a.pdf")
    with pytest.raises(QueryError):
        Answer(pa.table({"text": ["a"]})).plot()


def test_a_report_is_a_text_that_a_notebook_shows() -> None:
    text = Document("## <b>", "markdown")
    assert text == "## <b>"
    assert text._repr_markdown_() == "## <b>"
    page = Document("<p>a</p>", "html")
    assert page._repr_markdown_() is None
    assert 'srcdoc="&lt;p&gt;a&lt;/p&gt;"' in page._repr_html_()
    assert Document("<a>", "junit")._repr_html_() == "<pre>&lt;a&gt;</pre>"

from __future__ import annotations

from tests.support.explained import explanation, frame, programs, run_times
from tracehouse.queries.explain.markdown import markdown_text
from tracehouse.queries.report.markdown import MAX_BYTES


def test_findings_are_listed_and_tables_folded():
    text = markdown_text(explanation())
    assert text.startswith("## ▲ ")
    assert "\n- The programs differ.\n" in text
    assert "\n- `tracehouse compare b1 b2`\n" in text
    assert text.count("<details>") == text.count("</details>") == 3
    assert "| \u2003**conv** | 900 ns | 1.400 µs | +500 ns | +55.6 % |" in text


def test_names_are_no_markup():
    times = run_times(frame("*a* | @b", 500.0, 700.0))
    text = markdown_text(explanation(times=[times], findings=["see #1"]))
    assert "*a*" not in text
    assert "see <code>#</code>1" in text


def test_a_comment_is_never_too_long():
    (change,) = explanation().programs[0].changes
    many = [programs(*[change.model_copy(update={"name": "x" * 900})] * 40)] * 9
    text = markdown_text(explanation(programs=many))
    assert len(text.encode()) <= MAX_BYTES
    assert "Cut here" in text

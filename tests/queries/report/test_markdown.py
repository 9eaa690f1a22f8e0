from __future__ import annotations

import html
import re

import pytest

from tests.support.changes import change_row
from tests.support.reports import full_report, group, large_report, member, named_report
from tests.support.reports import report as report_of
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.change import change_of_row
from tracehouse.queries.report.markdown import (
    _ALERTS,
    MAX_BYTES,
    changes_markdown,
    code,
    markdown_text,
    plain,
)
from tracehouse.queries.report.tables import ChangeTable
from tracehouse.queries.report.verdicts import Verdict

HOSTILE = (
    "a|b",
    "`x`",
    "``",
    "\\",
    "\\|",
    "<b>",
    "@team",
    "#12",
    "[x](y)",
    "![x](y)",
    "https://evil.example",
    "HTTP://x WWW.evil.example",
    'GH-12 !12 $12 %12 &12 ~12 %"a" ~bug',
    "*a*",
    *NAMES,
)


def test_comment_says_everything_verdict_first() -> None:
    text = markdown_text(full_report())
    wanted = (
        "## 🔴 2 causes made", "Build b42 of 1 Mar 2026 against the 3 builds before it",
        "4,911 operators: 3 slower", "### Act on these",
        "**▲ native_call_convolution.out +6.2 % on 8 devices, 1 model, +499.3 µs per run",
        "**`convolution #3`**", "+4.9 % to +7.4 %", "4 more changes.",
        "- `tracehouse query regression_deltas --base b39", "### Look at these", "### Also known",
        "<summary>New, removed and moved operators (2)</summary>",
        "<summary>Rules (3)</summary>",
    )  # fmt: skip
    places = [text.find(part) for part in wanted]
    assert -1 not in places
    assert places == sorted(places)


def test_every_row_of_a_table_has_its_cells_whatever_names_hold() -> None:
    for name in HOSTILE:
        text = markdown_text(named_report([name]))
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({len(cells(row)) for row in table.splitlines()}) == 1, name


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_in_markdown_are_no_markup_and_no_mentions(name: str) -> None:
    report = named_report([name])
    for verdict in Verdict:
        text = markdown_text(report.model_copy(update={"verdict": verdict}))
        bare = re.sub(r"`[^`\n]+`|<code>[^<`\n]*</code>", "", text)
        bare = bare.replace(f"\n> [!{_ALERTS[verdict.light]}]\n", "", 1)
        assert not re.search(r"[@`\[\]\\]|<(?!/?(details|summary)>)", bare)
        assert not re.search(r"(?<!&)#\d", bare)
        bare = html.unescape(bare)
        assert not re.search(r'://|www\.|GH-\d|[!$&]\d|[%~][\w"]', bare, re.IGNORECASE)
        assert text.replace("\n", "").isprintable()


def test_text_is_escaped_only_where_it_must_be() -> None:
    assert plain("native_call_add +6.2 % (99 %)") == "native_call_add +6.2 % (99 %)"
    assert plain("_a_ <b> & #1") == "&#95;a&#95; &#60;b&#62; &#38; <code>#</code>1"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a & <b> *c*", "`a & <b> *c*`"),
        ("a|b", "<code>a&#124;b</code>"),
        ("`", "<code>&#96;</code>"),
        ("a\\", "<code>a&#92;</code>"),
        (" a", "<code> a</code>"),
        ("", "<code></code>"),
        ("x", "`x`"),
    ],
)
def test_code_stands_between_backticks_where_it_can(name: str, shown: str) -> None:
    assert code(name) == shown


def test_long_comments_are_cut_between_parts_and_say_so() -> None:
    text = markdown_text(large_report(group_count=900, member_count=1))
    assert 50_000 < len(text.encode()) <= MAX_BYTES
    assert text.endswith("The other forms have the rest.*\n")
    assert text.count("<details>") == text.count("</details>")
    assert "Cut here" not in markdown_text(full_report())


def test_the_ten_costliest_groups_are_shown_in_full_and_others_in_a_line_each() -> None:
    text = markdown_text(report_of(*(group(id=f"g-{i}") for i in range(12))))
    assert text.count("Reproduce") == 10
    assert text.count("\n- **▲ ") == 2


def test_names_of_64_kib_do_not_fill_the_comment() -> None:
    assert "### Act on these" in markdown_text(named_report([LONG_NAME]))


def test_a_night_without_changes_is_a_few_lines() -> None:
    text = markdown_text(report_of(rules={}, verdict_counts={}))
    assert text.startswith("## 🟢 0 groups of series changed.\n\nBuild b42 ")
    assert text.count("\n") == 3


def test_the_alert_of_a_verdict_has_a_kind_that_forges_know() -> None:
    kinds = [_ALERTS[verdict.light] for verdict in Verdict]
    assert {kinds[0], kinds[-2], kinds[-1]} == {"CAUTION", "TIP", "NOTE"}


def test_members_past_the_first_are_counted() -> None:
    text = markdown_text(report_of(group(*(member(device=f"d{i}") for i in range(9)))))
    assert "4 more changes." in text


def test_changes_are_a_table_with_speeds_as_footnotes_and_noise_in_a_line() -> None:
    two = change_row(base_slow=5, head_slow=8, base_count=12, head_count=12)
    quiet = change_row(verdict="unchanged", ordinal=2)
    text = changes_markdown(ChangeTable.of(map(change_of_row, (two, quiet))))
    assert "| 🔺 slower | **`conv #1`** <sup>1</sup> | net | 1.000 → 1.050 ms " in text
    assert "<sup>1</sup> Two speeds: 5 of 12 dumps were slow before, 8 of 12 are now." in text
    assert text.endswith("\n1 more: 1 unchanged.\n")


def cells(row: str) -> list[str]:
    return re.split(r"(?<!\\)\|", row)

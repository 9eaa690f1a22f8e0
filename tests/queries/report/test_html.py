from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest

from tests.support.reports import coverage, full_report, group, large_report, member, named_report
from tests.support.reports import report as report_of
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.change import Kind, kind_of
from tracehouse.queries.report.html import (
    FIRST_ROWS,
    FOLDED,
    MAX_OPEN,
    MAX_ROWS,
    PAGE_ROWS,
    SHOWN,
    html_text,
)
from tracehouse.queries.report.verdicts import State

HOSTILE = (
    "<script>alert(1)</script>", "</style><script>x</script>", '"><img src=x onerror=alert(1)>',
    "' onload='x", "&amp;", "{{ 7 * 7 }}", "{% raw %}", "]]>", "<!--", *NAMES,
)  # fmt: skip
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """What a page holds: its tags with their attributes, its texts, and tags left open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def test_page_says_everything_verdict_first() -> None:
    text = Reader(html_text(full_report())).text
    wanted = (
        "2 causes made operators slower", "Build b42 of 1 Mar 2026", "4,911 operators:",
        "4,812 unchanged", "Act on these", "slower", "mobilenet_v2 on pixel8 and 7 more devices",
        "+6.2 %", "since b40, last good b39", "Owner kernels@example.org", "Next step bisect it",
        "+76.9", "4 more", "Execute", "head against the last 5 builds",
        "tracehouse query regression_deltas --base b39",
        "git bisect start b40 b39 && git bisect run", "vk_linear", "Look at these",
        "not confirmed yet", "4 more dumps of the head", "Also known",
        "exact gelu is wanted", "New, removed and moved operators", "allocated_bytes", "os_version",
        "Framework tax", "watch2 · kws", "5 wanted", "two firmware versions",
        "offset 24: ends early",
        "its noise hides up to 22 %", "4,812", "min_change",
    )  # fmt: skip
    place = 0
    for part in wanted:
        place = text.find(part, place)
        assert place >= 0, part


def test_tags_are_closed_and_ids_are_each_one_s_own() -> None:
    page = Reader(html_text(full_report()))
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) > 10
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert {f"#{name}" for name in ids} >= set(links)


def test_page_loads_nothing_and_runs_no_script() -> None:
    page = Reader(html_text(full_report()))
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    policy = next(a for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert "http://" not in html_text(full_report()).replace("http://www.w3.org", "")


def test_names_are_text_wherever_they_stand() -> None:
    page, calm = Reader(html_text(named_report(HOSTILE))), Reader(html_text(full_report()))
    assert page.open == []
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in calm.tags}
    known = {key for _, attributes in calm.tags for key in attributes}
    assert {key for _, attributes in page.tags for key in attributes} <= known
    assert page.text.count("<script>alert(1)</script>") > 20
    assert "{{ 7 * 7 }}" in page.text
    assert "clear\\x1b[2J" in page.text
    assert "".join(page.texts).replace("\n", "").isprintable()


def test_names_of_64_kib_are_shortened() -> None:
    assert len(html_text(named_report([LONG_NAME]))) < 200_000


def test_long_lists_are_folded_and_then_cut_with_a_count() -> None:
    members = [member(device=f"device-{i}") for i in range(SHOWN + FOLDED + 7)]
    page = Reader(html_text(report_of(group(*members))))
    assert f"{FOLDED} more" in page.text
    assert "7 more are not shown" in page.text
    assert page.text.count(" on device-") == SHOWN + FOLDED + 1  # and that of the title


def test_tables_are_cut_with_a_count() -> None:
    few = coverage(too_few=[f"row {i}" for i in range(MAX_ROWS + 3)])
    page = html_text(report_of(coverage=few))
    text = Reader(page).text
    assert "3 more rows are not shown" in text
    pages, rest_rows = divmod(MAX_ROWS - FIRST_ROWS, PAGE_ROWS)
    last = f"{MAX_ROWS - rest_rows + 1} to {MAX_ROWS} of {MAX_ROWS + 3}"
    assert f'aria-label="Too little data, rows {last}"' in page
    first, _, rest = page.partition(f"<summary>Rows {FIRST_ROWS + 1} to ")
    assert f'<td data-name="Wanted">row {FIRST_ROWS - 1}</td>' in first
    assert f'<td data-name="Wanted">row {FIRST_ROWS}</td>' in rest
    assert rest.count("<summary>Rows ") == pages
    assert f"row {MAX_ROWS}" not in text


def test_the_costliest_groups_are_open_and_the_others_folded() -> None:
    groups = [group(id=f"g-{i}") for i in range(MAX_OPEN + 2)]
    page = Reader(html_text(report_of(*groups, group(member(delta=-0.1)))))
    cards = [
        "open" in attributes for _, attributes in page.tags if attributes.get("class") == "full"
    ]
    assert cards == [True] * MAX_OPEN + [False] * 3


def test_a_night_without_changes_is_short_and_says_so() -> None:
    page = Reader(html_text(report_of(summary="Nothing got slower.")))
    assert "Nothing got slower." in page.text
    assert "Act on these" not in page.text
    assert "article" not in {tag for tag, _ in page.tags}


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_tone_and_only_what_is_to_act_on_is_red(state) -> None:
    page = html_text(report_of(group(state=state)))
    kind, word = kind_of(group(state=state))
    assert f'class="card change {kind.value}"' in page
    assert f"{word}</span>" in page
    assert (kind == Kind.SLOWER) == (state == State.CONFIRMED)
    assert re.search(rf"\.{kind.value}\b[^{{]*{{ --tone", page)


def test_no_known_regression_is_green() -> None:
    for state in (State.ACKNOWLEDGED, State.ACCEPTED, State.MUTED, State.FIXED, State.NEW):
        assert kind_of(group(state=state))[0] != Kind.FASTER


def test_the_report_has_no_style_attribute() -> None:
    assert not any("style" in attributes for _, attributes in Reader(html_text(full_report())).tags)


def test_the_same_report_is_the_same_page() -> None:
    assert html_text(full_report()) == html_text(full_report())


@pytest.mark.slow
def test_200_groups_of_40_members_are_6_megabytes_at_most() -> None:
    report = large_report()
    start = time.process_time()
    page = html_text(report)
    assert time.process_time() - start < 20  # 1 on a calm machine
    assert len(page.encode()) < 6_000_000


def test_commits_are_a_link_where_the_team_s_repository_is_known() -> None:
    commits = {"b39": "c0ffee", "b40": "beef"}
    url = "https://host/repo/compare/{base}...{head}"
    link = '<a href="https://host/repo/compare/c0ffee...beef">c0ffee..beef</a>'
    assert link in html_text(report_of(group(), commits=commits, repo_url=url))
    assert "<dd>c0ffee..beef</dd>" in html_text(report_of(group(), commits=commits))

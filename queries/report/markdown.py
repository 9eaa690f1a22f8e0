"""A report as a comment on a pull request: Markdown as GitHub and GitLab read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from tracehouse.queries.report import figures
from tracehouse.queries.report.change import Kind, change_of_member
from tracehouse.queries.report.outline import (
    Section,
    Tally,
    commits_url,
    facts,
    is_card,
    line_text,
    sections,
)
from tracehouse.queries.report.sentences import lead_text, order_rows, split_summary
from tracehouse.queries.report.tables import ChangeTable, Listing, changes, evidence, list_sums

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Report
    from tracehouse.queries.report.parts import Breakdown

MAX_BYTES = 60_000  # GitHub allows 65,536 characters
MAX_ROWS = 20  # rows of a table
_OPENED = 2  # sections that show groups in full
_DETAILED = 10  # groups of these sections; the others have a line each
_MEMBERS = 5  # members of a group
_SUMS = 4  # methods of a group
# Kinds of alerts, which GitHub and GitLab draw in their colours.
_ALERTS = {
    "🔴": "CAUTION",
    "🟠": "WARNING",
    "🟡": "WARNING",
    "🟢": "TIP",
    "🔵": "NOTE",
    "⚪": "NOTE",
}
_CUT = "\n*Cut here: the comment would be too long. The other forms have the rest.*\n"
_PLAIN = re.compile(r"[^\s`|\\]([^`|\\]*[^\s`|\\])?")  # can stand between backticks in a table
_MARKS = re.compile(r"[!-/:-@\[-`{-~]")
# What GitHub and GitLab make into a mention or a link.
_CALLS = r"[@#]|[!$&](?=\d)|[%~](?=[\w\"])|://|www\.|GH-(?=\d)"
_LIVE_MARKS = re.compile(  # _ only where a word ends
    rf"(?i)(?P<call>{_CALLS})|[!-/:-@\[-^`{{-~]|(?<![^\W_])_|_(?![^\W_])"
)
_URL_SAFE = ":/?#@&=+%.~-"  # letters of an address, so that nothing else ends it
_INDENT = "\u2003"  # a space that Markdown keeps
_HARMLESS = frozenset(" .,:;()%+/='-")


def markdown_text(report: Report) -> str:
    """The comment, at most MAX_BYTES of UTF-8; a longer one is cut, with a note."""
    return cut_blocks(_blocks(report))


def cut_blocks(blocks: Iterable[str]) -> str:
    """The blocks of a comment, at most MAX_BYTES of UTF-8; more are cut, with a note."""
    text, room = "", MAX_BYTES - len(_CUT.encode())
    for block in blocks:
        room -= len(block.encode())
        if room < 0:
            return text + _CUT
        text += block
    return text


def plain(text: str) -> str:
    """Untrusted text for a line or a cell, without effective markup, mentions or links.

    >>> plain("*a* | @b")
    '&#42;a&#42; &#124; <code>@</code>b'
    """
    return _LIVE_MARKS.sub(_quote, figures.name_text(text, figures.MAX_TEXT))


def code(text: str) -> str:
    """An untrusted name or command, as code.

    >>> code("aten::add.out"), code("a|`b")
    ('`aten::add.out`', '<code>a&#124;&#96;b</code>')
    """
    shown = figures.name_text(text, figures.MAX_TEXT)
    if _PLAIN.fullmatch(shown):
        return f"`{shown}`"
    return f"<code>{_MARKS.sub(lambda match: f'&#{ord(match.group())};', shown)}</code>"


def _quote(found: re.Match[str]) -> str:
    mark = found.group()
    if found["call"]:  # which is recognised after entities are decoded, but not in code
        return f"<code>{mark}</code>"
    return mark if mark in _HARMLESS else f"&#{ord(mark)};"


def _blocks(report: Report) -> Iterator[str]:
    heading, more = split_summary(report.summary)
    yield f"## {report.verdict.light} {plain(heading)}\n\n"
    said = [text for text in (more, *report.notes) if text]
    if said:
        yield f"> [!{_ALERTS[report.verdict.light]}]\n"
        yield ">\n".join(f"> {plain(text)}\n" for text in said)
        yield "\n"
    tally = Tally("operator", report.tally)
    counts = f" {plain(tally.text)}." if tally.total else ""
    yield f"{plain(lead_text(report))}{counts}\n"
    for number, section in enumerate(sections(report)):
        yield from _groups(section, report, detailed=_DETAILED if number < _OPENED else 0)
    for table in (*changes(report), *evidence(report)):
        if table.rows:
            yield listing_markdown(table)


def _groups(section: Section, report: Report, *, detailed: int) -> Iterator[str]:
    """The groups of a section: the first with a cost in full, the others in a line."""
    cards = [group for group in section.groups if is_card(group)][:detailed]
    lines = [group for group in section.groups if all(group is not card for card in cards)]
    if section.groups:
        yield f"\n### {section.title}\n"
    for group in cards:
        yield f"\n{_line(group)}\n\n{_details(group, report)}"
    for number, group in enumerate(lines):
        blank = "" if number else "\n"
        yield f"{blank}- {_line(group)}\n"


def _line(group: Group) -> str:
    return f"**{plain(line_text(group))}**"


def _details(group: Group, report: Report) -> str:
    url = commits_url(group, report)
    said = " · ".join(
        f"{plain(label)}: {_link(plain(text), url if label == 'Commits' else '')}"
        for label, text in facts(group, report)
    )
    members = order_rows(group.members, group.explains)
    shown = [change_of_member(member, group) for member in members[:_MEMBERS]]
    more = len(members) - len(shown)
    rest = f"\n{more:,} more changes.\n" if more else ""
    commands = "".join(f"- {code(command)}\n" for command in group.commands)
    folded = f"\n<details><summary>Reproduce</summary>\n\n{commands}\n</details>\n"
    sums = sums_text(group.breakdowns[:_SUMS])
    table = changes_markdown(ChangeTable.of(shown))
    return f"{said}\n\n{table}{rest}{sums}{folded if commands else ''}"


def _link(text: str, url: str) -> str:
    """A text that leads to an address of the settings."""
    return f"[{text}]({quote(url, safe=_URL_SAFE)})" if url else text


def sums_text(breakdowns: Sequence[Breakdown]) -> str:
    """What the change of each method consists of, as folded tables."""
    return "".join(map(listing_markdown, list_sums(breakdowns)))


def changes_markdown(table: ChangeTable) -> str:
    """The changes of a table as Markdown, and what is folded in a line; speeds are footnotes."""
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for change in table.changes[:MAX_ROWS]:
        base, head, unit = change.levels
        foot = ""
        if change.speeds is not None:
            foot = f" <sup>{len(notes) + 1}</sup>"
            notes.append(f"<sup>{len(notes) + 1}</sup> {change.speeds.sentence}")
        is_loud = change.kind in (Kind.SLOWER, Kind.NEW)
        between = "" if change.low is None else change.between
        cost = "" if change.cost_ns is None else f"{table.cost(change)} {table.cost_unit}"
        rows.append(
            (
                f"{change.kind.mark} {change.word}",
                f"{_strong(code(str(change.operator)), is_loud)}{foot}",
                plain(table.where(change)),
                f"{base} → {head} {unit}".rstrip(),
                _strong(change.percent, is_loud),
                between,
                _strong(cost, is_loud and bool(cost)),
            )
        )
    more = len(table.changes) - len(rows)
    columns = ("", "Operator", "Model", "Base → head", "Change", "Between", "Cost per run")
    shown = table_text(columns, (3, 4, 6), rows) if rows else ""
    tail = [f"{more:,} more changes."] if more > 0 else []
    tail += [*notes, *([f"{table.rest}."] if table.rest else [])]
    return f"{shown}{''.join(f'{chr(10)}{line}{chr(10)}' for line in tail)}"


def _strong(text: str, is_loud: bool) -> str:
    return f"**{text}**" if is_loud else text


def listing_markdown(table: Listing, *, most: int = MAX_ROWS) -> str:
    """A table of a report, folded; a cell that begins with spaces is indented."""
    rows = [tuple(map(_cell, row)) for row in table.rows[:most]]
    more = len(table.rows) - len(rows)
    rest = f"\n{more:,} more rows.\n" if more else ""
    note = f"{table.note}\n\n" if table.note else ""
    return (
        f"\n<details><summary>{plain(table.title)} ({len(table.rows):,})</summary>\n\n"
        f"{note}{table_text(table.columns, table.numbers, rows)}{rest}\n</details>\n"
    )


def _cell(text: str) -> str:
    shown = text.lstrip(" ")
    return f"{_INDENT * ((len(text) - len(shown)) // 2)}{plain(shown)}"


def table_text(
    columns: Iterable[str], numbers: Iterable[int], rows: Iterable[tuple[str, ...]]
) -> str:
    """A table of cells that are Markdown; `numbers` are the columns aligned right."""
    names, right = list(columns), set(numbers)
    rule = ("--:" if i in right else "---" for i in range(len(names)))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (names, rule, *rows))

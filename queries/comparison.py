"""A comparison of two builds for people: a sentence, one count, and changes in all their forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from textwrap import wrap
from typing import NamedTuple

from tracehouse.queries.report.change import Change, change_of_row, kind_of_verdict
from tracehouse.queries.report.change_picture import change_picture
from tracehouse.queries.report.comparable import note_clocks
from tracehouse.queries.report.figures import build_text, count_text
from tracehouse.queries.report.html import comparison_page
from tracehouse.queries.report.markdown import changes_markdown, plain
from tracehouse.queries.report.outline import (
    OperatorTally,
    Tally,
    is_unexplained_call,
    shared_operators,
    tally_operators,
)
from tracehouse.queries.report.parts import Row
from tracehouse.queries.report.sentences import pair_sentence
from tracehouse.queries.report.tables import ChangeTable
from tracehouse.queries.report.terminal import (
    MAX_WIDTH,
    Line,
    Span,
    ascii_text,
    folded_lines,
    plain_lines,
    terminal_lines,
)
from tracehouse.warehouse.regressions.changes import SeriesVerdict

_LEVELS = {"method": "method", "delegate_call": "delegate"}  # by kind
_SUMS = ("operator_type", "module", "pool")  # levels of rows that others add up to


class Comparison(NamedTuple):
    """Two builds compared.

    Attributes:
        sentence: What changed.
        lead: The builds, the device if there is one, and what was not compared.
        tally: All operators that both builds have, by what is said of them.
        runs: The changes of whole runs, and of delegate calls that no operator explains.
        operators: Those of operators; as many as the tally counts.
        sums: Those of operators' types, modules and pools.
        notes: How values were compared, and what the comparison may hide.
    """

    sentence: str
    lead: str
    tally: Tally
    runs: ChangeTable
    operators: ChangeTable
    sums: ChangeTable
    notes: list[str]


def describe_pair(
    rows: Sequence[Row],
    *,
    base: str,
    head: str,
    obstacle: str | None = None,
    href: Callable[[Row], str] = lambda _: "",
) -> Comparison:
    """The comparison of two builds from the rows of the query `comparison`.

    `obstacle` is why nothing can be compared, if so; `href` makes the address of a row.
    """
    describe = partial(_describe, href=href)
    found = tally_operators(rows)
    operators = [] if obstacle else shared_operators(rows)
    sums = [row for row in rows if row["level"] in _SUMS and _is_change(row)]
    runs = [row for row in rows if row["level"] == "method" and row["delta"] is not None]
    runs += filter(is_unexplained_call, rows)
    wrong_clock = note_clocks(rows, base=base)
    sentence = pair_sentence(found, rows)
    if wrong_clock:
        sentence = f"{wrong_clock[0]}. {sentence}"
    table = ChangeTable.of(map(describe, operators))
    lead = f"{build_text(head)} against {build_text(base)}"
    return Comparison(
        f"{obstacle}." if obstacle else sentence,
        f"{lead} on {table.device}" if table.device else lead,
        found.tally if operators else Tally("operator", []),
        ChangeTable.of(map(describe, runs)),
        table,
        ChangeTable.of(map(describe, sums)),
        [] if obstacle else [*_left_out(found, base, head), *_notes(rows)],
    )


def comparison_lines(
    found: Comparison, *, is_all: bool = False, width: int = MAX_WIDTH
) -> list[Line]:
    """The comparison on a terminal; `is_all` unfolds what did not change."""
    width = min(width, MAX_WIDTH)
    lines: list[Line] = [[Span(text, "bold")] for text in wrap(found.sentence, width)]
    lines += [[Span(found.lead, "dim")]]
    lines += [[Span(found.tally.text, "dim")]] if found.tally.total else []
    for title, table in _tables(found):
        own = terminal_lines(table, width=width)
        own += folded_lines(table, width=width) if is_all else []
        if own:
            lines += [[], [Span(title, "bold")], *own]
    if found.operators.folded and not is_all:
        lines += [[], [Span(_unfold(found.operators), "dim")]]
    return lines


def plain_comparison(found: Comparison, *, is_all: bool = False) -> list[str]:
    """The comparison in ASCII, for pipes and files."""
    lines = [ascii_text(found.sentence), ascii_text(found.lead)]
    lines += [ascii_text(found.tally.text)] if found.tally.total else []
    for title, table in _tables(found):
        own = plain_lines(table, [*table.changes, *(table.folded if is_all else [])])
        if own:
            lines += ["", title, *own]
    if found.operators.folded and not is_all:
        lines += ["", _unfold(found.operators)]
    return lines


def comparison_markdown(found: Comparison) -> str:
    """The comparison for a pull request or a chat."""
    tables = "".join(
        f"\n#### {title}\n\n{changes_markdown(table)}"
        for title, table in _tables(found)
        if table.changes
    )
    rest = "" if found.operators.changes or not found.operators.rest else found.operators.rest
    said = [*([f"{rest}."] if rest else []), *found.notes]
    notes = "".join(f"\n{plain(note)}\n" for note in said)
    first = f"**{plain(found.sentence)}** {plain(found.tally.text)}. {plain(found.lead)}."
    return f"{first}\n{tables}{notes}"


def comparison_html(found: Comparison, *, base: str, head: str) -> str:
    """The comparison as a page of its own."""
    command = f"tracehouse compare {base} {head}"
    return comparison_page(
        heading=found.sentence,
        lead=f"{found.lead}.",
        tally=found.tally,
        tables=_tables(found),
        notes=found.notes,
        command=command,
    )


def comparison_picture(found: Comparison) -> str:
    """The changes of operators as SVG, with their intervals, the dearest first."""
    lead = f"{found.lead}, dearest first. The line is where the change lies (99 %)."
    return change_picture(found.operators, found.sentence, lead)


def picture_of_rows(rows: Sequence[Row], *, base: str, head: str) -> str:
    """The same for rows of `comparison` or `regression_deltas`."""
    levelled = [{"level": _LEVELS.get(row["kind"], "operator"), **row} for row in rows]
    return comparison_picture(describe_pair(levelled, base=base, head=head))


def _tables(found: Comparison) -> Iterator[tuple[str, ChangeTable]]:
    yield "Runs", found.runs
    yield "Operators", found.operators
    yield "Types, modules and pools", found.sums


def _unfold(table: ChangeTable) -> str:
    """How to see what is folded; the tally has counted it where nothing else is shown."""
    return f"{table.rest}; --all lists them" if table.changes else "--all lists all operators"


def _describe(row: Row, href: Callable[[Row], str]) -> Change:
    change = change_of_row(row, href=href(row))
    guess = row.get("may_be")
    return change._replace(note=f"may be {guess}") if guess else change


def _is_change(row: Row) -> bool:
    return kind_of_verdict(SeriesVerdict(row["verdict"])).is_change


def _left_out(found: OperatorTally, base: str, head: str) -> list[str]:
    """The operators that are not counted, as only one build has their run."""
    return [
        f"not compared: {count_text(count, 'operator')} of runs that only {build_text(build)} has"
        for count, build in ((found.only_base, base), (found.only_head, head))
        if count
    ]


def _notes(rows: Sequence[Row]) -> list[str]:
    hidden = sorted({row["note"] for row in rows if row.get("note")})
    references = sorted({row["reference"] for row in rows if row["reference"]})
    relative = [f"relative to the reference build {name}" for name in references]
    if any(row["frame"] == "residual" for row in rows):
        relative.append("recorded apart, so compared without the state of the device")
    return [*relative, *hidden]

"""An explanation as a document: its tables, rendered by the forms of reports."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from tracehouse.queries.explain.content import (
    Explanation,
    OperatorOrigin,
    Origin,
    ProgramChange,
    RunTimes,
    TimeFrame,
)
from tracehouse.queries.explain.programs import diff_calls
from tracehouse.queries.report.change import change_of_group, change_of_member
from tracehouse.queries.report.figures import (
    MAX_TEXT,
    NONE,
    cost_text,
    count_text,
    delta_text,
    duration_text,
    name_text,
)
from tracehouse.queries.report.html import page_environment
from tracehouse.queries.report.markdown import (
    changes_markdown,
    code,
    cut_blocks,
    listing_markdown,
    plain,
)
from tracehouse.queries.report.outline import line_text as alert_text
from tracehouse.queries.report.outline import state_text, tone_of
from tracehouse.queries.report.sentences import order_rows
from tracehouse.queries.report.tables import ChangeTable, Listing, list_sums, make_listing
from tracehouse.queries.report.terminal import line_text, table_lines, terminal_lines

PACKAGE = "tracehouse.queries.explain"  # has the templates
LEAST_SHARE = 0.005  # share of a run's time, for a part that has a row
_WIDTH = 100
_MOST_CHANGES = 24
_MOST_ROWS = 40  # in a table of Markdown
_MOST_NODES = 3
_NOWHERE = Origin(where="", nodes=[], is_whole_call=False, modules=[], sources=[])


def html_text(explanation: Explanation) -> str:
    """The page of an explanation; it loads nothing and runs no script."""
    page = page_environment(PACKAGE).get_template("explanation_page.html.jinja")
    return page.render(page_parts(explanation))


def plain_text(explanation: Explanation) -> str:
    """The explanation on a terminal; the page and the JSON form have what is cut here."""
    return "".join(f"{line}\n" for line in _text_lines(explanation))


def markdown_text(explanation: Explanation) -> str:
    """The explanation for an issue or a pull request, cut with a note if it is too long."""
    return cut_blocks(_blocks(explanation))


def page_parts(explanation: Explanation) -> dict[str, object]:
    """The variables of ``explanation.html.jinja``."""
    group = explanation.group
    return {
        "group": group,
        "as_of": explanation.as_of,
        "heading": state_text(group),
        "title": group.headline.title,
        "tone": tone_of(group),
        "kind": change_of_group(group).kind.value,
        "rows": changes_of(explanation),
        "notes": [],
        "findings": explanation.findings,
        "hidden": hidden_text(explanation),
        "times": [table for times in explanation.times for table in _list_times(times)],
        "tables": list_differences(explanation),
        "commands": explanation.commands,
    }


def _text_lines(explanation: Explanation) -> Iterator[str]:
    yield from _wrap(alert_text(explanation.group))
    yield f"alert {explanation.group.id}, as of {name_text(explanation.as_of)}"
    yield from ("", *map(line_text, terminal_lines(changes_of(explanation), width=_WIDTH)), "")
    for finding in explanation.findings:
        yield from _wrap(name_text(finding, MAX_TEXT), "- ")
    if hidden := hidden_text(explanation):
        yield f"- {hidden}"
    for times in explanation.times:
        for table in _list_times(times):
            yield from ("", *_wrap(table.title))
            yield from table_lines(table.columns, table.rows, table.numbers, most_cell=80)
    for table in list_differences(explanation):
        yield from ("", table.title)
        yield from table_lines(table.columns, table.rows, table.numbers)
    yield from ("", "Reproduce")
    yield from (f"  {command}" for command in explanation.commands)


def _wrap(text: str, mark: str = "") -> list[str]:
    indent = " " * len(mark)
    return wrap(
        text,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _blocks(explanation: Explanation) -> Iterator[str]:
    group = explanation.group
    alert = f"Alert {code(group.id)}, as of {code(name_text(explanation.as_of))}."
    yield f"## {plain(alert_text(group))}\n\n{alert}\n\n"
    yield f"{changes_markdown(changes_of(explanation))}\n"
    yield "".join(f"- {plain(finding)}\n" for finding in explanation.findings)
    commands = "".join(f"- {code(command)}\n" for command in explanation.commands)
    yield f"\n### Reproduce\n\n{commands}"
    for times in explanation.times:
        for table in _list_times(times):
            yield listing_markdown(table, most=_MOST_ROWS)
    for table in list_differences(explanation):
        yield listing_markdown(table, most=_MOST_ROWS)


def changes_of(explanation: Explanation) -> ChangeTable:
    """The judge's table of the alert, the dearest change first."""
    group = explanation.group
    members = order_rows(group.members, group.explains)[:_MOST_CHANGES]
    return ChangeTable.of(change_of_member(member, group) for member in members)


def hidden_text(explanation: Explanation) -> str:
    """A note on the places that are not shown; empty if all are."""
    hidden = explanation.place_count - len(explanation.programs)
    shown = "the costliest device of each model is shown"
    return f"{count_text(hidden, 'more place')}: {shown}" if hidden > 0 else ""


def _list_times(times: RunTimes) -> list[Listing]:
    """The parts of a run's change, and the same parts by module."""
    (parts,) = list_sums([times.breakdown])
    return [parts, list_modules(times)]


def list_modules(times: RunTimes) -> Listing:
    """The time of a run in both builds by module, delegate call and operator, indented."""
    least = LEAST_SHARE * times.frame.longest
    return make_listing(
        f"Time by module of {name_text(times.breakdown.run)}, {times.place.where}",
        "The same parts below the module that runs them. A star marks an operator of the alert.",
        ("Part", "Base>", "Head>", "Change>", "Relative change>"),
        _frames(times.frame, 0, least),
        lambda pair: _frame_cells(*pair),
    )


def _frames(frame: TimeFrame, depth: int, least: float) -> Iterator[tuple[int, TimeFrame]]:
    """The frames that took or changed enough time, or are of the alert, depth first."""
    yield depth, frame
    for part in frame.parts:
        if max(part.longest, abs(part.change)) >= least or part.has_member:
            yield from _frames(part, depth + 1, least)


def _frame_cells(depth: int, frame: TimeFrame) -> tuple[str, ...]:
    relative = NONE
    if (frame.base is None) != (frame.head is None):
        relative = "only head" if frame.base is None else "only base"
    elif frame.base and frame.head is not None:
        relative = delta_text(frame.change / frame.base)
    return (
        f"{'  ' * depth}{'* ' if frame.is_member else ''}{name_text(frame.name)}",
        duration_text(frame.base),
        duration_text(frame.head),
        cost_text(frame.change),
        relative,
    )


def list_differences(explanation: Explanation) -> list[Listing]:
    """The tables of what differs besides time; those without rows are left out."""
    return [table for table in _differences(explanation) if table.rows]


def _differences(explanation: Explanation) -> list[Listing]:
    return [
        *_program_listings(explanation),
        *_operator_listings(explanation),
        make_listing(
            "Around the code",
            "What differs in environment, memory and counters of the dumps of both builds.",
            ("Where", "What", "Name", "Base", "Head"),
            [one for one in explanation.facts if one.is_changed],
            lambda one: (one.where, one.subject, one.name, one.base, one.head),
        ),
        make_listing(
            "Logged values",
            "The first value that differs between the newest dumps with logged values.",
            ("Where", "First that differs", "Compared>", "Equal>", "By how much"),
            explanation.divergences,
            lambda one: (
                one.where,
                one.operator or one.verdict.replace("_", " "),
                f"{one.compared_count:,}",
                f"{one.equal_count:,}",
                one.command,
            ),
        ),
    ]


def _program_listings(explanation: Explanation) -> Iterator[Listing]:
    for programs in explanation.programs:
        yield make_listing(
            f"Program of {programs.place.where}",
            f"{programs.place.builds}: calls by module, with the types of their tensors and what "
            "runs them. Of a call that changed, what differs.",
            ("Change", "Part", "Name", "Base", "Head"),
            programs.changes,
            _change_cells,
        )


def _change_cells(change: ProgramChange) -> tuple[str, ...]:
    """A difference of programs as cells of a table."""
    base, head = diff_calls(change.base, change.head)
    return change.change, change.part, *(name_text(x, MAX_TEXT) for x in (change.name, base, head))


def _operator_listings(explanation: Explanation) -> Iterator[Listing]:
    for programs in explanation.programs:
        yield make_listing(
            f"Changed operators of {programs.place.where} in the program",
            "What the alert's operators are in both programs.",
            ("Operator", "Change>", "Base", "Head", "Module", "Source"),
            programs.operators,
            _operator_cells,
        )


def _operator_cells(one: OperatorOrigin) -> tuple[str, ...]:
    origin = one.head or one.base or _NOWHERE
    is_same = one.is_same and one.base is not None
    texts = ("the same", "the same") if is_same else map(origin_text, (one.base, one.head))
    places = (", ".join(names) or NONE for names in (origin.modules, origin.sources))
    return one.name, delta_text(one.delta), *texts, *places


def origin_text(origin: Origin | None) -> str:
    """The calls of an operator, and what runs them."""
    if origin is None:
        return NONE
    shown = "; ".join(origin.nodes[:_MOST_NODES])
    more = f" and {len(origin.nodes) - _MOST_NODES:,} more" * (len(origin.nodes) > _MOST_NODES)
    whole = "a call of " if origin.is_whole_call else ""
    return f"{whole}{shown}{more} in {origin.where}"

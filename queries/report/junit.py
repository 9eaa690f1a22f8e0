"""A report as JUnit XML, for CI: a group is a test case, a regression a failure.

Names of cases are stable from night to night, so that CI can distinguish new failures from old
ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tracehouse.queries.printable import xml_text
from tracehouse.queries.report import figures
from tracehouse.queries.report.content import base_text, head_text, member_operator, member_place
from tracehouse.queries.report.outline import facts, line_text, sort_groups, verdict_text
from tracehouse.queries.report.sensitivity import sensitivity_text
from tracehouse.queries.report.sentences import lead_text, order_rows

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Report


_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

_MEMBERS = 20  # members of a group that a case lists
_OUTCOMES = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def xml_file(root: ElementTree.Element) -> str:
    """The file, in which characters that XML cannot contain are escaped; their texts may be any."""
    for element in root.iter():
        element.text = element.text and xml_text(element.text)
        for name, value in element.items():
            element.set(name, xml_text(value))
    return f"{_DECLARATION}\n{ElementTree.tostring(root, 'unicode')}\n"


def junit_text(report: Report) -> str:
    """The XML: suites of groups, of measured models, of budgets and of refused dumps.

    Confirmed regressions and broken budgets are failures, and refused dumps are errors. New
    regressions and those with another environment are skipped, and so are models on devices
    without data of the head (a failure if expected) or in which too large a change could hide.
    """
    suites = [
        _suite("groups", [_verdict(report), *_groups(report)], report.head),
        _suite("measured", [*_list_budgets(report), *_list_measures(report)], report.head),
        _suite("dumps", list(_list_refusals(report)), report.head),
    ]
    root = ElementTree.Element("testsuites", name="tracehouse")
    for total in ("tests", *_OUTCOMES):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    root.extend(suites)
    ElementTree.indent(root)
    return xml_file(root)


def _suite(name: str, cases: list[ElementTree.Element], head: str) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=f"tracehouse.{name}", tests=str(len(cases)))
    for total, tag in _OUTCOMES.items():
        suite.set(total, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", "0")
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="head", value=figures.name_text(head))
    suite.extend(cases)
    return suite


def _verdict(report: Report) -> ElementTree.Element:
    tag = "system-out" if report.verdict.is_seen else "skipped"
    lines = *report.notes, lead_text(report)
    return _case("report", "verdict", tag, verdict_text(report), *lines)


def _groups(report: Report) -> Iterator[ElementTree.Element]:
    parts = sort_groups(report.groups)
    look, ignore = ("skipped",) * 3, ("system-out",) * 2
    for groups, tag in zip(parts, ("failure", *look, *ignore), strict=True):
        for group in groups:
            name = f"{group.headline.operator} {group.id}"
            yield _case(group.direction, name, tag, line_text(group), *_details(group, report))


def _details(group: Group, report: Report) -> list[str]:
    members = order_rows(group.members, group.explains)
    more = len(members) - _MEMBERS
    return [
        *(f"{label}: {text}" for label, text in facts(group, report)),
        *(
            f"{member_place(member)}: {member_operator(member)} "
            f"{figures.delta_text(member.delta)} "
            f"({figures.interval_text(member.delta_low, member.delta_high)}), "
            f"{base_text(member)} to {head_text(member)}"
            for member in members[:_MEMBERS]
        ),
        *([f"{more:,} more series"] if more > 0 else []),
        *group.commands,
    ]


def _list_measures(report: Report) -> Iterator[ElementTree.Element]:
    for row in report.quality.stability:
        dumps = figures.count_text(row.dump_count, "dump")
        yield _case("measured", row.where, "system-out", dumps, *([row.note] if row.note else []))
    for model in report.sensitivity:
        if model.is_blind or model.missing is not None:
            yield _case("sensitivity", model.where, "skipped", sensitivity_text(model))
    for missing in report.coverage.missing:
        since = "no data" if missing.last_build is None else f"no data since {missing.last_build}"
        tag = "failure" if missing.is_expected else "skipped"
        yield _case(
            "measured", missing.where, tag, f"{since}{', but expected' * missing.is_expected}"
        )


def _list_budgets(report: Report) -> Iterator[ElementTree.Element]:
    for row in report.budgets:
        value, limit = (figures.measure_text(x, row.unit) for x in (row.value, row.limit))
        tag = "failure" if row.is_broken else "system-out"
        yield _case("budget", f"{row.measure} {row.where}", tag, f"{value}, {row.bound} {limit}")


def _list_refusals(report: Report) -> Iterator[ElementTree.Element]:
    for dump in report.refused:
        yield _case("dumps", dump.source, "error", dump.reason, dump.detail)


def _case(class_: str, name: str, tag: str, title: str, *lines: str) -> ElementTree.Element:
    """A case with its result: a tag with the title as message, and lines of text."""
    shown = [figures.name_text(line, figures.MAX_TEXT) for line in (title, *lines)]
    case = ElementTree.Element(
        "testcase", classname=f"tracehouse.{class_}", name=figures.name_text(name, 250), time="0"
    )
    outcome = ElementTree.SubElement(case, tag)
    if tag == "system-out":
        outcome.text = "\n".join(shown)
    else:
        outcome.set("message", shown[0])
        outcome.text = "\n".join(shown[1:])
    return case

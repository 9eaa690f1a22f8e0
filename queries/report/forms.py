"""The forms of a report by name; what each needs is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from queries.report.content import Report

Form = Literal["html", "markdown", "json", "junit", "slack"]
FORMS: tuple[Form, ...] = get_args(Form)


def render(report: Report, form: Form) -> str:
    """The report in a form, ending in a line end; the same report always gives the same text."""
    match form:
        case "html":
            from queries.report.html import html_text

            return html_text(report)
        case "markdown":
            from queries.report.markdown import markdown_text

            return markdown_text(report)
        case "json":
            from queries.report.json_form import json_form

            return json_form(report)
        case "junit":
            from queries.report.junit import junit_text

            return junit_text(report)
        case "slack":
            from queries.report.slack import slack_text

            return slack_text(report)

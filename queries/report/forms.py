"""The forms of a report by name, and JSON; the others are imported on first use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from tracehouse.queries.printable import json_text

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Report

Form = Literal["html", "markdown", "json", "junit", "slack"]
MEDIA_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
    "junit": "application/xml",
    "slack": "application/json",
}
SUFFIXES: Mapping[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".xml": "junit",
    ".md": "markdown",
}


def json_form(report: Report) -> str:
    """The report as one line of JSON, keys sorted."""
    return json_text(json.loads(json.dumps(report.model_dump(mode="json"), sort_keys=True))) + "\n"


def render(report: Report, form: Form) -> str:
    """The report in a form, ending in a line end; the same report always gives the same text."""
    match form:
        case "html":
            from tracehouse.queries.report.html import html_text

            return html_text(report)
        case "markdown":
            from tracehouse.queries.report.markdown import markdown_text

            return markdown_text(report)
        case "json":
            return json_form(report)
        case "junit":
            from tracehouse.queries.report.junit import junit_text

            return junit_text(report)
        case "slack":
            from tracehouse.queries.report.slack import slack_text

            return slack_text(report)

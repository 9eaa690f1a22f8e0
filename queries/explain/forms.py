"""The forms of an explanation by name; their modules are imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tracehouse.queries.explain.content import Explanation

Form = Literal["text", "html", "markdown", "json"]
MEDIA_TYPES: Mapping[Form, str] = {
    "html": "text/html; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
}
SUFFIXES: Mapping[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".md": "markdown",
    ".txt": "text",
}


def render(explanation: Explanation, form: Form) -> str:
    """The explanation in a form, ending in a line end; the same one always gives the same text."""
    match form:
        case "html":
            from tracehouse.queries.explain.html import html_text

            return html_text(explanation)
        case "text":
            from tracehouse.queries.explain.text import plain_text

            return plain_text(explanation)
        case "markdown":
            from tracehouse.queries.explain.markdown import markdown_text

            return markdown_text(explanation)
        case "json":
            from tracehouse.queries.printable import json_text

            return json_text(explanation.model_dump(mode="json")) + "\n"

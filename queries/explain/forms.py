"""The forms of an explanation by name; what renders them is imported on first use."""

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
    if form == "json":
        from tracehouse.queries.printable import json_text

        return json_text(explanation.model_dump(mode="json")) + "\n"
    from tracehouse.queries.explain import document

    match form:
        case "html":
            return document.html_text(explanation)
        case "text":
            return document.plain_text(explanation)
        case "markdown":
            return document.markdown_text(explanation)

"""A report as a message for Slack: the payload of its incoming webhooks, also used elsewhere.

Names are only in plain text, which Slack does not read as markup; `text` is for other services.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tracehouse.queries.printable import json_text, printable
from tracehouse.queries.report import figures
from tracehouse.queries.report.outline import (
    Tally,
    facts,
    is_card,
    line_text,
    sections,
    verdict_text,
)
from tracehouse.queries.report.sensitivity import sensitivity_text
from tracehouse.queries.report.sentences import lead_text, split_summary
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Report

MAX_HEADER = 150  # characters
MAX_SECTION = 3000
_GROUPS = 12  # two blocks each
_NOTES = 5
_TITLE = 300
_SECONDS = 10.0
_ANSWER = 200  # characters of the answer in an error
_Block = dict[str, object]


class PostError(QueryError):
    """The message did not arrive."""


def slack_text(report: Report) -> str:
    """The payload as a line of JSON: the verdict, the worst groups, and the number of others."""
    blocks = list(_blocks(report))
    return json_text({"text": _fallback(report), "blocks": blocks}) + "\n"


def post_payload(payload: str, url: str, *, timeout_seconds: float = _SECONDS) -> None:
    """Post a payload to a webhook, whose path is a secret and is in no error.

    Raises:
        PostError: The URL is invalid or unreachable, or the server refuses the payload.
    """
    try:
        place = urlsplit(url)
        host = place.hostname
    except ValueError:
        host = None
    if not host or place.scheme not in {"http", "https"}:
        raise PostError("the webhook's URL needs http:// or https:// and a host")
    headers = {"Content-Type": "application/json; charset=utf-8"}
    try:
        request = urllib.request.Request(url, payload.encode(), headers, method="POST")  # noqa: S310
        with urllib.request.urlopen(request, timeout=timeout_seconds):  # noqa: S310
            pass
    except urllib.error.HTTPError as error:
        raise PostError(f"{host}: refused the report ({error.code} {_answer(error)})") from None
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else type(error).__name__
        raise PostError(f"{host}: cannot be reached ({reason}); is the URL right?") from None


def _answer(error: urllib.error.HTTPError) -> str:
    """The server's reason for a refusal; Slack sends a word, such as invalid_blocks."""
    with error:
        try:
            return printable(error.read(_ANSWER).decode("utf-8", "replace").strip())
        except (OSError, HTTPException):
            return printable(str(error.reason))


def _blocks(report: Report) -> Iterator[_Block]:
    first, rest = split_summary(report.summary)
    yield {"type": "header", "text": _plain(first, MAX_HEADER)}
    yield _section(f"{rest} {lead_text(report)}".strip())
    for note in report.notes[:_NOTES]:
        yield _section(note)
    shown = _open_groups(report)
    for title, group in shown[:_GROUPS]:
        yield _section(f"{title}: {line_text(group)}")
        if is_card(group):
            said = facts(group, report)
            yield _context(" · ".join(f"{label}: {text}" for label, text in said))
    blind = [row for row in report.sensitivity if row.is_blind]
    if blind:
        lines = (f"{row.where}: {sensitivity_text(row)}" for row in blind[:_GROUPS])
        yield _section("\n".join(["Changes could hide here:", *lines]))
    if len(shown) > _GROUPS:
        yield _section(f"{len(shown) - _GROUPS:,} more alerts are in the report.")
    yield _context(_counts(report))


def _open_groups(report: Report) -> list[tuple[str, Group]]:
    """The groups that need action or a look, each with its section."""
    return [(section.title, group) for section in sections(report)[:2] for group in section.groups]


def _fallback(report: Report) -> str:
    """The message without blocks, in which Slack reads markup: hence & < > are escaped."""
    lines = [verdict_text(report), lead_text(report), *report.notes[:_NOTES]]
    lines += [f"{title}: {line_text(group)}" for title, group in _open_groups(report)[:_GROUPS]]
    text = "\n".join(figures.name_text(line, _TITLE) for line in lines)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _counts(report: Report) -> str:
    """The one count of the report, and what no verdict includes."""
    texts = [Tally("operator", report.tally).text]
    if report.refused:
        texts.append(figures.count_text(len(report.refused), "refused file"))
    if report.coverage.missing:
        texts.append(f"{len(report.coverage.missing):,} programs without data")
    return " · ".join(texts)


def _section(text: str) -> _Block:
    return {"type": "section", "text": _plain(text, MAX_SECTION)}


def _context(text: str) -> _Block:
    return {"type": "context", "elements": [_plain(text, MAX_SECTION)]}


def _plain(text: str, most: int) -> _Block:
    shown = figures.name_text(text, most) or figures.NONE  # Slack refuses an empty text
    return {"type": "plain_text", "text": shown, "emoji": False}

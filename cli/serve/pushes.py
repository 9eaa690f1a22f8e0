"""Messages about judged nights, to Slack and to webhooks."""

from __future__ import annotations

from tracehouse.queries.report.content import Report
from tracehouse.queries.report.forms import Form, render
from tracehouse.queries.report.slack import PostError, post_payload
from tracehouse.warehouse.errors import QueryError

_SECONDS = 10.0  # to wait for a server, which delays the end of the service


class Pushes:
    """Pushes the report of the last night when it differs from the last one pushed."""

    def __init__(self, *, slack_url: str | None, webhook_url: str | None) -> None:
        targets: dict[Form, str | None] = {"slack": slack_url, "json": webhook_url}
        self._targets = [(form, url) for form, url in targets.items() if url]
        self._last: object = None

    def remember(self, report: Report) -> None:
        """Treat a report as pushed, such as that of a night judged before the service began."""
        self._last = _news(report)

    def push(self, report: Report) -> None:
        """Push a report if its build, its verdict, or an alert or its state is new.

        Raises:
            QueryError: A server refuses the report or cannot be reached; the others have it.
        """
        if _news(report) == self._last:
            return
        self._last = _news(report)
        problems = []
        for form, url in self._targets:
            try:
                post_payload(render(report, form), url, timeout_seconds=_SECONDS)
            except PostError as error:
                problems.append(f"{form}: {error}")
        if problems:
            raise QueryError(f"the report was not pushed to {', '.join(problems)}")


def _news(report: Report) -> object:
    return report.head, report.verdict, [(group.id, group.state) for group in report.groups]

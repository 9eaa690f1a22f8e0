from __future__ import annotations

import json

import pytest

from tests.support.reports import group, report
from tracehouse.cli.serve.nights import Pushes
from tracehouse.warehouse.errors import QueryError

URLS = {"slack_url": "http://slack.invalid/secret", "webhook_url": "http://hook.invalid/secret"}


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    """URLs and payloads that were posted."""
    found = list[tuple[str, dict[str, object]]]()

    def post(payload: str, url: str, *, timeout_seconds: float) -> None:
        assert timeout_seconds <= 10
        found.append((url, json.loads(payload)))

    monkeypatch.setattr("tracehouse.cli.serve.nights.post_payload", post)
    return found


def test_a_report_goes_to_all_places_once(posted: list[tuple[str, dict[str, object]]]) -> None:
    pushes, night = Pushes(**URLS), report(head="b1")
    pushes.push(night)
    pushes.push(night.model_copy(update={"summary": "with another dump"}))
    assert [url for url, _ in posted] == list(URLS.values())
    assert "blocks" in posted[0][1]
    assert posted[1][1]["head"] == "b1"


@pytest.mark.parametrize(
    "news",
    [{"head": "b2"}, {"verdict": "regressions"}, {"groups": [group(state="confirmed")]}],
    ids=str,
)
def test_a_new_build_verdict_or_alert_is_news(
    posted: list[tuple[str, dict[str, object]]], news: dict[str, object]
) -> None:
    pushes, night = Pushes(**URLS), report(head="b1", verdict="clear")
    pushes.remember(night)
    pushes.push(night)
    assert posted == []
    pushes.push(report(**({"head": "b1", "verdict": "clear"} | news)))
    assert len(posted) == 2


def test_a_failed_push_names_its_destination_without_the_secret() -> None:
    pushes = Pushes(slack_url="ftp://slack.invalid/secret", webhook_url=None)
    with pytest.raises(QueryError, match="the report was not pushed to slack: ") as error:
        pushes.push(report())
    assert "secret" not in str(error.value)

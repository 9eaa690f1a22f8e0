from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support.reports import full_report, large_report, named_report
from tests.support.reports import report as report_of
from tests.support.strange_names import LONG_NAME, NAMES
from tracehouse.queries.report.slack import PostError, post_payload, slack_text


def test_the_verdict_is_the_header_and_each_group_a_section() -> None:
    blocks = json.loads(slack_text(full_report()))["blocks"]
    assert [block["type"] for block in blocks] == [
        "header", "section", *["section", "context"] * 3, "context",
    ]  # fmt: skip
    assert blocks[0]["text"]["text"].startswith("2 causes made operators slower, on 8 of 9")
    assert "Build b42 of 1 Mar 2026 against" in blocks[1]["text"]["text"]
    assert blocks[2]["text"]["text"].startswith(
        "Act on these: ▲ native_call_convolution.out +6.2 % on 8 devices"
    )
    assert "Owner: kernels@example.org" in blocks[3]["elements"][0]["text"]
    assert blocks[-1]["elements"][0]["text"].startswith("4,911 operators: 3 slower, ")


def test_slack_text_summarises_the_report_for_clients_without_blocks() -> None:
    lines = json.loads(slack_text(full_report()))["text"].splitlines()
    assert lines[0].startswith("2 causes made operators slower")
    assert len(lines) == 5


@pytest.mark.parametrize(
    "report",
    [large_report(200, 2), named_report([*NAMES, LONG_NAME, ""]), report_of(summary="")],
    ids=["large", "strange", "empty"],
)
def test_limits_of_slack_are_kept(report) -> None:
    payload = json.loads(slack_text(report))
    assert len(payload["blocks"]) <= 50
    assert len(payload["text"]) < 40_000
    for block in payload["blocks"]:
        texts = block.get("elements", [block.get("text")])
        limit = 150 if block["type"] == "header" else 3000
        assert all(1 <= len(text["text"]) <= limit for text in texts)


def test_groups_past_the_first_are_counted() -> None:
    assert "188 more alerts are in the report." in slack_text(large_report(200, 1))


def test_names_in_slack_messages_are_no_markup_and_no_mentions() -> None:
    payload = json.loads(slack_text(named_report(["<!channel> & *x*"])))
    for block in payload["blocks"]:
        for text in block.get("elements", [block.get("text")]):
            assert text["type"] == "plain_text"
    assert "<" not in payload["text"]
    assert "&lt;!channel&gt; &amp; *x*" in payload["text"]


def test_the_payload_arrives_as_json() -> None:
    with webhook(200) as (url, bodies):
        post_payload(slack_text(full_report()), url)
    ((content_type, body),) = bodies
    assert content_type == "application/json; charset=utf-8"
    assert json.loads(body)["text"].startswith("2 causes made operators slower")


def test_a_refusal_says_what_the_other_side_says_and_hides_the_secret() -> None:
    with webhook(400) as (url, _), pytest.raises(PostError) as raised:
        post_payload("{}", url)
    assert str(raised.value) == "127.0.0.1: refused the report (400 invalid_blocks\\x1b)"


def test_an_unreachable_webhook_host_is_reported() -> None:
    with webhook(200) as (url, _):
        pass
    with pytest.raises(PostError, match=r"^127\.0\.0\.1: cannot be reached \(.*\); is the URL"):
        post_payload("{}", url, timeout_seconds=1)


def test_posting_to_a_silent_host_times_out() -> None:
    with webhook(None) as (url, _), pytest.raises(PostError, match="cannot be reached"):
        post_payload("{}", url, timeout_seconds=0.2)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "hooks.example.org/x", "https:///x", "http://[", "ftp://h/x", ""]
)
def test_only_urls_of_the_web_are_posted_to(url: str) -> None:
    with pytest.raises(PostError, match="URL needs http"):
        post_payload("{}", url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:x/s3cret", "http://127.0.0.1/s3 cret\n"])
def test_urls_that_cannot_be_asked_for_are_refused_without_their_path(url: str) -> None:
    with pytest.raises(PostError) as raised:
        post_payload("{}", url)
    assert "cret" not in str(raised.value)


@contextmanager
def webhook(status: int | None) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that answers so, or not at all, and keeps what it got."""
    bodies: list[tuple[str, bytes]] = []
    is_over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append((self.headers["Content-Type"], body))
            if status is None:
                is_over.wait(10)
                return
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"ok" if status == 200 else b"invalid_blocks\x1b\n")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/services/s3cret", bodies
        finally:
            is_over.set()
            server.shutdown()
            thread.join()

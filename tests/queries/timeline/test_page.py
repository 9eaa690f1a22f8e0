"""Runs as a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from tests.support.timelines import event, forward, timed_dump
from tracehouse.queries.timeline.page import page_text
from tracehouse.queries.timeline.slices import lay_out_runs


def _data(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_a_page_holds_every_event_and_where_it_stands() -> None:
    (dump,) = _data(page_text([lay_out_runs(timed_dump(forward()))]))["dumps"]
    (track,) = dump["tracks"]
    names = [dump["events"][number]["name"] for number in track["event"]]
    columns = zip(track["start"], track["length"], track["depth"], strict=True)
    assert dict(zip(names, columns, strict=True)) == {
        "Method::execute": (0, 100, 0), "OPERATOR_CALL": (10, 20, 1),
        "native_call_add.out": (12, 16, 2), "DELEGATE_CALL": (40, 50, 1), "conv #1": (45, 30, 2),
    }  # fmt: skip
    assert dump["flame"][:2] == ["dump", 100]
    assert dump["failed"] == []


def test_a_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    text = page_text([lay_out_runs(timed_dump(forward()))])
    script = re.findall(r"<script>(.*?)</script>", text, re.S)
    (digest,) = re.findall(r"script-src 'sha256-([^']+)'", text)
    assert [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in script] == [
        digest
    ]
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(", text)


def test_names_are_text_in_the_page() -> None:
    evil = "</script><script>alert(1)</script>@SCRIPT@"
    text = page_text([lay_out_runs(timed_dump([event(evil, 0, 1)], label=evil))])
    assert text.count("<script") == 2
    assert _data(text)["dumps"][0]["events"][0]["name"] == evil


def test_impossible_durations_and_failed_runs_are_marked() -> None:
    run = [event("native_call_a", 1 << 40, 1 << 39, 1), event("OPERATOR_CALL", 0, 1 << 41, 2)]
    (dump,) = _data(page_text([lay_out_runs(timed_dump(run))]))["dumps"]
    assert sorted(dump["tracks"][0]["length"]) == [-1, 1 << 41]
    assert dump["failed"] == [[0, 1 << 41]]

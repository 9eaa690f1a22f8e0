from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.service import serving
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump


def send_zip(client: TestClient, members: dict[str, bytes]) -> Any:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(MANIFEST)}
    return client.post("/v1/dumps", content=packed.getvalue(), headers=headers)


def test_a_zip_of_what_is_there_already_says_so(tmp_path: Path) -> None:
    members = {"a.etdp": tiny_dump(1), "b.etdp": tiny_dump(2)}
    with serving(tmp_path / "store") as client:
        assert [send_zip(client, members).status_code for _ in range(2)] == [201, 200]


def test_a_zip_of_which_nothing_is_taken_is_a_problem(tmp_path: Path) -> None:
    with serving(tmp_path / "store") as client:
        answer = send_zip(client, {"a.etdp": b"x" * 99, "b.etdp": b"y" * 99})
        counted = client.get("/metrics").text
    found = answer.json()
    assert (answer.status_code, found["reason"]) == (400, "bad_identifier")
    assert answer.headers["content-type"] == "application/problem+json"
    assert found["detail"].startswith("none of 2 dumps was taken; the first: offset 4: ")
    assert [one["name"] for one in found["dumps"]] == ["upload.zip!a.etdp", "upload.zip!b.etdp"]
    assert 'http_problems_total{reason="bad_identifier",route="/v1/dumps"} 1.0' in counted


def test_what_is_in_a_zip_has_to_leave_room_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = SimpleNamespace(f_bavail=10 << 20, f_frsize=1)
    with serving(tmp_path / "store") as client:
        monkeypatch.setattr(os, "statvfs", lambda _: room)
        answer = send_zip(client, {"a.etdp": tiny_dump(1) + bytes(20 << 20)})
    assert (answer.status_code, answer.json()["reason"]) == (507, "disk_low")

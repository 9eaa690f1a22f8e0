"""The shell clients: docs/examples/upload.sh, and the batch of docs/uploading.md."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.documents import ROOT, blocks
from tests.support.service_process import ServiceProcess
from tests.support.stand_in_service import Refused, StandIn
from tests.support.stores import write
from tests.support.tiny_dumps import stored_event_counts, tiny_dump
from tracehouse import Warehouse

MANIFEST = b'{"device": "pixel 8 \\u00e9",\n "build": "b1", "model": "mv2"}\n'


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    script = (ROOT / "docs" / "examples" / "upload.sh").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "uploading.md").read_text(encoding="utf-8")
    _, batch = (block.text for block in blocks(text) if block.language == "sh")
    write(tmp_path / "batch.sh", batch.encode())
    write(tmp_path / "upload.sh", script.encode())
    write(tmp_path / "manifest.json", MANIFEST)
    for number in range(3):
        write(tmp_path / f"a run {number}.etdp", tiny_dump(number))
    return tmp_path


def upload(desk: Path, url: str, *names: str, token: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "upload.sh", url, "manifest.json", *names],
        cwd=desk,
        capture_output=True,
        text=True,
        env={**os.environ, "TRACEHOUSE_TOKEN": token},
    )


@pytest.mark.slow
def test_the_upload_script_sends_dumps_repeatedly_and_fails_for_a_refused_one(
    desk: Path, tmp_path: Path
) -> None:
    names = sorted(path.name for path in desk.glob("*.etdp"))
    store = tmp_path / "store"
    with ServiceProcess(store) as process:
        for _ in range(2):
            done = upload(desk, process.url, *names)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        write(desk / "broken.etdp", b"no dump")
        done = upload(desk, process.url, "broken.etdp", *names)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("broken.etdp: 400 {")
        batch = (desk / "batch.sh").read_text().replace("http://127.0.0.1:8080/", process.url)
        done = subprocess.run(["sh", "-c", batch], cwd=desk, capture_output=True, text=True)
        found = {one["name"]: one["status"] for one in json.loads(done.stdout)["dumps"]}
        assert found == {"broken.etdp": 400, **dict.fromkeys(names, 200)}
        process.signal(signal.SIGTERM)
        process.wait()
    with Warehouse.open(store) as warehouse:
        warehouse.drain()
    expected = sorted(hashlib.sha256(tiny_dump(number)).hexdigest() for number in range(3))
    assert [sha256 for sha256, _ in stored_event_counts(store)] == expected


@pytest.mark.parametrize("status", [408, 429, 502, 503, 507])
def test_the_upload_script_sends_its_token_and_retries(
    desk: Path, service: StandIn, status: int
) -> None:
    service.refusals = [Refused(status)]
    done = upload(desk, service.url + "/", "a run 1.etdp", token="th_secret")  # noqa: S106
    assert (done.returncode, done.stderr, len(service.asked)) == (0, "", 2)
    ((_, held),) = service.held.items()
    assert json.loads(held["manifest"]) == json.loads(MANIFEST)
    assert service.asked[0].headers["Authorization"] == "Bearer th_secret"

"""The C++ and Kotlin clients of docs/examples, compiled as they stand there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.documents import ROOT
from tests.support.service_process import ServiceProcess
from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse

pytestmark = pytest.mark.skipif("CLIENTS" not in os.environ, reason="make test-clients runs it")
HERE = Path(__file__).parent
MANIFEST = '{"device": "pixel 8 \u00e9", "build": "b1", "model": "mv2"}'


def client(ending: str) -> str:
    return (ROOT / "docs" / "examples" / f"upload.{ending}").read_text(encoding="utf-8")


def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def cpp(tmp_path: Path) -> list[str]:
    compiler = shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler: apt-get install g++")
    text = client("cpp") + (HERE / "main.cpp").read_text()
    source = write(tmp_path / "client.cpp", text.encode())
    include = {"input": b"#include <curl/curl.h>", "capture_output": True}
    if subprocess.run([compiler, "-E", "-"], **include).returncode:
        pytest.skip("no libcurl: apt-get install libcurl4-openssl-dev")
    run(compiler, "-Wall", "-Wextra", "-Werror", source, "-lcurl", "-o", tmp_path / "client")
    return [str(tmp_path / "client")]


@pytest.fixture
def kotlin(tmp_path: Path) -> list[str]:
    compiler, java = shutil.which("kotlinc"), shutil.which("java")
    if not compiler or not java:
        pytest.skip("no Kotlin compiler: apt-get install kotlin")
    text = (HERE / "main.kt").read_text() + client("kt")
    source = write(tmp_path / "client.kt", text.encode())
    run(compiler, source, "-include-runtime", "-d", tmp_path / "client.jar")
    return [java, "-jar", str(tmp_path / "client.jar")]


@pytest.mark.parametrize("language", ["cpp", "kotlin"])
def test_a_client_sends_a_dump_and_reports_a_refused_one(
    language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = request.getfixturevalue(language)
    good = write(tmp_path / "good" / "a.etdp", tiny_dump(3))
    bad = write(tmp_path / "bad" / "b.etdp", b"no dump")
    with ServiceProcess(tmp_path / "store") as process:
        for file in (good, bad, good):
            run(*command, file, process.url.rstrip("/"), "no token is needed", MANIFEST)
        process.signal(signal.SIGTERM)
        process.wait()
    with Warehouse.open(tmp_path / "store") as warehouse:
        warehouse.drain()
        devices = warehouse.sql("SELECT name FROM devices")["name"].to_pylist()
        refused = warehouse.query("ingest_errors")["reason"].to_pylist()
    assert devices == ["pixel 8 \u00e9"]
    assert refused == ["truncated"]

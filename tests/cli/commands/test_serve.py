from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.command import ENVIRONMENT, Run
from tests.support.cross_section import cross_section
from tests.support.service_process import ServiceProcess
from tracehouse.cli.serve.access.tokens import TokenScope, create_token

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({names!r}))
from tracehouse.cli.main import main
sys.exit(main({args!r}))
"""


def run_without(names: list[str], args: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command line where some packages are not installed."""
    command = [sys.executable, "-c", WITHOUT.format(names=names, args=args)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)


@pytest.mark.system
@pytest.mark.parametrize(
    "name", cross_section(["starlette", "uvicorn", "prometheus_client", "pydantic_settings"], 4)
)
def test_a_missing_package_is_reported_with_how_to_install_it(tmp_path: Path, name: str) -> None:
    args = ["serve", "--store", str(tmp_path / "store"), "--port", "0"]
    done = run_without([name], args)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not installed; 'pip install \".[serve]\"' in a checkout adds" in done.stderr
    assert done.stderr.count("\n") == 1
    assert name in done.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.system
def test_token_commands_work_without_the_serve_extra(tmp_path: Path) -> None:
    args = ["token", "create", "lab", "--scope", "read", "--store", str(tmp_path)]
    done = run_without(["starlette", "prometheus_client", "pydantic_settings"], args)
    assert (done.returncode, done.stdout[:11]) == (0, "tracehouse_")


def test_a_public_address_without_tokens_is_refused_with_the_command(
    run: Run, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    outcome = run("serve", "--host", "0.0.0.0", "--port", "0", "--store", store)  # noqa: S104
    assert outcome.code == 1
    assert f"'tracehouse token create NAME --scope admin --store {store}'" in outcome.error
    assert not store.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--port", "70000"), "--port: wanted less than or equal to 65535"),
        (("--config", "none.toml"), "none.toml: No such file"),
    ],
)
def test_a_wrong_setting_is_wrong_usage(
    run: Run, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    outcome = run("serve", *args, "--store", tmp_path / "store")
    assert (outcome.code, said in outcome.error) == (2, True)


@pytest.mark.system
@pytest.mark.slow
def test_a_service_behind_a_proxy_knows_that_it_is_reached_by_tls(tmp_path: Path) -> None:
    secret = create_token(tmp_path / "store", "me", scopes=[TokenScope.READ])
    with ServiceProcess(tmp_path / "store") as process:
        address = urlsplit(process.url)
        assert address.hostname
        connection = HTTPConnection(address.hostname, address.port or 80, timeout=60)
        for scheme, is_secure in (("https", True), ("http", False)):
            headers = {"Host": "farm.example", "X-Forwarded-Proto": scheme}
            connection.request("POST", "/login", f"token={secret}", headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 303
            assert ("; Secure" in answer.headers["Set-Cookie"]) == is_secure
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {secret}"})
        assert b"tracehouse_disk_free_bytes" in connection.getresponse().read()
        connection.close()
        process.signal(signal.SIGTERM)
        lines = process.read_log().splitlines()
        process.wait(60)
    assert [json.loads(line)["path"] for line in lines] == ["/login", "/login"]
    assert secret not in "".join(lines)
    assert "warehouse.duckdb" in os.listdir(tmp_path / "store")

"""What ships the service elsewhere names what there is: the container, the unit, the proxy."""

from __future__ import annotations

import re
import shlex

from tests.support.documents import ROOT
from tests.test_wheel import PACKAGES
from tracehouse.cli.serve.running import BACKLOG, ENDING_SECONDS

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
DEPLOY = ROOT / "deploy"
UNIT = (ROOT / "docs" / "examples" / "tracehouse.service").read_text(encoding="utf-8")
SOCKET = (ROOT / "docs" / "examples" / "tracehouse.socket").read_text(encoding="utf-8")
NGINX = (ROOT / "docs" / "examples" / "nginx.conf").read_text(encoding="utf-8")


def test_container_is_made_of_all_packages_and_the_documents_for_agents_alone() -> None:
    copied = re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE)
    assert copied == sorted([*PACKAGES, "docs"])
    taken = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert taken == ["pyproject.toml", "requirements.txt", "README.md", "LICENSE", *copied]
    assert all((ROOT / name).exists() for name in taken)


def test_container_has_the_versions_that_are_tested() -> None:
    copied = re.findall(r"^COPY (.+) \./$", DOCKERFILE, re.MULTILINE)
    assert "requirements.txt" in copied[0].split()
    assert "--constraint requirements.txt '.[mcp,serve]'" in DOCKERFILE


def test_the_container_runs_as_an_unprivileged_user_with_a_health_check() -> None:
    last = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER [1-9]\d+$", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert "/healthz" in last
    assert 'ENTRYPOINT ["tracehouse"]\nCMD ["serve", ' in last


def test_unit_gives_the_service_the_time_that_it_takes_to_start_and_end() -> None:
    """A supervisor that is told when the service is ready would else kill a long rebuild."""
    assert re.search(r"^Type=notify$", UNIT, re.MULTILINE)
    assert re.search(r"^TimeoutStartSec=infinity$", UNIT, re.MULTILINE)
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(seconds) > ENDING_SECONDS
    (backlog,) = re.findall(r"^Backlog=(\d+)$", SOCKET, re.MULTILINE)
    assert int(backlog) == BACKLOG


def test_unit_lets_processes_that_work_for_strangers_confine_themselves() -> None:
    (allowed,) = re.findall(r"^SystemCallFilter=(.+)$", UNIT, re.MULTILINE)
    calls = {"seccomp", "landlock_create_ruleset", "landlock_restrict_self"}
    assert calls <= {*allowed.split()}
    assert "SystemCallErrorNumber=EPERM" in UNIT.splitlines()


def test_units_and_proxy_speak_of_the_same_address() -> None:
    (start,) = re.findall(r"^ExecStart=(.+)$", UNIT, re.MULTILINE)
    program, command = shlex.split(start)
    assert (program.rpartition("/")[2], command) == ("tracehouse", "serve")
    (address,) = re.findall(r"^ListenStream=(.+)$", SOCKET, re.MULTILINE)
    assert f"server {address};" in NGINX
    assert "proxy_set_header Host $http_host;" in NGINX
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in NGINX

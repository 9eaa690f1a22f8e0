from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.support.command import ROOT, Run
from tracehouse import Warehouse
from tracehouse.warehouse.children import process
from tracehouse.warehouse.load.children import DecodingChild


def findings(run: Run, store: Path) -> dict[str, dict[str, str]]:
    outcome = run("doctor", "--store", store, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    return {row["what"]: row for row in json.loads(outcome.text)}


def test_doctor_reports_versions_and_the_store(run: Run, store: Path) -> None:
    found = findings(run, store)
    assert {found[name]["status"] for name in ("python", "tracehouse", "duckdb")} == {"ok"}
    assert found["store"]["detail"].startswith(f"{store}: 148 dumps")
    assert found["temporary files"]["status"] == "ok"
    assert found["executorch"]["status"] in {"ok", "missing"}


def test_doctor_reports_every_package_of_the_serve_extra(run: Run, tmp_path: Path) -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]["serve"]
    found = findings(run, tmp_path / "none")
    names = {re.split("[><=]", requirement)[0] for requirement in extra}
    assert {name for name in names if found[name]["status"] == "ok"} == names


def test_doctor_says_how_to_install_a_missing_package_of_the_service(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version_but_of_starlette(name: str) -> str:
        if name == "starlette":
            raise PackageNotFoundError
        return "1"

    monkeypatch.setattr("tracehouse.cli.health.version", version_but_of_starlette)
    found = findings(run, tmp_path / "none")["starlette"]
    assert (found["status"], found["detail"]) == (
        "missing",
        "for serve: pip install '.[serve]' in a checkout",
    )


def test_doctor_reports_every_package_of_the_users_extras(run: Run, tmp_path: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    needed = {re.split("[><=]", one)[0] for name in extras if name != "dev" for one in extras[name]}
    assert needed <= findings(run, tmp_path / "none").keys()


def test_a_store_that_is_not_there_is_missing_and_not_made(run: Run, tmp_path: Path) -> None:
    assert findings(run, tmp_path / "none")["store"]["status"] == "missing"
    assert not (tmp_path / "none").exists()


def test_doctor_reports_why_a_store_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    with Warehouse.open_to_write(tmp_path / "busy", create=True):
        busy = findings(run, tmp_path / "busy")["store"]
    assert (busy["status"], "locked by" in busy["detail"]) == ("wrong", True)
    (tmp_path / "empty").mkdir()
    assert "no store here" in findings(run, tmp_path / "empty")["store"]["detail"]


def test_doctor_reports_every_layer_of_confinement(run: Run, tmp_path: Path) -> None:
    child = DecodingChild()
    try:
        layers = child.await_start()["layers"]
    finally:
        child.end()
    found = findings(run, tmp_path / "none")
    for name, is_active, detail in layers:
        row = found[f"confinement: {name}"]
        assert (row["status"], row["detail"]) == ("ok" if is_active else "missing", detail)
    assert [name for name, _, _ in layers] == ["landlock", "seccomp"]


def test_doctor_reports_a_decoding_process_that_does_not_start(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_PROGRAM", "raise SystemExit(7)")
    found = findings(run, tmp_path / "none")["confinement"]
    assert (found["status"], "does not start" in found["detail"]) == ("wrong", True)

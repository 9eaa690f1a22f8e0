from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.nightly_farm import ingest_all, record_build


@pytest.fixture(scope="module")
def group(nightly_store: Path) -> str:
    from tracehouse import Warehouse
    from tracehouse.queries.report.night import judge_head
    from tracehouse.queries.report.settings import Settings

    with Warehouse.open(nightly_store, read_only=True) as store:
        return judge_head(store, None, Settings()).groups[0].id


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A repository's HEAD, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "me")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "me@example.org")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("build", "code", "word"), [("b8", 0, "good"), ("b9", 1, "bad")])
def test_the_exit_status_of_bisect_step_follows_git_bisect(
    run: Run, nightly_store: Path, group: str, build: str, code: int, word: str
) -> None:
    outcome = run("bisect-step", group, "--build", build, "--store", nightly_store)
    assert (outcome.code, outcome.out) == (code, b"")
    assert outcome.error.startswith(f"{word}: {build}: the change of convolution in group {group}")


@pytest.mark.system
@pytest.mark.slow
def test_the_build_is_that_of_the_commit_that_git_has_out(
    run: Run, tmp_path: Path, commit: str
) -> None:
    dumps = [
        dump
        for number in range(6)
        for dump in record_build(
            number,
            {"native_call_relu.out": 1.2 if number > 3 else 1.0},
            build={
                "id": f"b{number}",
                "ordinal": number,
                "commit": commit if number == 2 else None,
            },
        )
    ]
    store = ingest_all(tmp_path / "s", dumps)
    report = json.loads(run("report", "--format", "json", "--store", store).text)
    (group,) = report["groups"]
    assert run("bisect-step", group["id"], "--store", store).error.startswith("good: b2: ")
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "two"], check=True)
    outcome = run("bisect-step", group["id"], "--store", store)
    assert outcome.code == 125
    assert outcome.error.startswith("skip: no build in the store was made from commit ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none", "--build", "b9"], "the report of b11 has no group 'none'"),
        (["{group}", "--build", "b99"], "did you mean b9?"),
        (["{group}", "--build", "b9", "--head", "c"], "'c' is not in the store"),
        (["{group}", "--build", "b9", "--config", "none.toml"], "none.toml: No such file"),
        (["{group}", "--build", "b9", "--store", "nowhere"], "no store here"),
        ([], "Missing argument"),
        (["{group}", "--biuld", "b9"], "No such option"),
    ],
)
def test_any_error_stops_git_bisect(
    run: Run,
    nightly_store: Path,
    group: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [arg.replace("{group}", group) for arg in args]
    store = [] if "--store" in words else ["--store", nightly_store]
    outcome = run("bisect-step", *words, *store)
    assert outcome.code == 128
    assert message in outcome.err


@pytest.mark.system
def test_bisect_step_outside_a_repository_requires_a_build(
    run: Run, nightly_store: Path, group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    outcome = run("bisect-step", group, "--store", nightly_store)
    assert outcome.code == 128
    assert "name one with --build BUILD" in outcome.err

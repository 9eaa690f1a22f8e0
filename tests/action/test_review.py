from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from action import review
from tests.support.corpus import FARM
from tests.support.documents import ROOT, blocks
from tests.support.fake_forge import FakeForge, Trouble, fake_forge
from tests.support.service_process import ServiceProcess

MARKER = "<!-- tracehouse:latency -->"
ACTION = yaml.safe_load((ROOT / "action/action.yml").read_text())
TEMPLATE = yaml.safe_load((ROOT / "action/gitlab.yml").read_text())[".tracehouse"]
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
NUMBERS = count()  # so that no two commits are the same


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake_forge() as running:
        yield running


@pytest.fixture
def hub(forge: FakeForge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> review.Forge:
    """The comments of pull request 5, as a job of GitHub reaches them."""
    for name, value in github(forge, tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CI_API_V4_URL", raising=False)
    found = review.read_change(os.environ).forge
    assert found
    return found


def github(forge: FakeForge, folder: Path, base: str | None = "0" * 40) -> dict[str, str]:
    """The environment of a job on pull request 5, or on a branch without a base."""
    pull: dict[str, Any] = {"pull_request": {"number": 5, "base": {"sha": base, "ref": "main"}}}
    (folder / "event.json").write_text(json.dumps(pull if base else {}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": forge.url,
        "GITHUB_REF": "refs/pull/5/merge" if base else "refs/heads/main",
        "GITHUB_SHA": "0" * 40,
        "GITHUB_REPOSITORY": "team/app",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_ACTION_PATH": str(ROOT / "action"),
        "REVIEW_TOKEN": "secret",
    }


def inputs(step: dict[str, Any], folder: Path, **given: str) -> dict[str, str]:
    """The environment that a step gives its shell."""
    defaults = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    values = {f"inputs.{name}": text for name, text in (defaults | given).items()}
    values |= {"runner.temp": str(folder), "inputs.github-token": "secret"}
    named = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
    return {
        name: named.sub(lambda found: values[found[1]], text) for name, text in step["env"].items()
    }


def few_dumps(build: str, folder: Path) -> str:
    """A zip with the dumps of one model and backend of a build of the real farm."""
    path = folder / f"{build}.zip"
    with ZipFile(FARM / f"lab-x86-quiet-ab/{build}.zip") as whole, ZipFile(path, "w") as few:
        for name in whole.namelist():
            if name.startswith("txf-portable/") or "/" not in name:
                few.writestr(name, whole.read(name))
    return str(path)


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.check_output(["git", *identity, *args], cwd=folder, text=True).strip()


def commit(folder: Path) -> str:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", f"change {next(NUMBERS)}")
    return git(folder, "rev-parse", "HEAD")


def test_a_pull_request_gets_one_comment_a_summary_and_a_status(
    forge: FakeForge, tmp_path: Path
) -> None:
    code, desk = tmp_path / "code", tmp_path / "desk"
    code.mkdir(), desk.mkdir()
    (desk / "tracehouse").symlink_to(Path(sys.prefix), target_is_directory=True)
    git(code, "init", "--quiet", "--initial-branch", "main")
    step = STEPS["Compare"]
    before, after = (few_dumps(build, tmp_path) for build in ("base", "f136"))

    def act(path: str, base: str | None, fails: str = "false") -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(desk), **github(forge, desk, base)}
        given = inputs(step, desk, paths=f"\n  {path}\n", **{"fail-on-regression": fails})
        command = ["bash", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(command, cwd=code, env=env | given, capture_output=True, text=True)

    old = commit(code)
    copied = shutil.copy(before, tmp_path / "copied.zip")  # whose dumps are stored once
    assert act(f"{before}\n{copied}", None).returncode == 0  # a push to the branch
    assert (desk / "summary.md").read_text() == f"12 dumps of `{old[:12]}` are in the store.\n"
    assert forge.asked == []
    (desk / "summary.md").unlink()
    fork, head = commit(code), commit(code)
    done = act(after, fork, fails="true")
    assert done.returncode == 3, done.stderr
    (comment,) = forge.comments
    note = f"> [!NOTE]\n> The fork point `{fork[:12]}` has no dumps: compared with the nearest "
    note += f"commit before it that has, `{old[:12]}`, 1 commit earlier."
    verdict = "\n## 🔴 4 operators are slower.", f"\n\nBuild {head[:9]} of "
    parts = *verdict, f"\n\n{note}\n\n### Act on these"
    places = [comment["body"].find(part) for part in (MARKER, *parts)]
    assert places[0] == 0
    assert places == sorted(places)  # the verdict first
    assert (desk / "summary.md").read_text() == comment["body"]
    assert len(comment["body"]) < 65_536
    assert [method for method, _ in forge.asked] == ["GET", "POST"]


def test_a_setting_that_is_neither_true_nor_false_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REVIEW_FAILS", "yes")
    with pytest.raises(SystemExit, match="fail-on-regression: found 'yes', wanted true or false"):
        review.main()


def test_review_outside_a_ci_job_says_what_to_run_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REVIEW_FAILS", "CI_API_V4_URL", "GITHUB_EVENT_PATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SystemExit, match="elsewhere run: tracehouse compare BASE HEAD"):
        review.main()


def test_a_review_without_a_base_with_dumps_says_so() -> None:
    note = review.Base(None, "a" * 40, 0).note
    assert note.startswith(f"> [!NOTE]\n> The fork point `{'a' * 12}` has no dumps, and neither")


def test_the_fork_point_is_compared_with_if_it_has_dumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    fork = commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "-b", "topic")
    commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "main")
    tip = commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "topic")
    monkeypatch.chdir(tmp_path)
    assert review.find_base([tip], {fork: 3, tip: 3}) == review.Base(fork, fork, 0)
    assert review.Base(fork, fork, 0).note == ""
    assert review.find_base([tip], {tip: 3}).build is None
    # A job checks out the merge of both, which must not be charged for what the branch changed.
    git(tmp_path, "merge", "--quiet", "--no-edit", "main")
    assert review.find_base([tip], {fork: 3, tip: 3}).build == tip


def test_an_event_older_than_the_merge_does_not_charge_others_changes(
    forge: FakeForge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    old = commit(tmp_path)
    git(tmp_path, "branch", "topic")
    tip = commit(tmp_path)
    tree = git(tmp_path, "rev-parse", "main^{tree}")
    git(tmp_path, "checkout", "--quiet", "topic")
    topic = commit(tmp_path)
    merged = git(tmp_path, "commit-tree", tree, "-p", tip, "-p", topic, "-m", "merge")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI_API_V4_URL", raising=False)
    env = github(forge, tmp_path, old)
    for checkout, sha, base in ((merged, merged, tip), (topic, "0" * 40, old)):
        git(tmp_path, "checkout", "--quiet", checkout)
        tips = review.read_change(env | {"GITHUB_SHA": sha}).tips
        assert review.find_base(tips, {old: 3, tip: 3}).build == base
    # Rebased since the event, and checked out without the merge.
    git(tmp_path, "checkout", "--quiet", "-b", "rebased", "main")
    commit(tmp_path)
    git(tmp_path, "update-ref", "refs/remotes/origin/main", tip)
    assert review.find_base(review.read_change(env).tips, {old: 3, tip: 3}).build == tip


def test_a_branch_that_took_the_change_meanwhile_is_not_its_own_base(
    forge: FakeForge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    old, head = commit(tmp_path), commit(tmp_path)
    git(tmp_path, "update-ref", "refs/remotes/origin/main", head)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI_API_V4_URL", raising=False)
    tips = review.read_change(github(forge, tmp_path, old)).tips
    assert review.find_base(tips, {old: 3, head: 3}).build == old


def test_a_shallow_checkout_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whole").mkdir()
    git(tmp_path / "whole", "init", "--quiet")
    tip = [commit(tmp_path / "whole") for _ in range(3)][-1]
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{tmp_path / 'whole'}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    with pytest.raises(SystemExit, match="fetch-depth: 0"):
        review.find_base([tip], {})


def test_the_comment_is_found_on_later_pages(forge: FakeForge, hub: review.Forge) -> None:
    for number in range(230):
        forge.add(f"{MARKER} of before" if number == 210 else "hello")
    review.write_comment(hub, MARKER, f"{MARKER} now")
    assert forge.comments[210]["body"] == f"{MARKER} now"
    assert len(forge.comments) == 230
    assert forge.asked[-1] == ("PATCH", "/repos/team/app/issues/comments/211")


def test_a_stranger_who_copies_the_marker_does_not_get_the_report(
    forge: FakeForge, hub: review.Forge
) -> None:
    forge.add(MARKER, {"id": 9, "type": "User"})
    review.write_comment(hub, MARKER, f"{MARKER} now")
    assert [one["body"] for one in forge.comments] == [MARKER, f"{MARKER} now"]


@pytest.mark.parametrize("status", [0, 200])
def test_an_answer_that_is_cut_or_no_json_leaves_one_comment(
    forge: FakeForge, hub: review.Forge, status: int
) -> None:
    forge.troubles = [Trouble("POST", status, is_done=True)]
    review.write_comment(hub, MARKER, MARKER)
    assert [one["body"] for one in forge.comments] == [MARKER]
    assert [method for method, _ in forge.asked] == ["GET", "POST", "GET", "PATCH"]


@pytest.mark.parametrize("headers", [{"Retry-After": "0"}, {"X-RateLimit-Reset": "1"}])
@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_failure_that_passes_leaves_one_comment(
    forge: FakeForge, hub: review.Forge, status: int, headers: dict[str, str]
) -> None:
    forge.troubles = [Trouble("POST", status, headers, is_done=True)]  # its answer was lost
    review.write_comment(hub, MARKER, MARKER)
    assert [one["body"] for one in forge.comments] == [MARKER]
    assert [method for method, _ in forge.asked] == ["GET", "POST", "GET", "PATCH"]


@pytest.mark.parametrize(
    ("status", "headers", "count", "said"),
    [
        (500, {"Retry-After": "0"}, 2, "no comment: 500 "),
        (403, {}, 1, "give the job 'permissions: pull-requests: write'; pull requests from forks"),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, 2, ": rate limit"),
        (403, {"Retry-After": "3600"}, 1, ": rate limit"),
        (422, {}, 1, "no comment: 422 "),
    ],
)
def test_a_comment_that_cannot_be_written_is_a_warning(
    forge: FakeForge,
    hub: review.Forge,
    capsys: pytest.CaptureFixture[str],
    status: int,
    headers: dict[str, str],
    count: int,
    said: str,
) -> None:
    forge.troubles = [Trouble("POST", status, headers)] * 2
    review.write_comment(hub, MARKER, MARKER)
    printed = capsys.readouterr().out
    assert printed.startswith("::warning::no comment: ")
    assert said in printed
    assert [method for method, _ in forge.asked].count("POST") == count


def test_a_gitlab_job_updates_the_note_that_its_token_wrote(forge: FakeForge) -> None:
    env = {
        "CI_API_V4_URL": f"{forge.url}/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "5",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "b" * 40,
        "REVIEW_TOKEN": "secret",
    }
    change = review.read_change(env)
    assert change.tips == ("b" * 40,)
    forge.add(MARKER, {"id": 9})
    for text in ("first", "second"):
        review.write_comment(change.forge, MARKER, f"{MARKER} {text}")
    assert [one["body"] for one in forge.comments] == [MARKER, f"{MARKER} second"]
    assert forge.asked[-1] == ("PUT", "/api/v4/projects/3/merge_requests/5/notes/2")
    assert review.read_change({"CI_API_V4_URL": forge.url}) == review.Change()


def test_gitlab_jobs_send_dumps_to_a_service_and_report_alerts_as_tests(
    forge: FakeForge, tmp_path: Path
) -> None:
    code, tools = tmp_path / "code", tmp_path / "tools"
    code.mkdir(), tools.mkdir()
    (tools / "venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    (tools / "source").symlink_to(ROOT, target_is_directory=True)
    git(code, "init", "--quiet", "--initial-branch", "main")
    fork = commit(code)
    variables = {name: str(text) for name, text in TEMPLATE["variables"].items()}
    pull = {"CI_MERGE_REQUEST_IID": "5", "CI_MERGE_REQUEST_DIFF_BASE_SHA": fork}
    with ServiceProcess(tmp_path / "store", free_bytes=0) as service:
        env = {
            **variables,
            "PATH": os.environ["PATH"],
            "tools": str(tools),
            "TRACEHOUSE_URL": f"http://127.0.0.1:{service.port}",
            "CI_API_V4_URL": forge.url,
            "CI_PROJECT_ID": "3",
            "REVIEW_TOKEN": "secret",
        }
        for build, more in (("base", {}), ("f136", pull)):
            env["REVIEW_PATHS"] = few_dumps(build, tmp_path)
            script = ["bash", "-e", "-c", "\n".join(TEMPLATE["script"])]
            done = subprocess.run(script, cwd=code, env=env | more, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr  # as no failure is asked for
            commit(code)
    (note,) = forge.comments
    assert note["body"].startswith(f"{MARKER}\n## 🔴 4 operators are slower.")
    assert (code / "tracehouse-report.md").read_text().endswith(note["body"])
    assert 'failures="3"' in (code / "tracehouse-junit.xml").read_text()


def test_a_gitlab_job_without_a_token_writes_no_comment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    env = {"CI_API_V4_URL": "", "CI_MERGE_REQUEST_IID": "5", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "b"}
    assert review.read_change(env) == review.Change(("b",))
    assert capsys.readouterr().out == (
        "warning: no comment: set REVIEW_TOKEN to a project token of scope 'api'\n"
    )


def test_inputs_never_become_text_of_a_shell() -> None:
    shells = [step["run"] for step in STEPS.values() if "run" in step]
    assert len(shells) == 2
    assert not [text for text in shells if "${{" in text]
    for text in (*shells, *TEMPLATE["before_script"], *TEMPLATE["script"]):
        for variable in re.finditer(r"\$\w+", text):
            assert text[: variable.start()].count('"') % 2, text  # quoted


def test_reports_of_one_job_have_stores_of_their_own() -> None:
    kept = [STEPS[name]["with"]["path"] for name in ("Restore the store", "Save the store")]
    assert kept == [STEPS["Compare"]["env"]["TRACEHOUSE_STORE"]] * 2
    assert kept[0].endswith("/${{ inputs.key }}.store")


def test_both_forges_set_what_the_script_reads() -> None:
    read = set(re.findall(r"REVIEW_\w+", (ROOT / "action/review.py").read_text()))
    files = {"REVIEW_JUNIT", "REVIEW_SUMMARY"}  # GitHub has a summary, and no reports of tests
    assert {name for name in STEPS["Compare"]["env"] if "REVIEW" in name} == read - files
    given = {"REVIEW_PATHS", "REVIEW_TOKEN"}  # by its user
    assert {name for name in TEMPLATE["variables"] if "REVIEW" in name} == read - given
    variables = TEMPLATE["variables"]
    assert variables["REVIEW_JUNIT"] == TEMPLATE["artifacts"]["reports"]["junit"]
    assert [variables["REVIEW_SUMMARY"]] == TEMPLATE["artifacts"]["paths"]


def test_documents_show_jobs_of_at_most_15_lines_with_inputs_that_exist() -> None:
    text = (ROOT / "docs/pull-requests.md").read_text(encoding="utf-8")
    shown = [block.text for block in blocks(text) if block.language == "yaml"]
    assert max(block.count("\n") for block in shown) <= 16  # with the line that says what it needs
    workflow, job = (yaml.safe_load(block) for block in shown)
    ((_, steps),) = ((name, one["steps"]) for name, one in workflow["jobs"].items())
    used = steps[-1]["with"]
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert required <= set(used) <= set(ACTION["inputs"])
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert job["latency"]["extends"] == ".tracehouse"

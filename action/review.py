"""Ingest the dumps of a pull request, compare them with the fork point, and report.

GitHub's action and GitLab's template run it. It needs git, the environment of their jobs, and the
`tracehouse` that is installed beside its Python. docs/pull-requests.md explains its settings.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from functools import cache
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

MOST_ANCESTORS = 1000
PAGE, MOST_PAGES = 100, 50  # comments in an answer, and answers
LONGEST_WAIT = 60.0  # seconds, for a forge that asks to come back later
INDEXING_SECONDS = 300.0  # until a service has indexed what it accepted

_TEAM = {"OWNER", "MEMBER", "COLLABORATOR"}
_TIMEOUT, _PAUSE = 30.0, 2.0
_VERDICTS = frozenset({0, 3, 4, 5})  # statuses of `tracehouse report --fail-on-regression`
Json = dict[str, Any]


class Forge(NamedTuple):
    """The comments of a pull request, and how to write them.

    Attributes:
        comments: Address of the list, which takes new ones too.
        comment: Address of a comment, without its id.
        update: Method that changes a comment.
        headers: Headers of every request.
        is_ours: Whether a comment was written by this job or its team, and not by a stranger.
        remedy: What to do if the token may not comment.
    """

    comments: str
    comment: str
    update: str
    headers: Mapping[str, str]
    is_ours: Callable[[Json], bool]
    remedy: str

    def send(self, method: str, url: str, body: Json | None = None) -> Any:
        """The JSON that a request is answered with; errors are those of `urlopen` and `json`."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        request = Request(url, data, headers, method=method)  # noqa: S310
        with urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
            return json.load(answer)

    def pages(self) -> Iterator[Json]:
        """The comments, oldest first."""
        for page in range(1, MOST_PAGES + 1):
            found = self.send("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            yield from found
            if len(found) < PAGE:
                return


class Change(NamedTuple):
    """Names of the tip that a pull request goes to, the surest first, and where to comment."""

    tips: tuple[str, ...] = ()
    forge: Forge | None = None


class Base(NamedTuple):
    """The build to compare with.

    Attributes:
        build: The newest ancestor that has dumps; None if none has.
        fork_point: The commit where the pull request left its branch.
        distance: Commits from the fork point back to the build.
    """

    build: str | None
    fork_point: str
    distance: int

    @property
    def note(self) -> str:
        """What a reader must know about the choice, as Markdown; empty at the fork point."""
        fork = f"The fork point `{self.fork_point[:12]}` has no dumps"
        if self.build is None:
            return (
                f"> [!NOTE]\n> {fork}, and neither has any commit of the {MOST_ANCESTORS:,} before "
                "it. Run this job on the branch too: its dumps are what is compared with."
            )
        if not self.distance:
            return ""
        earlier = f"{self.distance:,} commit{'s' * (self.distance > 1)} earlier"
        near = f"compared with the nearest commit before it that has, `{self.build[:12]}`"
        return f"> [!NOTE]\n> {fork}: {near}, {earlier}."


def main() -> int:
    """Do all of it; the exit status of the job.

    Raises:
        SystemExit: A setting is wrong, or a step failed.
    """
    env = os.environ
    fails = env.get("REVIEW_FAILS", "false")
    if fails not in {"true", "false"}:
        raise SystemExit(f"fail-on-regression: found {fails!r}, wanted true or false")
    if not env.keys() & {"CI_API_V4_URL", "GITHUB_EVENT_PATH"}:
        raise SystemExit(
            "this runs in a job of GitHub or GitLab, which sets GITHUB_EVENT_PATH or "
            "CI_API_V4_URL; elsewhere run: tracehouse compare BASE HEAD"
        )
    change, head = read_change(env), git("rev-parse", "HEAD")
    known = ingest(env["REVIEW_PATHS"].splitlines(), head)
    if not change.tips:
        write_summary(env, f"{known[head]:,} dumps of `{head[:12]}` are in the store.\n")
        return 0
    base = find_base(change.tips, known)
    status, report = (0, "") if base.build is None else compare(env, base.build, head)
    marker = f"<!-- tracehouse:{re.sub(r'[^A-Za-z0-9_.]+', '-', env['REVIEW_KEY'])} -->"
    parts = report.split("\n\n", 2)  # the verdict, what it is about, and the rest
    body = "\n\n".join(part for part in (*parts[:2], base.note, *parts[2:]) if part)
    text = f"{marker}\n{body}"
    write_summary(env, text)
    if change.forge:
        write_comment(change.forge, marker, text)
    return status if fails == "true" else 0


def run(*command: str, allowed: frozenset[int] = frozenset({0})) -> tuple[int, str]:
    """The exit status of a command and what it prints; the job ends with a status not allowed.

    Raises:
        SystemExit: The command failed, after it said why.
    """
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode not in allowed:
        raise SystemExit(done.returncode)
    return done.returncode, done.stdout


def git(*args: str) -> str:
    """What git prints, without the line end."""
    return run("git", *args)[1].strip()


def tracehouse(*args: str, allowed: frozenset[int] = frozenset({0})) -> tuple[int, str]:
    """The exit status of the installed `tracehouse` and what it prints."""
    return run(str(Path(sys.executable).parent / "tracehouse"), *args, allowed=allowed)


def read_change(env: Mapping[str, str]) -> Change:
    """The pull request of GitHub's or GitLab's job."""
    if "CI_API_V4_URL" in env:
        return _of_gitlab(env) if env.get("CI_MERGE_REQUEST_IID") else Change()
    event = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    if not (pull := event.get("pull_request")):
        return Change()
    repository = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}"
    forge = Forge(
        f"{repository}/issues/{int(pull['number'])}/comments",
        f"{repository}/issues/comments",
        "PATCH",
        {"Authorization": f"Bearer {env['REVIEW_TOKEN']}", "Accept": "application/vnd.github+json"},
        lambda one: one["user"]["type"] == "Bot" or one["author_association"] in _TEAM,
        "give the job 'permissions: pull-requests: write'; pull requests from forks have a token "
        "that may only read, and get the summary alone",
    )
    # The event's own hash may be older than the branch that GitHub merged for the job.
    is_merged = env["GITHUB_REF"] == f"refs/pull/{pull['number']}/merge"
    merged_tip = (f"{env['GITHUB_SHA']}^1",) if is_merged else ()
    tips = (*merged_tip, f"refs/remotes/origin/{pull['base']['ref']}", pull["base"]["sha"])
    return Change(tips, forge if env["REVIEW_TOKEN"] else None)


def _of_gitlab(env: Mapping[str, str]) -> Change:
    base = env.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA") or env["CI_MERGE_REQUEST_DIFF_BASE_SHA"]
    token = env.get("REVIEW_TOKEN")
    if not token:
        say("warning", "no comment: set REVIEW_TOKEN to a project token of scope 'api'")
        return Change((base,))
    api, project = env["CI_API_V4_URL"], env["CI_PROJECT_ID"]
    notes = f"{api}/projects/{project}/merge_requests/{int(env['CI_MERGE_REQUEST_IID'])}/notes"
    me = cache(lambda: forge.send("GET", f"{api}/user")["id"])
    remedy = "give REVIEW_TOKEN the scope 'api' and the role Reporter"
    headers = {"PRIVATE-TOKEN": token}
    forge = Forge(notes, notes, "PUT", headers, lambda note: note["author"]["id"] == me(), remedy)
    return Change((base,), forge)


def ingest(paths: list[str], head: str) -> dict[str, int]:
    """The dumps by build, once those at the paths are indexed as a build named by its commit.

    Raises:
        SystemExit: A service has not indexed them in time.
    """
    chosen = [path.strip() for path in paths if path.strip()]
    if not chosen:
        raise SystemExit("paths: wanted at least one path of dumps")
    told = tracehouse("ingest", "--build", head, "--quiet", "--format", "json", "--", *chosen)
    (row,) = json.loads(told[1])
    # A store and a service count them under different names.
    new = sum(row.get(name, 0) for name in ("dumps", "accepted"))
    sent = new + sum(row.get(name, 0) for name in ("duplicates", "known"))
    end, is_idle = time.monotonic() + INDEXING_SECONDS, False
    while True:
        known = {head: 0}
        for one in json.loads(tracehouse("query", "coverage", "--format", "json")[1]):
            known[one["build"]] = known.get(one["build"], 0) + one["dump_count"]
        # Copies of a dump are sent and not stored; dumps that the service had may still wait.
        if known[head] >= (new if is_idle else sent):
            return known
        if time.monotonic() > end:
            raise SystemExit(
                f"{known[head]:,} of {sent:,} dumps of {head} are indexed: try again, and see "
                "'tracehouse query ingest_errors'"
            )
        time.sleep(_PAUSE)
        (status,) = json.loads(tracehouse("status", "--format", "json")[1])
        is_idle = not status["inbox_files"]


def find_base(tips: Sequence[str], known: Mapping[str, int]) -> Base:
    """The build of the fork point, or of its nearest ancestor that has dumps.

    Raises:
        SystemExit: The checkout does not have the fork point.
    """
    if git("rev-parse", "--is-shallow-repository") == "true":
        raise SystemExit("the checkout is shallow: check out with 'fetch-depth: 0' (GIT_DEPTH: 0)")
    verify = "git", "rev-parse", "--verify", "--quiet"  # prints nothing for an unknown commit
    found_tips = (run(*verify, f"{tip}^{{commit}}", allowed=frozenset({0, 1}))[1] for tip in tips)
    head = git("rev-parse", "HEAD")
    forks = (git("merge-base", "HEAD", tip.strip()) for tip in found_tips if tip)
    # A branch that took the pull request meanwhile has the head itself.
    fork = next((one for one in forks if one != head), None) or git("merge-base", "HEAD", tips[-1])
    ancestors = git("rev-list", "--first-parent", f"-{MOST_ANCESTORS + 1}", fork).split()
    found = ((place, one) for place, one in enumerate(ancestors) if one in known)
    distance, build = next(found, (0, None))
    return Base(build, fork, distance)


def compare(env: Mapping[str, str], base: str, head: str) -> tuple[int, str]:
    """The exit status of the verdict, and the report as Markdown."""
    command = "report", "--fail-on-regression", "--base", base, "--head", head
    if junit := env.get("REVIEW_JUNIT"):
        tracehouse(*command, "--format", "junit", "--output", junit, allowed=_VERDICTS)
    return tracehouse(*command, "--format", "markdown", allowed=_VERDICTS)


def write_summary(env: Mapping[str, str], text: str) -> None:
    """Add a text to the job's summary, or to the file in its place."""
    if place := env.get("GITHUB_STEP_SUMMARY") or env.get("REVIEW_SUMMARY"):
        with Path(place).open("a", encoding="utf-8") as summary:
            summary.write(text)


def write_comment(forge: Forge, marker: str, text: str) -> None:
    """Write the one comment with this marker; a comment that cannot be written is a warning.

    A failure that may pass is tried again once, from the search on: a create that was answered
    with an error may have succeeded.
    """
    for is_last in (False, True):
        try:
            return _write_comment(forge, marker, text)
        except HTTPError as error:
            wait, said = seconds_to_wait(error.code, error.headers), f"{error.code} {error.reason}"
            if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
                said += f": {forge.remedy}" if wait is None else ": rate limit"
        except (OSError, HTTPException, ValueError) as error:  # no answer, part of one, no JSON
            wait, said = 1.0, str(error)
        if is_last or wait is None or wait > LONGEST_WAIT:
            return say("warning", f"no comment: {said}")
        time.sleep(wait)


def _write_comment(forge: Forge, marker: str, text: str) -> None:
    for one in forge.pages():
        if (one.get("body") or "").startswith(marker) and forge.is_ours(one):
            forge.send(forge.update, f"{forge.comment}/{int(one['id'])}", {"body": text})
            return
    forge.send("POST", forge.comments, {"body": text})


def seconds_to_wait(status: int, headers: Message) -> float | None:
    """How long to wait before another try; None if it would fail again."""
    is_limit = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    if status < HTTPStatus.INTERNAL_SERVER_ERROR and not (
        status == HTTPStatus.TOO_MANY_REQUESTS or (status == HTTPStatus.FORBIDDEN and is_limit)
    ):
        return None
    if (after := headers.get("retry-after", "")).isdecimal():
        return float(after)
    if (reset := headers.get("x-ratelimit-reset", "")).isdecimal():
        return max(float(reset) - time.time(), 0.0)
    return 1.0


def say(level: str, text: str) -> None:
    """Print a message as an annotation of the job."""
    line = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level}::{line}" if "GITHUB_ACTIONS" in os.environ else f"{level}: {line}")


if __name__ == "__main__":
    sys.exit(main())

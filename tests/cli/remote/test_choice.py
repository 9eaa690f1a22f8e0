"""Which commands speak to a service, and whose token they show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.command import Run
from tests.support.stand_in_service import StandIn, arrow_answer, stand_in_service
from tracehouse.cli.listing import NAMES

STATUS = pa.table(
    {"problem": [""], "is_uncompacted": [False], "damaged_dumps": [0], "damaged_tables": [0]}
)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.delenv("TRACEHOUSE_TOKEN", raising=False)
    with stand_in_service() as stand_in:
        stand_in.answers["/v1/status"] = arrow_answer(STATUS)
        yield stand_in


def test_token_of_a_file_is_shown_and_its_line_end_is_not(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("th_secret\n")
    done = run("--url", service.url, "--token-file", tmp_path / "token", "status")
    assert done.code == 0
    assert service.asked[0].headers["Authorization"] == "Bearer th_secret"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "not a token"), (b"a\nb", "not a token"), (b"\xff", "not a token"), (None, "No such")],
)
def test_an_invalid_token_file_is_reported(
    run: Run, service: StandIn, tmp_path: Path, content: bytes | None, problem: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    done = run("--url", service.url, "--token-file", file, "status")
    assert (done.code, service.asked) == (2, [])
    assert done.error.startswith(f"error: --token-file {file}: {problem}")


def test_address_comes_from_the_environment_too(
    run: Run, service: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_URL", service.url)
    assert run("status").code == 0
    monkeypatch.delenv("TRACEHOUSE_URL")
    assert run("status").code == 1  # there is no store here, and the service is forgotten
    assert len(service.asked) == 1


def test_an_invalid_address_is_a_usage_error(run: Run) -> None:
    done = run("--url", "farm", "status")
    assert (done.code, "wanted http://HOST:PORT" in done.error) == (2, True)


def test_url_and_store_together_are_a_usage_error(
    run: Run, service: StandIn, tmp_path: Path
) -> None:
    for command, store in (
        (["status"], tmp_path),
        (["query", "dumps"], "tracehouse.store"),
        (["report"], tmp_path),
    ):
        done = run("--url", service.url, *command, "--store", store)
        assert (done.code, done.error) == (
            2,
            "error: wanted either --store or --url (or $TRACEHOUSE_URL), not both",
        )
    assert service.asked == []


ELSEWHERE = {
    *("ingest", "upload", "watch", "query", "compare", "report", "plan", "sql", "status", "schema"),
    *(
        "mcp",
        "inspect",
        "etrecord",
        "numeric-gap",
        "doctor",
        "completion",
    ),
    *("export", "lake", "spark", "sample", "explain"),
    *("accept", "store", "demo", "ls"),
}


@pytest.mark.parametrize("command", sorted(NAMES - ELSEWHERE))
def test_commands_that_need_the_store_itself_say_so(run: Run, command: str) -> None:
    done = run("--url", "http://127.0.0.1:1", command)
    assert done.code == 2
    assert done.error.startswith(f"error: '{command}' works with a local store only")


@pytest.mark.parametrize("command", ["archive", "drain", "migrate"])
def test_upkeep_that_no_service_does_says_so(run: Run, command: str) -> None:
    done = run("--url", "http://127.0.0.1:1", "store", command)
    assert done.code == 2
    assert done.error.startswith(f"error: 'store {command}' works with a local store only")


def test_a_comparison_of_stored_values_says_that_it_needs_the_store(run: Run) -> None:
    done = run("--url", "http://127.0.0.1:1", "numeric-gap", "1", "2")
    assert (done.code, "this needs a local store" in done.error) == (2, True)


@pytest.mark.parametrize(
    "args",
    [
        ["query", "coverage", "--url", "http://127.0.0.1:1"],
        ["query", "--url=http://127.0.0.1:1", "coverage"],
        ["--url", "http://127.0.0.1:1", "query", "coverage"],
    ],
)
def test_the_address_may_stand_behind_the_command(run: Run, args: list[str]) -> None:
    done = run(*args)
    assert done.code == 1
    assert "http://127.0.0.1:1/v1/queries/coverage: cannot be reached" in done.err


def test_url_without_a_value_is_a_usage_error(run: Run) -> None:
    done = run("status", "--url")
    assert done.code == 2
    assert "--url" in done.err

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run


def completed(*words: str, store: Path | None = None) -> list[str]:
    """What bash would offer in the place of the last word."""
    asked = {
        "TRACEHOUSE_STORE": str(store or "none"),
        "_TRACEHOUSE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["tracehouse", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(COMMAND, capture_output=True, env=ENVIRONMENT | asked, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(run: Run, shell: str) -> None:
    outcome = run("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"_TRACEHOUSE_COMPLETE=complete_{shell}" in outcome.text


@pytest.mark.system
def test_commands_queries_and_options_are_completed() -> None:
    assert completed("que") == ["query"]
    assert completed("query", "perc") == ["percentiles"]
    assert completed("query", "percentiles", "--devi") == ["--device"]
    assert completed("sql", "--outp") == ["--output"]


@pytest.mark.system
def test_names_in_the_store_are_completed(store: Path) -> None:
    assert completed("compare", "ba", store=store) == ["base"]
    assert completed("compare", "base", "ch2", store=store) == ["ch26"]
    assert completed("query", "percentiles", "--model", "mob", store=store) == []
    assert "lab-x86-quiet" in completed("query", "percentiles", "--device", "lab", store=store)
    assert completed("schema", "named_dum") == ["named_dumps"]
    assert completed("compare", "ba") == []  # there is no store


def test_another_shell_is_a_usage_error(run: Run) -> None:
    assert run("completion", "cmd").code == 2

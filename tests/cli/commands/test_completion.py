from __future__ import annotations

import subprocess

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run


def completed(*words: str) -> list[str]:
    """What bash would offer in the place of the last word."""
    asked = {
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


def test_another_shell_is_a_usage_error(run: Run) -> None:
    assert run("completion", "cmd").code == 2

from __future__ import annotations

import os
import signal

import pytest

from tracehouse.warehouse.engine.failpoints import VARIABLE, failpoint


def test_without_the_variable_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    failpoint("anywhere")


@pytest.mark.system
def test_a_process_dies_where_it_comes_for_that_time() -> None:
    counted = os.memfd_create("counted")
    child = os.fork()
    if not child:
        os.environ[VARIABLE] = "here:3"
        for _ in range(5):
            os.write(counted, b".")
            failpoint("there")
            failpoint("here")
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert os.fstat(counted).st_size == 3
    os.close(counted)

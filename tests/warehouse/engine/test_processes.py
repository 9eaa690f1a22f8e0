from __future__ import annotations

import os

import pytest

from tests.support.plans import ended_process
from tracehouse.warehouse.engine.store_lock import is_running


@pytest.mark.system
def test_a_process_runs_until_it_has_ended() -> None:
    assert is_running(os.getpid())
    assert is_running(1)
    assert not is_running(ended_process())

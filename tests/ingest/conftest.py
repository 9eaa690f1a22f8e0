from collections.abc import Iterator

import pytest

from tests.support.stand_in_service import StandIn, stand_in_service
from tracehouse.ingest.etdump import runs
from tracehouse.ingest.etdump.templates import TEMPLATES


@pytest.fixture(autouse=True, scope="module")
def _small_dumps_repeat_runs_too():
    """Repeats are looked for in the small dumps of tests as in large ones."""
    usual, runs.FEWEST_WORDS = runs.FEWEST_WORDS, 0
    yield
    runs.FEWEST_WORDS = usual


@pytest.fixture(autouse=True)
def _no_dump_is_known() -> None:
    """Dumps that earlier tests decoded are read in full."""
    TEMPLATES.clear()


@pytest.fixture
def service() -> Iterator[StandIn]:
    """A stand-in for a service, which takes dumps and gives the answers that it is told to."""
    with stand_in_service() as stand_in:
        yield stand_in
